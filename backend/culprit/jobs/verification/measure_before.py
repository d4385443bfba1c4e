"""Measure the side before a planned fix: part of `culprit.advance_verification`.

It runs as many captures as the comparison needs, one after another: the triage collectors, the cheapest collectors of
the primary number, and those of the service. Then the verification waits until the fix is applied. While it waits, it
repeats the capture, so that the time between the sides stays short.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS
from collectors.registry import COLLECTORS
from culprit.accounts.actor import Actor, find_actor
from culprit.accounts.authorization import is_allowed
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate, ScopeRequest
from culprit.captures.service_collectors import service_collector_options
from culprit.domain.playbooks.engine import TIER_COST
from culprit.domain.verification import primary_number
from culprit.domain.verification.windows import count_required_windows
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.verification import schedule
from culprit.jobs.verification.measurements import (
    SideReader,
    VerificationSpec,
    list_capture_runs,
    load_host_names,
    load_verification_spec,
)
from culprit.jobs.verification.queries import MAX_BEFORE, find_host_scope, has_canceled_capture, list_runs
from culprit.jobs.verification.state import (
    append_to_journal,
    fail_verification,
    is_capture_settled,
    is_run_finished,
    lock_in_state,
)
from culprit.web.errors import CulpritError

PLAN = "triage"
#: Length of a capture: three blocks of the comparison.
SECONDS = 15
#: The profiler for the comparison of functions.
PROFILE = "perf_record"
#: Number of captures that can fail before the verification fails.
MAX_FAILED_CAPTURES = 2


def measure_before(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Start the next capture when it is due; when all are finished, wait for the fix."""
    actor = find_actor(session, verification.requested_by)
    spec = load_verification_spec(session, verification)
    capture_ids = [UUID(str(item)) for item in verification.captures_before]
    if actor is None or spec is None:
        key = "run.requester_gone" if actor is None else "verify.no_primary"
        fail_verification(session, verification, {"key": key, "params": {}})
    elif has_canceled_capture(session, capture_ids):
        _cancel_measurement(session, spec)
    elif all(is_run_finished(session, uuid) for uuid in capture_ids):
        _continue_measuring(session, store, actor, spec, capture_ids)


def _continue_measuring(
    session: Session, store: ArtifactStore, actor: Actor, spec: VerificationSpec, capture_ids: list[UUID]
) -> None:
    verification = spec.verification
    runs_by_host = [list_capture_runs(session, capture_ids, host) for host in spec.hosts]
    least = min((len(item) for item in runs_by_host), default=0)
    if least and _is_enough(session, store, spec, runs_by_host[0], least):
        if lock_in_state(session, verification, ("before",)):
            verification.before = _list_ids(runs_by_host)
            verification.state = "waiting"
            append_to_journal(session, spec, "verification_waiting")
    elif len(capture_ids) - least > MAX_FAILED_CAPTURES:
        fail_verification(
            session, verification, {"key": "verify.before_failed", "params": {"captures": len(capture_ids)}}
        )
    elif (
        is_capture_settled(session, capture_ids)
        and schedule.is_rollback_settled(session, spec)
        and lock_in_state(session, verification, ("before",))
        and len(verification.captures_before) == len(capture_ids)
    ):
        try:
            _start_capture(session, store, actor, spec)
        except CulpritError as error:
            fail_verification(session, verification, error.sentence)


def _list_ids(runs_by_host: list[list[Run]]) -> list[str]:
    return [str(run.id) for runs in runs_by_host for run in runs]


def keep_measuring(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Repeat the capture while the fix is not applied yet, up to a number of captures."""
    actor = find_actor(session, verification.requested_by)
    spec = load_verification_spec(session, verification)
    capture_ids = [UUID(str(item)) for item in verification.captures_before]
    if actor is None or spec is None or schedule.is_alternating(spec):
        return
    if has_canceled_capture(session, capture_ids):
        _cancel_measurement(session, spec)
        return
    runs_by_host = [list_capture_runs(session, capture_ids, host) for host in spec.hosts]
    if not all(is_run_finished(session, uuid) for uuid in capture_ids):
        return
    if not lock_in_state(session, verification, ("waiting",)):
        return
    verification.before = _list_ids(runs_by_host)
    is_due = is_capture_settled(session, capture_ids, schedule.WIDE_PAUSE)
    if is_due and len(verification.captures_before) == len(capture_ids) < MAX_BEFORE:
        try:
            _start_capture(session, store, actor, spec)
        except CulpritError:
            # Without more captures the time between the sides grows; the result states when it is too long.
            return


def _is_enough(
    session: Session, store: ArtifactStore, spec: VerificationSpec, runs: list[Run], least: int
) -> bool:
    needed = _count_required_windows(session, store, spec, runs)
    if schedule.is_alternating(spec):
        return schedule.is_phase_done(schedule.list_phases(session, spec), needed, is_after=False)
    return least >= needed


def _count_required_windows(
    session: Session, store: ArtifactStore, spec: VerificationSpec, runs: list[Run]
) -> int:
    """Return the number of windows that a side needs: more if the windows so far have one block each."""
    if spec.verification.kind == "cohort":
        return spec.min_windows
    names = load_host_names(session, list(spec.hosts))
    sides = SideReader(lambda run_id: load_view(session, store, [run_id]), names, spec)
    numbers = sides.windows("before", runs[-2:], sides.select_subject(runs[-2:]))
    return max(spec.min_windows, count_required_windows([item.measured.window for item in numbers]))


def _start_capture(session: Session, store: ArtifactStore, actor: Actor, spec: VerificationSpec) -> None:
    verification, fix = spec.verification, spec.fix
    control = [verification.control_host_id] if verification.control_host_id else []
    first = spec.hosts[0]
    options = service_collector_options(session, session.get_one(Host, first))
    light = [collector.id for collector in PLANS[PLAN].collectors]
    scope = find_host_scope(session, fix.incident_id, first)
    capture_create = CaptureCreate(
        host_ids=[*spec.hosts, *control],
        plan=PLAN,
        seconds=SECONDS,
        collectors=list(
            dict.fromkeys(
                [*light, *_select_collectors(spec.read, actor, light), *_select_profiler(actor), *options]
            )
        ),
        scope=ScopeRequest.model_validate(scope) if scope else ScopeRequest(),
        options=options,
        reason=f"before a fix, capture {len(verification.captures_before) + 1}",
    )
    capture = captures.create_capture(session, actor, store, capture_create, source="manual")
    capture.incident_id = fix.incident_id
    session.flush()
    for run in list_runs(session, capture.id):
        role = "control" if run.host_id in control else "before"
        session.add(IncidentRun(incident_id=fix.incident_id, run_id=run.id, role=role, fix_id=fix.id))
    verification.captures_before = [*verification.captures_before, str(capture.id)]


def _select_collectors(read: str, actor: Actor, light: list[str]) -> list[str]:
    """Return the cheapest collector of each kind that the number needs and that is not selected already."""
    results = []
    for any_of in primary_number.list_collectors(read):
        known = [item for item in any_of if item in COLLECTORS and _can_capture(actor, COLLECTORS[item].tier)]
        if known and not set(known) & set(light):
            results.append(min(known, key=lambda item: TIER_COST[COLLECTORS[item].tier]))
    return results


def _select_profiler(actor: Actor) -> list[str]:
    return [PROFILE] if _can_capture(actor, COLLECTORS[PROFILE].tier) else []


def _can_capture(actor: Actor, tier: Tier) -> bool:
    return tier is not Tier.PTRACE and is_allowed(actor, f"capture.{tier}")


def _cancel_measurement(session: Session, spec: VerificationSpec) -> None:
    if lock_in_state(session, spec.verification, ("before", "waiting")):
        spec.verification.state, spec.verification.ended_at = "canceled", utc_now()
        append_to_journal(session, spec, "verification_canceled")
