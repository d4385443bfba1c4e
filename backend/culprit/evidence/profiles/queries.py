"""Every SELECT about profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, select
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import visible_runs
from culprit.models import Artifact, Capture, Host, Profile, ProfileDiff, Run, RunCollector


def profiles(actor: Actor, host: UUID | None = None, run: UUID | None = None) -> Select[Profile]:
    """The profiles that exist for this actor."""
    query = select(Profile).where(Profile.run_id.in_(select(Run.id).where(visible_runs(actor))))
    if host is not None:
        query = query.where(Profile.host_id == host)
    if run is not None:
        query = query.where(Profile.run_id == run)
    return query


def profile(session: Session, actor: Actor, profile_id: UUID) -> Profile | None:
    """One profile, where it exists for this actor."""
    return session.scalar(profiles(actor).where(Profile.id == profile_id))


def of_side(session: Session, actor: Actor, side: Mapping[str, Any]) -> list[Profile] | None:
    """The profiles of one side of a comparison, in their order; None where one does not exist for this actor."""
    ids = [UUID(one) for one in (side["profile_id"], *side.get("also", ()))]
    found = {one.id: one for one in session.scalars(profiles(actor).where(Profile.id.in_(ids)))}
    return [found[one] for one in ids] if found.keys() >= set(ids) else None


def hosts(session: Session, ids: set[UUID]) -> dict[UUID, Host]:
    """Hosts by id."""
    return {host.id: host for host in session.scalars(select(Host).where(Host.id.in_(ids)))}


def captures(session: Session, run_ids: set[UUID]) -> dict[UUID, Row[UUID, int, str, str]]:
    """Number, source and reason of each run's capture; the reason of an import is the name of its file."""
    wanted = select(Run.id, Capture.number, Capture.source, Capture.reason)
    query = wanted.join(Capture, Capture.id == Run.capture_id).where(Run.id.in_(run_ids))
    return {row.id: row for row in session.execute(query)}


def diff(session: Session, diff_id: UUID) -> ProfileDiff | None:
    """One comparison, whoever asks: its profiles decide who may see it."""
    return session.get(ProfileDiff, diff_id)


def raw_artifact(session: Session, one: Profile) -> Artifact | None:
    """The bytes that a profile was recorded as, or where there are none, read from."""
    source = one.source or {}
    names = [name for name in (source.get("raw_part"), source.get("part")) if name]
    found = {
        artifact.part: artifact
        for artifact in session.scalars(
            select(Artifact)
            .where(Artifact.run_collector_id == one.run_collector_id, Artifact.part.in_(names))
            .order_by(Artifact.attempt, Artifact.id)
        )
    }
    return next((found[name] for name in names if name in found), None)


def sched_profile(session: Session, run_id: UUID) -> Profile | None:
    """The scheduler's events of a run."""
    query = select(Profile).where(Profile.run_id == run_id, Profile.kind == "sched").order_by(Profile.id)
    return session.scalars(query).first()


def run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """One run, where it exists for this actor."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs(actor)))


def ways(session: Session, ids: Sequence[UUID]) -> dict[UUID, str | None]:
    """How each run_collector was taken."""
    query = select(RunCollector.id, RunCollector.way).where(RunCollector.id.in_(ids))
    return {row.id: row.way for row in session.execute(query)}
