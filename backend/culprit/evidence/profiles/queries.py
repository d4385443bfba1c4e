"""SELECTs about profiles and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, false, func, select
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_runs_clause
from culprit.evidence.view_queries import WITH_STACKS
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.hosts.host import Host


def profiles_query(actor: Actor, host: UUID | None = None, run: UUID | None = None) -> Select[Profile]:
    """Select the profiles that the actor can see, optionally of one host or run."""
    query = select(Profile).where(Profile.run_id.in_(select(Run.id).where(visible_runs_clause(actor))))
    if host is not None:
        query = query.where(Profile.host_id == host)
    if run is not None:
        query = query.where(Profile.run_id == run)
    return query


def find_profile(session: Session, actor: Actor, profile_id: UUID) -> Profile | None:
    """Return a profile, or None if the actor cannot see it."""
    return session.scalar(profiles_query(actor).where(Profile.id == profile_id))


def find_side_profiles(session: Session, actor: Actor, side: Mapping[str, Any]) -> list[Profile] | None:
    """Return the profiles of one side of a comparison in their order, or None if the actor cannot see all of them."""
    ids = [UUID(profile_id) for profile_id in (side["profile_id"], *side.get("also", ()))]
    results = {item.id: item for item in session.scalars(profiles_query(actor).where(Profile.id.in_(ids)))}
    return [results[item] for item in ids] if results.keys() >= set(ids) else None


def load_hosts(session: Session, ids: set[UUID]) -> dict[UUID, Host]:
    """Return hosts by ID."""
    return {host.id: host for host in session.scalars(select(Host).where(Host.id.in_(ids)))}


def load_capture_names(session: Session, run_ids: set[UUID]) -> dict[UUID, Row[UUID, int, str, str]]:
    """Return (id, number, source, reason) of each run's capture by run ID; the reason of an import is its file name."""
    requested = select(Run.id, Capture.number, Capture.source, Capture.reason)
    query = requested.join(Capture, Capture.id == Run.capture_id).where(Run.id.in_(run_ids))
    return {row.id: row for row in session.execute(query)}


def find_comparison(session: Session, comparison_id: UUID) -> ProfileComparison | None:
    """Return one comparison without a permission check; access depends on its profiles."""
    return session.get(ProfileComparison, comparison_id)


def find_raw_artifact(session: Session, profile: Profile) -> Artifact | None:
    """Return the artifact with the raw recording of a profile, else the part that it was parsed from, or None."""
    source = profile.source or {}
    names = [name for name in (source.get("raw_part"), source.get("part")) if name]
    results = {
        artifact.part: artifact
        for artifact in session.scalars(
            select(Artifact)
            .where(Artifact.run_collector_id == profile.run_collector_id, Artifact.part.in_(names))
            .order_by(Artifact.attempt, Artifact.id)
        )
    }
    return next((results[name] for name in names if name in results), None)


def find_scheduler_profile(session: Session, run_id: UUID, profile_id: UUID | None = None) -> Profile | None:
    """Return the profile with the scheduler events of a run, or None.

    Without an ID, a recording of the scheduler alone precedes those that also walked stacks.
    """
    query = (
        select(Profile)
        .outerjoin(RunCollector, RunCollector.id == Profile.run_collector_id)
        .where(Profile.run_id == run_id, Profile.kind == "sched")
        .order_by(func.coalesce(RunCollector.collector.in_(WITH_STACKS), false()), Profile.id)
    )
    if profile_id is not None:
        query = query.where(Profile.id == profile_id)
    return session.scalars(query).first()


def find_run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """Return a run, or None if the actor cannot see it."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs_clause(actor)))
