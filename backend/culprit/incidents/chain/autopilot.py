"""Start and stop the autopilot of an incident, and select its next capture."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.playbooks.merge import NextStep
from culprit.incidents.records import journal, queries
from culprit.incidents.records.requests import AutopilotStartRequest
from culprit.incidents.records.service import RESOURCE
from culprit.incidents.records.snapshot import IncidentSnapshot
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import ConflictError, NotFoundError

TASK = "culprit.advance_autopilot"
#: A user reviews the results before more captures of unhealthy hosts.
MAX_CAPTURES = 20


def start_autopilot(
    session: Session, actor: Actor, incident_id: UUID, autopilot_start_request: AutopilotStartRequest
) -> Incident:
    """Start the autopilot. Raises NotFoundError, ForbiddenError, ConflictError."""
    incident = journal.lock_version(session, actor, incident_id, autopilot_start_request.version)
    authorize(actor, f"capture.{autopilot_start_request.tier}")
    if is_running(incident):
        raise ConflictError("autopilot.runs")
    if incident.state == "resolved":
        raise ConflictError("autopilot.resolved")
    incident.autopilot = {
        "state": "running",
        "tier": autopilot_start_request.tier,
        "by": str(actor.id),
        "capture_id": None,
        "step": None,
        "reason": None,
        "capture_count": 0,
    }
    journal.append_entry(session, incident, actor, "autopilot_started", tier=autopilot_start_request.tier)
    enqueue_after_commit(session, TASK, incident.id)
    audit.record_action(
        session, actor, "autopilot.start", RESOURCE, incident.id, tier=autopilot_start_request.tier
    )
    return incident


def is_running(incident: Incident) -> bool:
    """Return whether the autopilot is running."""
    return bool(incident.autopilot) and incident.autopilot["state"] == "running"  # type: ignore[index]


def stop_autopilot(session: Session, actor: Actor, incident_id: UUID) -> Incident:
    """Stop the autopilot without a version check. A running capture continues."""
    authorize(actor, "incident.edit")
    incident = queries.find_incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFoundError("incident.not_found")
    journal.require_covering_scope(session, actor, incident)
    if is_running(incident):
        stop_with_reason(session, incident, actor, Sentence("autopilot.by_hand"))
        audit.record_action(session, actor, "autopilot.stop", RESOURCE, incident.id)
    return incident


def stop_with_reason(session: Session, incident: Incident, actor: Actor | None, why: Sentence) -> None:
    """Stop the autopilot and record the reason. The incident must be locked."""
    reason = {"key": why.key, "params": dict(why.params)}
    incident.autopilot = {**(incident.autopilot or {}), "state": "stopped", "reason": reason}
    journal.append_entry(session, incident, actor, "autopilot_stopped", more={"reason": reason})


def list_tiers_up_to(most: str) -> list[Tier]:
    """Return the tiers up to and including `most`."""
    return list(Tier)[: list(Tier).index(Tier(most)) + 1]


def select_next_step(snapshot: IncidentSnapshot, requested: Collection[str] = ()) -> NextStep | Sentence:
    """Return the next capture within the allowed tier, or why there is none; skip steps with a missing option."""
    pilot = snapshot.incident.autopilot or {}
    if pilot.get("capture_count", 0) >= MAX_CAPTURES:
        return Sentence("autopilot.enough", {"count": MAX_CAPTURES})
    tiers = list_tiers_up_to(pilot["tier"])
    by_hand = {
        walked.key(step.id)
        for walked in snapshot.playbook_walks
        for step in walked.playbook.steps
        if not step.finding
    }
    result = snapshot.propose_next_step(tiers, leave_out=by_hand.union(requested))
    if result is not None and result.proposal.collectors:
        return result
    waiting = snapshot.propose_next_step(leave_out=requested)
    if waiting is None:
        return Sentence("autopilot.nothing_left")
    step = f"{waiting.playbook}/{waiting.proposal.step}"
    if waiting.proposal.collectors:
        return Sentence("autopilot.tier", {"step": step, "tier": str(waiting.proposal.tier)})
    return Sentence("autopilot.person", {"step": step})
