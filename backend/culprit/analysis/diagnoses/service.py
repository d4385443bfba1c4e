"""Create, cancel and return diagnoses. A job starts their captures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors.runner.scope import Scope
from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.analysis.diagnoses import queries
from culprit.analysis.diagnoses.schemas import DiagnosisCreate, DiagnosisResponse, DiagnosisStageResponse
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.run import Run
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import InvalidRequestError, NotFoundError
from culprit.web.schemas import HostRef

TASK = "culprit.advance_diagnosis"


def create_diagnosis(
    session: Session, actor: Actor, diagnosis_create: DiagnosisCreate, *, source: str = "manual"
) -> Diagnosis:
    """Store a diagnosis and enqueue its first stage. Raises NotFoundError, ForbiddenError, InvalidRequestError."""
    ids = {diagnosis_create.host_id, *diagnosis_create.peer_ids}
    hosts = queries.load_active_hosts(session, actor, ids)
    if len(hosts) != len(ids):
        raise NotFoundError("host.not_found")
    for host in hosts.values():
        authorize(actor, "capture.light", host)
    if diagnosis_create.host_id in diagnosis_create.peer_ids:
        raise InvalidRequestError("diagnosis.own_peer")
    baseline_run_id = None
    if diagnosis_create.baseline not in {"auto", "none"}:
        run = queries.find_run_of_host(session, UUID(diagnosis_create.baseline), diagnosis_create.host_id)
        if run is None:
            raise InvalidRequestError("diagnosis.baseline_unknown", run=diagnosis_create.baseline)
        baseline_run_id = run.id
    diagnosis = Diagnosis(
        host_id=diagnosis_create.host_id,
        scope=_build_scope(diagnosis_create),
        seconds=diagnosis_create.seconds,
        baseline=diagnosis_create.baseline,
        baseline_run_id=baseline_run_id,
        max_tier=diagnosis_create.max_tier,
        peers=[str(item) for item in dict.fromkeys(diagnosis_create.peer_ids)],
        reason=diagnosis_create.reason.strip(),
        source=source,
        requested_by=actor.id,
    )
    session.add(diagnosis)
    session.flush()
    enqueue_after_commit(session, TASK, diagnosis.id)
    audit.record_action(
        session,
        actor,
        "diagnosis.create",
        "diagnosis",
        diagnosis.id,
        host=hosts[diagnosis_create.host_id].name,
        scope=diagnosis.scope,
        seconds=diagnosis_create.seconds,
        reason=diagnosis.reason,
    )
    return diagnosis


def _build_scope(diagnosis_create: DiagnosisCreate) -> dict[str, str]:
    if not diagnosis_create.scope:
        return {}
    try:
        if diagnosis_create.scope.get("kind") == "service":
            return _build_service_scope(diagnosis_create.scope)
        return Scope.from_json(diagnosis_create.scope).to_json()
    except ValueError as error:
        kind, value = (str(diagnosis_create.scope.get(name, ""))[:200] for name in ("kind", "value"))
        raise InvalidRequestError("capture.scope_invalid", kind=kind, value=value) from error


def _build_service_scope(scope: dict[str, str]) -> dict[str, str]:
    """Return the scope of a service or of a unit with that name; the stage resolves it when it starts."""
    Scope("unit", scope.get("value", ""))
    return {"kind": "service", "value": scope["value"]}


def cancel_diagnosis(session: Session, actor: Actor, diagnosis_id: UUID) -> Diagnosis:
    """Cancel a diagnosis; the job ends the running capture. Repeating it changes nothing."""
    authorize(actor, "capture.cancel")
    diagnosis = get_diagnosis(session, actor, diagnosis_id)
    changed = session.execute(
        update(Diagnosis)
        .where(Diagnosis.id == diagnosis.id, Diagnosis.state == "running")
        .values(state="canceled", ended_at=func.clock_timestamp())
        .returning(Diagnosis.id)
        .execution_options(synchronize_session=False)
    ).first()
    if changed is not None:
        audit.record_action(session, actor, "diagnosis.cancel", "diagnosis", diagnosis.id)
        enqueue_after_commit(session, TASK, diagnosis.id)
    session.refresh(diagnosis)
    return diagnosis


def get_diagnosis(session: Session, actor: Actor, diagnosis_id: UUID) -> Diagnosis:
    """Return a diagnosis that the actor may see, or raise NotFoundError."""
    authorize(actor, "finding.read")
    result = queries.find_diagnosis(session, actor, diagnosis_id)
    if result is None:
        raise NotFoundError("diagnosis.not_found")
    return result


def build_responses(session: Session, rows: Sequence[Diagnosis]) -> list[DiagnosisResponse]:
    """Build the responses of diagnoses."""
    ids = {row.host_id for row in rows} | {UUID(peer) for row in rows for peer in row.peers}
    names = queries.load_host_names(session, ids)
    return [_build_response(session, row, names) for row in rows]


def _build_response(session: Session, row: Diagnosis, names: dict[UUID, str]) -> DiagnosisResponse:
    captures = [UUID(stage["capture_id"]) for stage in row.stages]
    runs = queries.load_runs(session, captures, row.host_id)
    end = row.ended_at or datetime.now(UTC)
    same = (
        "id", "number", "scope", "seconds", "baseline", "baseline_run_id", "max_tier", "reason", "state",
        "result", "failure", "created_at", "ended_at",
    )  # fmt: skip
    return DiagnosisResponse(
        **{name: getattr(row, name) for name in same},
        host=HostRef(id=row.host_id, name=names[row.host_id]),
        peers=[HostRef(id=UUID(peer), name=names[UUID(peer)]) for peer in row.peers],
        stages=[_build_stage(stage, runs.get(UUID(stage["capture_id"]))) for stage in row.stages],
        elapsed_s=round((end - row.created_at).total_seconds(), 3),
    )


def _build_stage(stage: dict[str, object], run: Run | None) -> DiagnosisStageResponse:
    return DiagnosisStageResponse.model_validate(
        {
            **stage,
            "run_id": run.id if run else None,
            "state": run.state if run else "queued",
            "host_cpu_ms": run.host_cpu_ms if run else None,
        }
    )
