"""Letting an incident go on by itself: who started it, up to which tier, and why it stopped."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.playbooks.merge import Next
from culprit.incidents import journal, queries
from culprit.incidents.given import AutopilotStart
from culprit.incidents.load import Loaded
from culprit.incidents.service import RESOURCE
from culprit.infra.broker import announce
from culprit.kit.errors import Conflict, NotFound
from culprit.models import Incident

TASK = "culprit.advance_incident"
#: Nobody wants more captures of sick hosts without having looked at one of them.
MOST = 20


def start(session: Session, actor: Actor, incident_id: UUID, wanted: AutopilotStart) -> Incident:
    """It goes on by itself. Raises NotFound, Forbidden, Conflict."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    policy(actor, f"capture.{wanted.tier}")
    if running(incident):
        raise Conflict("autopilot.runs")
    if incident.state == "resolved":
        raise Conflict("autopilot.resolved")
    incident.autopilot = {
        "state": "running",
        "tier": wanted.tier,
        "by": str(actor.id),
        "capture_id": None,
        "step": None,
        "reason": None,
        "taken": 0,
    }
    journal.enter(session, incident, actor, "autopilot_started", tier=wanted.tier)
    announce(session, TASK, incident.id)
    audit.record(session, actor, "autopilot.start", RESOURCE, incident.id, tier=wanted.tier)
    return incident


def running(incident: Incident) -> bool:
    """Whether it goes on by itself now."""
    return bool(incident.autopilot) and incident.autopilot["state"] == "running"  # type: ignore[index]


def stop(session: Session, actor: Actor, incident_id: UUID) -> Incident:
    """Takes it by hand again; whatever version one saw, stopping is always right. The capture that runs goes on."""
    policy(actor, "incident.edit")
    incident = queries.incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFound("incident.not_found")
    journal.require_covering_scope(session, actor, incident)
    if running(incident):
        halt(session, incident, actor, Sentence("autopilot.by_hand"))
        audit.record(session, actor, "autopilot.stop", RESOURCE, incident.id)
    return incident


def halt(session: Session, incident: Incident, actor: Actor | None, why: Sentence) -> None:
    """It stops, and says why. The incident must be locked."""
    reason = {"key": why.key, "params": dict(why.params)}
    incident.autopilot = {**(incident.autopilot or {}), "state": "stopped", "reason": reason}
    journal.enter(session, incident, actor, "autopilot_stopped", more={"reason": reason})


def tiers_of(most: str) -> list[Tier]:
    """The tiers up to one."""
    return list(Tier)[: list(Tier).index(Tier(most)) + 1]


def choose(loaded: Loaded, asked: Collection[str] = ()) -> Next | Sentence:
    """The next capture within the allowed tier, or why there is none; no step of `asked`, which wait for a word."""
    pilot = loaded.incident.autopilot or {}
    if pilot.get("taken", 0) >= MOST:
        return Sentence("autopilot.enough", {"count": MOST})
    tiers = tiers_of(pilot["tier"])
    by_hand = {
        walked.key(step.id) for walked in loaded.walks for step in walked.playbook.steps if not step.finding
    }
    found = loaded.next(tiers, leave_out=by_hand.union(asked))
    if found is not None and found.proposal.collectors:
        return found
    waiting = loaded.next(leave_out=asked)
    if waiting is None:
        return Sentence("autopilot.nothing_left")
    step = f"{waiting.playbook}/{waiting.proposal.step}"
    if waiting.proposal.collectors:
        return Sentence("autopilot.tier", {"step": step, "tier": str(waiting.proposal.tier)})
    return Sentence("autopilot.person", {"step": step})
