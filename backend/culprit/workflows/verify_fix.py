"""One verification of a fix, a capture at a time: the task `culprit.advance_verification`.

It is rung when a verification is asked for, when a run of its captures has been evaluated, and by the sweep; a bell too
many changes nothing. The same capture as before the fix is taken again, one after the other with a pause between, on
the control host at the same time; then the number that was fixed beforehand is judged. Nothing is locked while runs are
read: what was found is written only where the verification still stands as it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from collectors.contract import Sentence
from collectors.registry import COLLECTORS
from culprit.auth.actor import Actor, actor_by_id
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate, ScopeGiven
from culprit.core import verification_form
from culprit.core.cohort import MIN_HOSTS
from culprit.core.verify import least_windows, none
from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.infra.progress import publisher
from culprit.kit.clock import now
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Fix, IncidentRun, Run, Verification
from culprit.workflows.read_view import read_view
from culprit.workflows.verify_before import measure
from culprit.workflows.verify_flame import compare
from culprit.workflows.verify_judge import BAR, judged
from culprit.workflows.verify_sides import (
    Asked,
    Sides,
    asked,
    control_before,
    names_of,
    runs_before,
    runs_of_captures,
)
from culprit.workflows.verify_state import OPEN, TASK, came_home, fail, locked, rested, tell

Json = dict[str, Any]
#: What was just restarted is not yet what it will be.
SETTLED = timedelta(seconds=30)
#: Captures that may come to nothing before it is judged without them.
SPARE = 2


def advance_verification(verification_id: UUID) -> str | None:
    """Do what can be done now. Returns the state that it is left in, None where there is no such verification."""
    store = artifact_store()
    with unit_of_work(database().sessions) as session:
        verification = session.get(Verification, verification_id)
        if verification is None:
            return None
        if verification.state == "before":
            measure(session, store, verification)
        elif verification.state == "collecting":
            _collect(session, store, verification)
        elif verification.state == "judging":
            _judge(session, store, verification)
        elif verification.state == "cancelled":
            _call_off(session, verification)
        return verification.state


def _collect(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Start the next capture when it is due; when all are there, let it be judged."""
    actor = actor_by_id(session, verification.requested_by)
    what = asked(session, verification)
    made = [UUID(str(one)) for one in verification.after]
    if actor is None or what is None:
        key = "run.requester_gone" if actor is None else "verify.no_primary"
        fail(session, verification, {"key": key, "params": {}})
    elif _given_up(session, what, made):
        _cancel(session, what)
    elif all(came_home(session, one) for one in made):
        _go_on(session, store, actor, what)


def _go_on(session: Session, store: ArtifactStore, actor: Actor, what: Asked) -> None:
    verification = what.verification
    made = [UUID(str(one)) for one in verification.after]
    before = runs_before(session, what)
    needed = _needed(session, store, what, before)
    refusal = None if made else _refusal(session, what, before, needed)
    taken = _taken(what, before, needed)
    if refusal is not None:
        if locked(session, verification, ("collecting",)):
            _refuse(session, what, before, needed, refusal)
    elif _home(session, what, made) >= taken or len(made) >= taken + SPARE:
        if locked(session, verification, ("collecting",)):
            verification.state = "judging"
            announce(session, TASK, verification.id)
    elif (
        _settled(session, what.fix)
        and rested(session, made)
        and locked(session, verification, ("collecting",))
        and len(verification.after) == len(made)
    ):
        verification.before = [str(run.id) for run in before]
        try:
            _start(session, store, actor, what, before)
        except CulpritError as error:
            fail(session, verification, error.sentence)


def _needed(session: Session, store: ArtifactStore, what: Asked, before: Sequence[Run]) -> int:
    """Windows that a side of a host needs: more where those from before hold one block each."""
    if what.verification.kind == "cohort" or not before:
        return what.needed
    sides = _sides(session, store, what)
    some = before[-2:]
    seen = sides.windows("before", some, sides.subject(some))
    return max(what.needed, least_windows([one.seen.window for one in seen]))


def _counts(what: Asked, runs: Sequence[Run]) -> list[int]:
    return [sum(run.host_id == host for run in runs) for host in what.hosts]


def _taken(what: Asked, before: Sequence[Run], needed: int) -> int:
    """How many captures are made: for a cohort as many as each of its hosts has from before, at most three."""
    if what.verification.kind != "cohort":
        return needed
    return max(1, min([3, *[count for count in _counts(what, before) if count]]))


def _home(session: Session, what: Asked, made: Sequence[UUID]) -> int:
    """How many of the captures brought something home from every host; of a cohort, from any."""
    there = what.verification.control_host_id
    counts = [
        len(runs_of_captures(session, made, host)) for host in [*what.hosts, *([there] if there else [])]
    ]
    return max(counts) if what.verification.kind == "cohort" else min(counts)


def _refusal(session: Session, what: Asked, before: Sequence[Run], needed: int) -> Sentence | None:
    """What is missing from before the fix, and what could still be done. Of a cohort, hosts without are named later."""
    params: dict[str, str | int | float] = {"needed": needed, "runs": len(before), "read": what.read}
    counts = _counts(what, before)
    if what.verification.kind == "cohort":
        few = sum(count > 0 for count in counts) < MIN_HOSTS
        return Sentence("verify.collect_before_hosts", {"needed": MIN_HOSTS}) if few else None
    if min(counts, default=0) < needed:
        return Sentence("verify.collect_before", params)
    if what.verification.control_host_id is not None:
        peer = len(control_before(session, what, before))
        if peer < needed:
            return Sentence("verify.collect_before_control", {"needed": needed, "runs": peer})
    return None


def _refuse(session: Session, what: Asked, before: Sequence[Run], needed: int, todo: Sentence) -> None:
    """Too little from before the fix: nothing is captured, nothing concluded."""
    cohort = what.verification.kind == "cohort"
    hosts = sum(count > 0 for count in _counts(what, before))
    verdict = none("few_hosts", least=MIN_HOSTS, hosts=hosts) if cohort else none("few_windows", least=needed)
    bar = what.verification.bar or BAR
    _store(session, what, verification_form.result(verdict, what.read, what.better, bar, notes=[todo]))


def _settled(session: Session, fix: Fix) -> bool:
    """Whether enough time has passed since the fix."""
    at = session.scalar(select(func.clock_timestamp()))
    assert at is not None and fix.applied_at is not None
    return bool(at >= fix.applied_at + SETTLED)


def _start(session: Session, store: ArtifactStore, actor: Actor, what: Asked, before: Sequence[Run]) -> None:
    """The same capture as before the fix, once more."""
    model = session.get_one(Capture, before[-1].capture_id)
    verification, fix = what.verification, what.fix
    collectors = [one for one in model.collectors if one["id"] in COLLECTORS]
    control = [verification.control_host_id] if verification.control_host_id else []
    hosts = [host for host in what.hosts if any(run.host_id == host for run in before)]
    wanted = CaptureCreate(
        host_ids=[*hosts, *control],
        plan=model.plan,
        seconds=max([int(one["seconds"]) for one in collectors], default=None),
        collectors=[one["id"] for one in collectors],
        scope=ScopeGiven.model_validate(model.scope or {}),
        options={one["id"]: one["options"] for one in collectors if one.get("options")},
        reason=f"verification of a fix, capture {len(verification.after) + 1}",
        service=False,
    )
    capture = captures.create(session, actor, store, wanted, source="manual")
    capture.plan, capture.collectors, capture.seconds = model.plan, collectors, model.seconds
    capture.incident_id = fix.incident_id
    for run in session.scalars(select(Run).where(Run.capture_id == capture.id)):
        role = "control" if run.host_id in control else "after"
        session.add(IncidentRun(incident_id=fix.incident_id, run_id=run.id, role=role, fix_id=fix.id))
    verification.after = [*verification.after, str(capture.id)]


def _judge(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Read both sides, and write down what they say."""
    what = asked(session, verification)
    if what is None:
        fail(session, verification, {"key": "verify.no_primary", "params": {}})
        return
    made = [UUID(str(one)) for one in verification.after]
    before = runs_before(session, what)
    after = [run for host in what.hosts for run in runs_of_captures(session, made, host)]
    there = verification.control_host_id
    control = (
        (control_before(session, what, before), runs_of_captures(session, made, there)) if there else None
    )
    answer = judged(what, _sides(session, store, what), before, after, control)
    if locked(session, verification, ("judging",)):
        drawing = compare(session, what, before, after)
        if drawing is not None:
            answer["differential"] = {
                **verification_form.NO_FUNCTIONS,
                **answer.get("differential", {}),
                **drawing,
            }
        _store(session, what, answer)


def _sides(session: Session, store: ArtifactStore, what: Asked) -> Sides:
    there = what.verification.control_host_id
    names = names_of(session, [*what.hosts, *([there] if there else [])])
    return Sides(lambda run_id: read_view(session, store, [run_id]), names, what)


def _store(session: Session, what: Asked, answer: Json) -> None:
    """The result, the fix's state, and the line in the journal."""
    verification, fix = what.verification, what.fix
    verification.result, verification.state, verification.ended_at = answer, "done", now()
    session.refresh(fix)
    if fix.state not in {"planned", "reverted"}:
        fix.state = answer["outcome"]
    percent = {} if answer["change"] is None else {"percent": round(100 * answer["change"], 1)}
    tell(session, what, f"fix_{answer['outcome']}", read=what.read, **percent)


def _given_up(session: Session, what: Asked, made: Sequence[UUID]) -> bool:
    """The fix was taken back, or somebody called one of the captures off."""
    called_off = select(Capture.id).where(Capture.id.in_(made), Capture.cancel_requested_at.is_not(None))
    return (
        what.fix.applied_at is None
        or what.fix.state in {"planned", "reverted"}
        or bool(session.scalar(select(exists(called_off))))
    )


def _cancel(session: Session, what: Asked) -> None:
    if locked(session, what.verification, OPEN):
        what.verification.state, what.verification.ended_at = "cancelled", now()
        tell(session, what, "verification_cancelled")
        _call_off(session, what.verification)


def _call_off(session: Session, verification: Verification) -> None:
    """End the captures that still run."""
    actor = actor_by_id(session, verification.requested_by)
    if actor is None:
        return
    ids = [UUID(str(one)) for one in verification.after]
    query = select(Capture).where(
        Capture.id.in_(ids), Capture.ended_at.is_(None), Capture.cancel_requested_at.is_(None)
    )
    for capture in session.scalars(query).all():
        captures.cancel(session, actor, publisher(), capture.id)
