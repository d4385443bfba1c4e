"""Decisions about diagnoses. The captures themselves are made by the task that a new diagnosis rings for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors.scope import Scope
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.diagnoses import queries
from culprit.diagnoses.schemas import DiagnosisCreate, DiagnosisRead, HostRef, StageRead
from culprit.infra.broker import announce
from culprit.kit.errors import Invalid, NotFound
from culprit.models import Diagnosis, Run

TASK = "culprit.advance_diagnosis"


def create(session: Session, actor: Actor, wanted: DiagnosisCreate, *, source: str = "manual") -> Diagnosis:
    """Stores the question and rings for its first stage. Raises NotFound, Forbidden, Invalid."""
    ids = {wanted.host_id, *wanted.twin_ids}
    hosts = queries.hosts(session, actor, ids)
    if len(hosts) != len(ids):
        raise NotFound("host.not_found")
    for host in hosts.values():
        policy(actor, "capture.light", host)
    if wanted.host_id in wanted.twin_ids:
        raise Invalid("diagnosis.own_twin")
    baseline_run_id = None
    if wanted.baseline not in {"auto", "none"}:
        run = queries.run_of_host(session, UUID(wanted.baseline), wanted.host_id)
        if run is None:
            raise Invalid("diagnosis.baseline_unknown", run=wanted.baseline)
        baseline_run_id = run.id
    diagnosis = Diagnosis(
        host_id=wanted.host_id,
        scope=_scope(wanted),
        seconds=wanted.seconds,
        baseline=wanted.baseline,
        baseline_run_id=baseline_run_id,
        twins=[str(one) for one in dict.fromkeys(wanted.twin_ids)],
        reason=wanted.reason.strip(),
        source=source,
        requested_by=actor.id,
    )
    session.add(diagnosis)
    session.flush()
    announce(session, TASK, diagnosis.id)
    audit.record(
        session,
        actor,
        "diagnosis.create",
        "diagnosis",
        diagnosis.id,
        host=hosts[wanted.host_id].name,
        scope=diagnosis.scope,
        seconds=wanted.seconds,
        reason=diagnosis.reason,
    )
    return diagnosis


def _scope(wanted: DiagnosisCreate) -> dict[str, str]:
    if not wanted.scope:
        return {}
    try:
        if wanted.scope.get("kind") == "service":
            return _service(wanted.scope)
        return Scope.from_json(wanted.scope).to_json()
    except ValueError as error:
        kind, value = (str(wanted.scope.get(name, ""))[:200] for name in ("kind", "value"))
        raise Invalid("capture.scope_invalid", kind=kind, value=value) from error


def _service(scope: dict[str, str]) -> dict[str, str]:
    """A declared service, or a unit of that name; which one is found out when the stage begins."""
    Scope("unit", scope.get("value", ""))
    return {"kind": "service", "value": scope["value"]}


def cancel(session: Session, actor: Actor, diagnosis_id: UUID) -> Diagnosis:
    """Calls it off; the task ends the capture that is running. Repeating it changes nothing."""
    policy(actor, "capture.cancel")
    found = one(session, actor, diagnosis_id)
    changed = session.execute(
        update(Diagnosis)
        .where(Diagnosis.id == found.id, Diagnosis.state == "running")
        .values(state="cancelled", ended_at=func.clock_timestamp())
        .returning(Diagnosis.id)
        .execution_options(synchronize_session=False)
    ).first()
    if changed is not None:
        audit.record(session, actor, "diagnosis.cancel", "diagnosis", found.id)
        announce(session, TASK, found.id)
    session.refresh(found)
    return found


def one(session: Session, actor: Actor, diagnosis_id: UUID) -> Diagnosis:
    """One that exists for this actor; raises NotFound."""
    policy(actor, "finding.read")
    found = queries.diagnosis(session, actor, diagnosis_id)
    if found is None:
        raise NotFound("diagnosis.not_found")
    return found


def read(session: Session, rows: Sequence[Diagnosis]) -> list[DiagnosisRead]:
    """Diagnoses as they are sent."""
    ids = {row.host_id for row in rows} | {UUID(twin) for row in rows for twin in row.twins}
    names = queries.names(session, ids)
    return [_read(session, row, names) for row in rows]


def _read(session: Session, row: Diagnosis, names: dict[UUID, str]) -> DiagnosisRead:
    captures = [UUID(stage["capture_id"]) for stage in row.stages]
    runs = queries.runs(session, captures, row.host_id)
    end = row.ended_at or datetime.now(UTC)
    same = (
        "id", "number", "scope", "seconds", "baseline", "baseline_run_id", "reason", "state", "result", "failure",
        "created_at", "ended_at",
    )  # fmt: skip
    return DiagnosisRead(
        **{name: getattr(row, name) for name in same},
        host=HostRef(id=row.host_id, name=names[row.host_id]),
        twins=[HostRef(id=UUID(twin), name=names[UUID(twin)]) for twin in row.twins],
        stages=[_stage(stage, runs.get(UUID(stage["capture_id"]))) for stage in row.stages],
        elapsed_s=round((end - row.created_at).total_seconds(), 3),
    )


def _stage(stage: dict[str, object], run: Run | None) -> StageRead:
    return StageRead.model_validate(
        {
            **stage,
            "run_id": run.id if run else None,
            "state": run.state if run else "queued",
            "host_cpu_ms": run.host_cpu_ms if run else None,
        }
    )
