"""Every SELECT about incidents that are carried."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from culprit.models import (
    Artifact,
    Capture,
    Evaluation,
    IncidentOrigin,
    IncidentRun,
    Pin,
    Profile,
    ProfileDiff,
    ResultTable,
    Run,
    RunCollector,
)

Json = dict[str, Any]
COLLECTORS_ENDED = ("done", "skipped", "failed", "timed_out", "unreadable", "cancelled")


def origins(session: Session, sha256: str) -> Sequence[UUID]:
    """The incidents that came in this very file, the oldest first."""
    query = select(IncidentOrigin.incident_id).where(IncidentOrigin.sha256 == sha256)
    return session.scalars(query.order_by(IncidentOrigin.imported_at, IncidentOrigin.incident_id)).all()


def runs(session: Session, run_ids: Collection[UUID]) -> dict[UUID, Run]:
    """Runs by id, the oldest first."""
    query = select(Run).where(Run.id.in_(run_ids)).order_by(Run.id)
    return {one.id: one for one in session.scalars(query)}


def captures(session: Session, of: Iterable[Run]) -> Sequence[Capture]:
    """The captures of these runs, the oldest first."""
    ids = {one.capture_id for one in of}
    return session.scalars(select(Capture).where(Capture.id.in_(ids)).order_by(Capture.id)).all()


def collectors(session: Session, run_ids: Collection[UUID]) -> Sequence[RunCollector]:
    """The collectors of these runs that have ended, in their order."""
    query = select(RunCollector).where(
        RunCollector.run_id.in_(run_ids), RunCollector.state.in_(COLLECTORS_ENDED)
    )
    return session.scalars(query.order_by(RunCollector.id)).all()


def artifacts(
    session: Session, run_ids: Collection[UUID], of: Collection[RunCollector]
) -> Sequence[Artifact]:
    """The artifacts of these runs and collectors, in their order."""
    query = select(Artifact).where(Artifact.run_id.in_(run_ids)).order_by(Artifact.id)
    known = {None, *(one.id for one in of)}
    return [one for one in session.scalars(query) if one.run_collector_id in known]


def profiles(session: Session, ids: Collection[UUID], run_ids: Collection[UUID]) -> Sequence[Profile]:
    """Those of these runs, each with the others of its recording: by its event it is told from them."""
    recorded = select(Profile.run_collector_id).where(Profile.id.in_(ids))
    query = select(Profile).where(Profile.run_collector_id.in_(recorded), Profile.run_id.in_(run_ids))
    return session.scalars(query.order_by(Profile.id)).all()


def diffs(session: Session, ids: Collection[UUID]) -> Sequence[ProfileDiff]:
    """These comparisons, the oldest first."""
    return session.scalars(select(ProfileDiff).where(ProfileDiff.id.in_(ids)).order_by(ProfileDiff.id)).all()


def runs_of(session: Session, ids: Collection[UUID]) -> Mapping[UUID, UUID]:
    """To which run a profile, an artifact or a run itself belongs, by its id."""
    found: dict[UUID, UUID] = {}
    for query in (
        select(Run.id, Run.id.label("run_id")).where(Run.id.in_(ids)),
        select(Profile.id, Profile.run_id).where(Profile.id.in_(ids)),
        select(Artifact.id, Artifact.run_id).where(Artifact.id.in_(ids)),
    ):
        found.update({row[0]: row[1] for row in session.execute(query)})
    return found


def table_names(session: Session, pin: Pin) -> Json:
    """What replaces the id of a table in a pin of a row."""
    if pin.kind != "row" or not pin.ref.get("table_id"):
        return {}
    query = (
        select(ResultTable.kind, RunCollector.collector)
        .join(RunCollector, RunCollector.id == ResultTable.run_collector_id)
        .where(ResultTable.id == UUID(pin.ref["table_id"]))
    )
    row = session.execute(query).first()
    named = {"kind": row.kind, "collector": row.collector} if row else {}
    return {"table_id": None, **named}


def unread(session: Session, incident_id: UUID) -> bool:
    """Whether a run of an incident is still being read, or was not evaluated yet."""
    said = exists(select(Evaluation.run_id).where(Evaluation.run_id == Run.id))
    query = (
        select(Run.id)
        .join(IncidentRun, IncidentRun.run_id == Run.id)
        .where(IncidentRun.incident_id == incident_id, Run.state != "expired", ~said)
    )
    return session.scalars(query.limit(1)).first() is not None
