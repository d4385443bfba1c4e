"""Advance a verification of a fix, one capture at a time: the task `culprit.advance_verification`.

It is enqueued by the request, after the evaluation of a run of its captures, and by the sweep; duplicate messages are
harmless. The capture from before the fix is repeated with pauses, on the control host at the same time. Then the
primary number is judged. Nothing is locked while runs are read; results are written only if the state is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from collectors.registry import COLLECTORS
from culprit.accounts.actor import Actor, find_actor
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate, ScopeRequest
from culprit.domain.verification import result
from culprit.domain.verification.cohort import MIN_HOSTS
from culprit.domain.verification.judge import build_inconclusive
from culprit.domain.verification.windows import count_required_windows
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.verification import Verification
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.job import Job
from culprit.jobs.verification import schedule
from culprit.jobs.verification.compare_profiles import compare_profiles
from culprit.jobs.verification.judge import MINIMUM_CHANGE, judge_runs
from culprit.jobs.verification.measure_before import keep_measuring, measure_before
from culprit.jobs.verification.measurements import (
    SideReader,
    VerificationSpec,
    list_capture_runs,
    list_control_runs,
    list_runs_before,
    load_host_names,
    load_verification_spec,
)
from culprit.jobs.verification.queries import (
    get_database_time,
    has_canceled_capture,
    list_running_captures,
    list_runs,
    pending_verifications,
)
from culprit.jobs.verification.state import (
    OPEN,
    TASK,
    append_to_journal,
    fail_verification,
    is_capture_settled,
    is_run_finished,
    lock_in_state,
)
from culprit.json_types import Json
from culprit.web.errors import CulpritError

#: Number of captures that can fail before the verification is judged without them.
MAX_FAILED_CAPTURES = 2


def advance_verification(verification_id: UUID) -> str | None:
    """Advance the verification as far as possible. Return its state, or None if it does not exist."""
    store = artifact_store()
    with unit_of_work(get_database().sessions) as session:
        verification = session.get(Verification, verification_id)
        if verification is None:
            return None
        if verification.state == "before":
            measure_before(session, store, verification)
        elif verification.state == "waiting":
            keep_measuring(session, store, verification)
        elif verification.state == "collecting":
            _collect_captures(session, store, verification)
        elif verification.state == "judging":
            _judge_verification(session, store, verification)
        elif verification.state == "canceled":
            _cancel_captures(session, verification)
        return verification.state


def _collect_captures(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Start the next capture when it is due; when all are finished, continue with judging."""
    actor = find_actor(session, verification.requested_by)
    spec = load_verification_spec(session, verification)
    capture_ids = [UUID(str(item)) for item in verification.after]
    if actor is None or spec is None:
        key = "run.requester_gone" if actor is None else "verify.no_primary"
        fail_verification(session, verification, {"key": key, "params": {}})
    elif _is_canceled(session, spec, capture_ids):
        _cancel_verification(session, spec)
    elif all(is_run_finished(session, uuid) for uuid in capture_ids):
        _continue_collecting(session, store, actor, spec)


def _continue_collecting(
    session: Session, store: ArtifactStore, actor: Actor, spec: VerificationSpec
) -> None:
    verification = spec.verification
    capture_ids = [UUID(str(item)) for item in verification.after]
    before = list_runs_before(session, spec)
    needed = _count_required_windows(session, store, spec, before)
    refusal = None if capture_ids else _find_refusal(session, spec, before, needed)
    taken = _count_required_captures(spec, needed)
    if refusal is not None:
        if lock_in_state(session, verification, ("collecting",)):
            _store_refusal(session, spec, before, needed, refusal)
    elif schedule.is_alternating(spec) and _is_turn_over(session, spec, needed):
        if lock_in_state(session, verification, ("collecting",)):
            verification.state = "waiting"
            append_to_journal(session, spec, "verification_waiting")
    elif _is_complete(session, spec, before, capture_ids, taken):
        if lock_in_state(session, verification, ("collecting",)):
            verification.state = "judging"
            enqueue_after_commit(session, TASK, verification.id)
    elif (
        _is_fix_settled(session, spec.fix)
        and is_capture_settled(
            session, capture_ids, None if schedule.is_alternating(spec) else schedule.WIDE_PAUSE
        )
        and lock_in_state(session, verification, ("collecting",))
        and len(verification.after) == len(capture_ids)
    ):
        verification.before = [str(run.id) for run in before]
        try:
            _start_capture(session, store, actor, spec, before)
        except CulpritError as error:
            fail_verification(session, verification, error.sentence)


def _is_turn_over(session: Session, spec: VerificationSpec, needed: int) -> bool:
    """Return whether the fix must be rolled back for the next phase."""
    phases = schedule.list_phases(session, spec)
    return len(phases) < schedule.PHASES and schedule.is_phase_done(phases, needed, is_after=True)


def _is_complete(
    session: Session, spec: VerificationSpec, before: Sequence[Run], capture_ids: Sequence[UUID], taken: int
) -> bool:
    """Return whether there are enough captures after the fix, over a long enough time."""
    finished = _count_finished(session, spec, capture_ids)
    if (
        len(capture_ids) >= schedule.MAX_AFTER + MAX_FAILED_CAPTURES
        or len(capture_ids) - finished > MAX_FAILED_CAPTURES
    ):
        return True
    after = list_capture_runs(session, capture_ids, spec.hosts[0])
    host_before = [run for run in before if run.host_id == spec.hosts[0]]
    is_last = finished >= schedule.MAX_AFTER or schedule.is_observed(session, spec, host_before, after)
    return finished >= taken and is_last


def _count_required_windows(
    session: Session, store: ArtifactStore, spec: VerificationSpec, before: Sequence[Run]
) -> int:
    """Return the number of windows that a side needs: more if the windows before the fix have one block each."""
    if spec.verification.kind == "cohort" or not before:
        return spec.min_windows
    sides = _load_sides(session, store, spec)
    latest = before[-2:]
    numbers = sides.windows("before", latest, sides.select_subject(latest))
    return max(spec.min_windows, count_required_windows([item.measured.window for item in numbers]))


def _count_runs_by_host(spec: VerificationSpec, runs: Sequence[Run]) -> list[int]:
    return [sum(run.host_id == host for run in runs) for host in spec.hosts]


def _count_required_captures(spec: VerificationSpec, needed: int) -> int:
    """Return the minimum number of captures after the fix; for an alternating verification, of both phases."""
    return 2 * schedule.count_per_phase(needed) if schedule.is_alternating(spec) else needed


def _count_finished(session: Session, spec: VerificationSpec, capture_ids: Sequence[UUID]) -> int:
    """Count the captures with results from every host; for a cohort, from any host."""
    control_id = spec.verification.control_host_id
    counts = [
        len(list_capture_runs(session, capture_ids, host))
        for host in [*spec.hosts, *([control_id] if control_id else [])]
    ]
    return max(counts) if spec.verification.kind == "cohort" else min(counts)


def _find_refusal(
    session: Session, spec: VerificationSpec, before: Sequence[Run], needed: int
) -> Sentence | None:
    """Return a message if data from before the fix is missing, or None. Hosts of a cohort are listed later."""
    params: dict[str, str | int | float] = {"needed": needed, "runs": len(before), "read": spec.read}
    counts = _count_runs_by_host(spec, before)
    if spec.verification.kind == "cohort":
        few = sum(count >= needed for count in counts) < MIN_HOSTS
        todo = Sentence("verify.collect_before_hosts", {"needed": MIN_HOSTS}) if few else None
        return todo or schedule.refuse_long_gap(session, spec, before)
    if schedule.is_alternating(spec):
        return None
    if min(counts, default=0) < needed:
        return Sentence("verify.collect_before", params)
    if spec.verification.control_host_id is not None:
        peer = len(list_control_runs(session, spec, before))
        if peer < needed:
            return Sentence("verify.collect_before_control", {"needed": needed, "runs": peer})
    return schedule.refuse_long_gap(session, spec, before)


def _store_refusal(
    session: Session, spec: VerificationSpec, before: Sequence[Run], needed: int, todo: Sentence
) -> None:
    """Store the outcome `no_conclusion` without captures after the fix, because data from before is missing."""
    cohort = spec.verification.kind == "cohort"
    notes = [todo]
    hosts = sum(count >= needed for count in _count_runs_by_host(spec, before))
    verdict = (
        build_inconclusive("few_hosts", least=MIN_HOSTS, hosts=hosts)
        if cohort
        else build_inconclusive("few_windows", least=needed)
    )
    if todo.key == "verify.gap_too_long":
        verdict, notes = replace(verdict, reason=todo), []
    minimum_change = spec.verification.minimum_change or MINIMUM_CHANGE
    _store_judgment(
        session, spec, result.result_to_json(verdict, spec.read, spec.better, minimum_change, notes=notes)
    )


def _is_fix_settled(session: Session, fix: Fix) -> bool:
    """Return whether enough time has passed since the fix."""
    assert fix.applied_at is not None
    return get_database_time(session) >= fix.applied_at + schedule.SETTLING_TIME


def _start_capture(
    session: Session, store: ArtifactStore, actor: Actor, spec: VerificationSpec, before: Sequence[Run]
) -> None:
    """Start another capture with the settings from before the fix."""
    model = session.get_one(Capture, before[-1].capture_id)
    verification, fix = spec.verification, spec.fix
    collectors = [collector for collector in model.collectors if collector["id"] in COLLECTORS]
    control = [verification.control_host_id] if verification.control_host_id else []
    hosts = [host for host in spec.hosts if any(run.host_id == host for run in before)]
    capture_create = CaptureCreate(
        host_ids=[*hosts, *control],
        plan=model.plan,
        seconds=max([int(collector["seconds"]) for collector in collectors], default=None),
        collectors=[collector["id"] for collector in collectors],
        scope=ScopeRequest.model_validate(model.scope or {}),
        options={
            collector["id"]: collector["options"] for collector in collectors if collector.get("options")
        },
        reason=f"verification of a fix, capture {len(verification.after) + 1}",
        service=False,
    )
    capture = captures.create_capture(session, actor, store, capture_create, source="manual")
    capture.plan, capture.collectors, capture.seconds = model.plan, collectors, model.seconds
    capture.incident_id = fix.incident_id
    for run in list_runs(session, capture.id):
        role = "control" if run.host_id in control else "after"
        session.add(IncidentRun(incident_id=fix.incident_id, run_id=run.id, role=role, fix_id=fix.id))
    verification.after = [*verification.after, str(capture.id)]


def _judge_verification(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Judge both sides and store the result."""
    spec = load_verification_spec(session, verification)
    if spec is None:
        fail_verification(session, verification, {"key": "verify.no_primary", "params": {}})
        return
    capture_ids = [UUID(str(item)) for item in verification.after]
    before = list_runs_before(session, spec)
    after = [run for host in spec.hosts for run in list_capture_runs(session, capture_ids, host)]
    control_id = verification.control_host_id
    control = (
        (list_control_runs(session, spec, before), list_capture_runs(session, capture_ids, control_id))
        if control_id
        else None
    )
    answer = judge_runs(spec, _load_sides(session, store, spec), before, after, control)
    if lock_in_state(session, verification, ("judging",)):
        comparison = compare_profiles(session, spec, before, after)
        if comparison is not None:
            answer["differential"] = {
                **result.NO_FUNCTIONS,
                **answer.get("differential", {}),
                **comparison,
            }
        _store_judgment(session, spec, answer)


def _load_sides(session: Session, store: ArtifactStore, spec: VerificationSpec) -> SideReader:
    control_id = spec.verification.control_host_id
    names = load_host_names(session, [*spec.hosts, *([control_id] if control_id else [])])
    return SideReader(lambda run_id: load_view(session, store, [run_id]), names, spec)


def _store_judgment(session: Session, spec: VerificationSpec, answer: Json) -> None:
    """Store the result, set the state of the fix, and append a journal entry."""
    verification, fix = spec.verification, spec.fix
    verification.result, verification.state, verification.ended_at = answer, "done", utc_now()
    session.refresh(fix)
    if fix.state not in {"planned", "reverted"}:
        fix.state = answer["outcome"]
    percent = {} if answer["change"] is None else {"percent": round(100 * answer["change"], 1)}
    append_to_journal(session, spec, f"fix_{answer['outcome']}", read=spec.read, **percent)


def _is_canceled(session: Session, spec: VerificationSpec, capture_ids: Sequence[UUID]) -> bool:
    """Return whether the fix was rolled back or one of the captures was canceled."""
    return (
        spec.fix.applied_at is None
        or spec.fix.state in {"planned", "reverted"}
        or has_canceled_capture(session, capture_ids)
    )


def _cancel_verification(session: Session, spec: VerificationSpec) -> None:
    if lock_in_state(session, spec.verification, OPEN):
        spec.verification.state, spec.verification.ended_at = "canceled", utc_now()
        append_to_journal(session, spec, "verification_canceled")
        _cancel_captures(session, spec.verification)


def _cancel_captures(session: Session, verification: Verification) -> None:
    """Cancel the running captures."""
    actor = find_actor(session, verification.requested_by)
    if actor is None:
        return
    ids = [UUID(str(item)) for item in verification.after]
    for capture in list_running_captures(session, ids):
        captures.cancel_capture(session, actor, get_event_publisher(), capture.id)


JOB = Job("culprit.advance_verification", "parse", advance_verification, pending_verifications)
