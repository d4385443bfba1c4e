"""The side before the fix, measured while the fix is still planned: part of `culprit.advance_verification`.

As many captures as the comparison needs, one after the other: what a triage takes, the cheapest collectors that the
number needs, and what measures the service's requests. Then the verification waits until somebody says that the fix
was applied; the side after is the same capture again.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS
from collectors.registry import COLLECTORS
from culprit.auth.actor import Actor, actor_by_id
from culprit.auth.policy import allowed
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate, ScopeGiven
from culprit.core import primary
from culprit.core.playbooks.engine import PRICE
from culprit.core.verify import least_windows
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.clock import now
from culprit.kit.errors import CulpritError
from culprit.models import Capture, Host, IncidentHost, IncidentRun, Run, Verification
from culprit.workflows.measuring import measuring
from culprit.workflows.read_view import read_view
from culprit.workflows.verify_sides import Asked, Sides, asked, names_of, runs_of_captures
from culprit.workflows.verify_state import came_home, fail, locked, rested, tell

Json = dict[str, Any]
PLAN = "triage"
#: Three blocks of the comparison, and no longer than people wait for three of them.
SECONDS = 15
#: Where the CPUs spend their time: what changed in the code is drawn beside the outcome.
PROFILE = "perf_record"
#: Captures that may come to nothing before it gives up.
SPARE = 2


def measure(session: Session, store: ArtifactStore, verification: Verification) -> None:
    """Start the next capture when it is due; when all are there, wait for the fix."""
    actor = actor_by_id(session, verification.requested_by)
    what = asked(session, verification)
    made = [UUID(str(one)) for one in verification.made_before]
    if actor is None or what is None:
        key = "run.requester_gone" if actor is None else "verify.no_primary"
        fail(session, verification, {"key": key, "params": {}})
    elif _called_off(session, made):
        _cancel(session, what)
    elif all(came_home(session, one) for one in made):
        _go_on(session, store, actor, what, made)


def _go_on(session: Session, store: ArtifactStore, actor: Actor, what: Asked, made: list[UUID]) -> None:
    verification = what.verification
    home = [runs_of_captures(session, made, host) for host in what.hosts]
    least = min((len(one) for one in home), default=0)
    if home and least >= _needed(session, store, what, home[0]):
        if locked(session, verification, ("before",)):
            verification.before = [str(run.id) for runs in home for run in runs]
            verification.state = "waiting"
            tell(session, what, "verification_waits")
    elif len(made) - least > SPARE:
        fail(session, verification, {"key": "verify.before_failed", "params": {"captures": len(made)}})
    elif (
        rested(session, made)
        and locked(session, verification, ("before",))
        and len(verification.made_before) == len(made)
    ):
        try:
            _start(session, store, actor, what)
        except CulpritError as error:
            fail(session, verification, error.sentence)


def _needed(session: Session, store: ArtifactStore, what: Asked, runs: list[Run]) -> int:
    """Windows that a side needs: more where the first ones hold one block each."""
    if what.verification.kind == "cohort" or not runs:
        return what.needed
    names = names_of(session, list(what.hosts))
    sides = Sides(lambda run_id: read_view(session, store, [run_id]), names, what)
    seen = sides.windows("before", runs[-2:], sides.subject(runs[-2:]))
    return max(what.needed, least_windows([one.seen.window for one in seen]))


def _start(session: Session, store: ArtifactStore, actor: Actor, what: Asked) -> None:
    verification, fix = what.verification, what.fix
    control = [verification.control_host_id] if verification.control_host_id else []
    first = what.hosts[0]
    options = measuring(session, session.get_one(Host, first))
    light = [one.id for one in PLANS[PLAN].collectors]
    scope = session.scalar(
        select(IncidentHost.scope).where(
            IncidentHost.incident_id == fix.incident_id, IncidentHost.host_id == first
        )
    )
    wanted = CaptureCreate(
        host_ids=[*what.hosts, *control],
        plan=PLAN,
        seconds=SECONDS,
        collectors=list(dict.fromkeys([*light, *_for(what.read, actor, light), *_profile(actor), *options])),
        scope=ScopeGiven.model_validate(scope) if scope else ScopeGiven(),
        options=options,
        reason=f"before a fix, capture {len(verification.made_before) + 1}",
    )
    capture = captures.create(session, actor, store, wanted, source="manual")
    capture.incident_id = fix.incident_id
    session.flush()
    for run in session.scalars(select(Run).where(Run.capture_id == capture.id)):
        role = "control" if run.host_id in control else "before"
        session.add(IncidentRun(incident_id=fix.incident_id, run_id=run.id, role=role, fix_id=fix.id))
    verification.made_before = [*verification.made_before, str(capture.id)]


def _for(read: str, actor: Actor, light: list[str]) -> list[str]:
    """The cheapest collector of each kind that the number needs and that is not taken anyway."""
    found = []
    for any_of in primary.collectors_of(read):
        known = [one for one in any_of if one in COLLECTORS and _may(actor, COLLECTORS[one].tier)]
        if known and not set(known) & set(light):
            found.append(min(known, key=lambda one: PRICE[COLLECTORS[one].tier]))
    return found


def _profile(actor: Actor) -> list[str]:
    return [PROFILE] if _may(actor, COLLECTORS[PROFILE].tier) else []


def _may(actor: Actor, tier: Tier) -> bool:
    return tier is not Tier.PTRACE and allowed(actor, f"capture.{tier}")


def _called_off(session: Session, made: list[UUID]) -> bool:
    called_off = select(Capture.id).where(Capture.id.in_(made), Capture.cancel_requested_at.is_not(None))
    return session.scalar(called_off.limit(1)) is not None


def _cancel(session: Session, what: Asked) -> None:
    if locked(session, what.verification, ("before",)):
        what.verification.state, what.verification.ended_at = "cancelled", now()
        tell(session, what, "verification_cancelled")
