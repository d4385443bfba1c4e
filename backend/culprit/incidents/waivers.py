"""What may stay unanswered, and why: named steps of a playbook, or all that a playbook still asks."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.core.playbooks import refusals
from culprit.incidents import journal
from culprit.incidents.given import PlaybookPatch, WaiverAdd
from culprit.incidents.load import load
from culprit.incidents.service import RESOURCE, conflict, invalid
from culprit.incidents.verdicts import step_about
from culprit.kit.clock import now
from culprit.kit.errors import NotFound
from culprit.models import Incident, StepWaiver


def waive(session: Session, actor: Actor, incident_id: UUID, wanted: WaiverAdd) -> Incident:
    """Steps of one playbook may stay unanswered, for one reason. Raises Invalid for any other step."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    names = list(dict.fromkeys(wanted.steps))
    for step in names:
        step_about(session, incident, step)
    invalid(refusals.waiver(wanted.reason, names))
    reason = wanted.reason.strip()
    values = {"reason": reason, "by": actor.id, "created_at": now()}
    row = insert(StepWaiver).values([{"incident_id": incident.id, "step": one, **values} for one in names])
    keys = [StepWaiver.incident_id, StepWaiver.step]
    session.execute(row.on_conflict_do_update(index_elements=keys, set_=values))
    told = {"step": names[0]} if len(names) == 1 else {"steps": ", ".join(names), "count": len(names)}
    kind = "waiver" if len(names) == 1 else "waivers"
    journal.enter(session, incident, actor, kind, note=reason, **told)
    audit.record(session, actor, "incident.waive", RESOURCE, incident.id, steps=names, reason=reason)
    return incident


def patch_playbook(
    session: Session, actor: Actor, incident_id: UUID, playbook_id: str, wanted: PlaybookPatch
) -> Incident:
    """Sets a playbook aside with all its open steps, or takes it up again. Raises NotFound, Conflict, Invalid."""
    incident = journal.claim(session, actor, incident_id, wanted.version)
    loaded = load(session, None, incident)
    row = next((one for one in loaded.playbooks if one.playbook_id == playbook_id), None)
    if row is None:
        raise NotFound("playbook.not_found")
    reason = wanted.reason.strip()
    if wanted.aside:
        mine = [one.state for one in loaded.hypotheses if one.key.startswith(f"{playbook_id}/")]
        conflict(refusals.aside(mine))
        invalid(refusals.aside_reason(reason))
        # What it asked until now.
        steps = [one for one in loaded.gaps if one.startswith(f"{playbook_id}/")]
        row.aside_reason, row.aside_by, row.aside_at = reason, actor.id, now()
        journal.enter(
            session,
            incident,
            actor,
            "aside",
            note=reason,
            playbook=playbook_id,
            count=len(steps),
            steps=", ".join(steps) or "-",
        )
    else:
        row.aside_reason, row.aside_by, row.aside_at = None, None, None
        journal.enter(session, incident, actor, "taken_up", note=reason, playbook=playbook_id)
    audit.record(
        session,
        actor,
        "incident.aside",
        RESOURCE,
        incident.id,
        playbook=playbook_id,
        aside=wanted.aside,
        reason=reason,
    )
    return incident
