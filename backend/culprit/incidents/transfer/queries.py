"""Queries to export and import incidents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import Row, exists, func, select
from sqlalchemy.orm import Session

from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.pin import Pin
from culprit.json_types import Json

COLLECTORS_ENDED = ("done", "skipped", "failed", "timed_out", "unreadable", "canceled")


def list_origins(session: Session, sha256: str) -> Sequence[UUID]:
    """List the incidents imported from this file, the oldest first."""
    query = select(IncidentOrigin.incident_id).where(IncidentOrigin.sha256 == sha256)
    return session.scalars(query.order_by(IncidentOrigin.imported_at, IncidentOrigin.incident_id)).all()


def map_runs(session: Session, run_ids: Collection[UUID]) -> dict[UUID, Run]:
    """Return runs by ID, the oldest first."""
    query = select(Run).where(Run.id.in_(run_ids)).order_by(Run.id)
    return {item.id: item for item in session.scalars(query)}


def list_captures(session: Session, of: Iterable[Run]) -> Sequence[Capture]:
    """List the captures of these runs, the oldest first."""
    ids = {item.capture_id for item in of}
    return session.scalars(select(Capture).where(Capture.id.in_(ids)).order_by(Capture.id)).all()


def list_collectors(session: Session, run_ids: Collection[UUID]) -> Sequence[RunCollector]:
    """List the ended collectors of these runs in their order."""
    query = select(RunCollector).where(
        RunCollector.run_id.in_(run_ids), RunCollector.state.in_(COLLECTORS_ENDED)
    )
    return session.scalars(query.order_by(RunCollector.id)).all()


def list_artifacts(
    session: Session, run_ids: Collection[UUID], of: Collection[RunCollector]
) -> Sequence[Artifact]:
    """List the artifacts of these runs and collectors in their order."""
    query = select(Artifact).where(Artifact.run_id.in_(run_ids)).order_by(Artifact.id)
    known = {None, *(item.id for item in of)}
    return [item for item in session.scalars(query) if item.run_collector_id in known]


def list_profiles(session: Session, ids: Collection[UUID], run_ids: Collection[UUID]) -> Sequence[Profile]:
    """List these profiles of these runs, with the other profiles of the same recording."""
    recorded = select(Profile.run_collector_id).where(Profile.id.in_(ids))
    query = select(Profile).where(Profile.run_collector_id.in_(recorded), Profile.run_id.in_(run_ids))
    return session.scalars(query.order_by(Profile.id)).all()


def list_ready_profiles(session: Session, collectors: Collection[UUID]) -> Sequence[Profile]:
    """List the finished profiles of these collectors, those with most samples first."""
    query = select(Profile).where(
        Profile.run_collector_id.in_(collectors), Profile.state == "ready", Profile.store_key.is_not(None)
    )
    return session.scalars(query.order_by(Profile.samples.desc(), Profile.id)).all()


def list_comparisons(session: Session, ids: Collection[UUID]) -> Sequence[ProfileComparison]:
    """List these comparisons, the oldest first."""
    return session.scalars(
        select(ProfileComparison).where(ProfileComparison.id.in_(ids)).order_by(ProfileComparison.id)
    ).all()


def map_to_runs(session: Session, ids: Collection[UUID]) -> Mapping[UUID, UUID]:
    """Return the run of each profile, artifact or run, by its ID."""
    uuids: dict[UUID, UUID] = {}
    for query in (
        select(Run.id, Run.id.label("run_id")).where(Run.id.in_(ids)),
        select(Profile.id, Profile.run_id).where(Profile.id.in_(ids)),
        select(Artifact.id, Artifact.run_id).where(Artifact.id.in_(ids)),
    ):
        uuids.update({row[0]: row[1] for row in session.execute(query)})
    return uuids


def get_table_names(session: Session, pin: Pin) -> Json:
    """Return the fields that replace the table ID in a pin of a row."""
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


def has_unevaluated_runs(session: Session, incident_id: UUID) -> bool:
    """Return whether a run of an incident is not parsed or not evaluated yet."""
    evaluated = exists(select(Evaluation.run_id).where(Evaluation.run_id == Run.id))
    query = (
        select(Run.id)
        .join(IncidentRun, IncidentRun.run_id == Run.id)
        .where(IncidentRun.incident_id == incident_id, Run.state != "expired", ~evaluated)
    )
    return session.scalars(query.limit(1)).first() is not None


def lock_digest(session: Session, sha256: str) -> None:
    """Lock the import of a file until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(int(sha256[:15], 16))))


def list_not_matched(session: Session, run_ids: Collection[UUID]) -> Sequence[Row[UUID, list[Json]]]:
    """List (run_id, findings that did not match) of evaluated runs."""
    query = select(Evaluation.run_id, Evaluation.not_matched).where(Evaluation.run_id.in_(run_ids))
    return session.execute(query).all()


def list_finding_states(session: Session, run_ids: Collection[UUID]) -> Sequence[Row[UUID, str, str]]:
    """List (run_id, rule, state) of the stored findings of these runs."""
    query = select(StoredFinding.run_id, StoredFinding.rule, StoredFinding.state)
    return session.execute(query.where(StoredFinding.run_id.in_(run_ids))).all()
