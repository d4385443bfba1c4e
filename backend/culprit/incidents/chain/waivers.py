"""Waive steps, and dismiss or restore playbooks."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.domain.playbooks import refusals
from culprit.incidents.chain.verdicts import get_step_subject
from culprit.incidents.records import journal
from culprit.incidents.records.requests import IncidentPlaybookUpdate, WaiverCreate
from culprit.incidents.records.service import RESOURCE, raise_conflict, raise_invalid
from culprit.incidents.records.snapshot import load_snapshot
from culprit.infra.db.clock import utc_now
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.step_waiver import StepWaiver
from culprit.web.errors import NotFoundError


def waive_steps(session: Session, actor: Actor, incident_id: UUID, waiver_create: WaiverCreate) -> Incident:
    """Waive steps of one playbook with one reason. Raises InvalidRequestError for an unknown step."""
    incident = journal.lock_version(session, actor, incident_id, waiver_create.version)
    names = list(dict.fromkeys(waiver_create.steps))
    for step in names:
        get_step_subject(session, incident, step)
    raise_invalid(refusals.check_waiver(waiver_create.reason, names))
    reason = waiver_create.reason.strip()
    values = {"reason": reason, "by": actor.id, "created_at": utc_now()}
    row = insert(StepWaiver).values([{"incident_id": incident.id, "step": name, **values} for name in names])
    keys = [StepWaiver.incident_id, StepWaiver.step]
    session.execute(row.on_conflict_do_update(index_elements=keys, set_=values))
    reported = {"step": names[0]} if len(names) == 1 else {"steps": ", ".join(names), "count": len(names)}
    kind = "step_waived" if len(names) == 1 else "steps_waived"
    journal.append_entry(session, incident, actor, kind, note=reason, **reported)
    audit.record_action(session, actor, "incident.waive", RESOURCE, incident.id, steps=names, reason=reason)
    return incident


def update_playbook(
    session: Session,
    actor: Actor,
    incident_id: UUID,
    playbook_id: str,
    incident_playbook_update: IncidentPlaybookUpdate,
) -> Incident:
    """Dismiss a playbook with all its open steps, or restore it.

    Raises NotFoundError, ConflictError, InvalidRequestError.
    """
    incident = journal.lock_version(session, actor, incident_id, incident_playbook_update.version)
    snapshot = load_snapshot(session, None, incident)
    row = next((playbook for playbook in snapshot.playbooks if playbook.playbook_id == playbook_id), None)
    if row is None:
        raise NotFoundError("playbook.not_found")
    reason = incident_playbook_update.reason.strip()
    if incident_playbook_update.dismissed:
        mine = [
            hypothesis.state
            for hypothesis in snapshot.hypotheses
            if hypothesis.key.startswith(f"{playbook_id}/")
        ]
        raise_conflict(refusals.check_dismissal(mine))
        raise_invalid(refusals.check_dismissal_reason(reason))
        steps = [gap for gap in snapshot.open_steps if gap.startswith(f"{playbook_id}/")]
        row.dismissed_reason, row.dismissed_by, row.dismissed_at = reason, actor.id, utc_now()
        journal.append_entry(
            session,
            incident,
            actor,
            "playbook_dismissed",
            note=reason,
            playbook=playbook_id,
            count=len(steps),
            steps=", ".join(steps) or "-",
        )
    else:
        row.dismissed_reason, row.dismissed_by, row.dismissed_at = None, None, None
        journal.append_entry(session, incident, actor, "playbook_restored", note=reason, playbook=playbook_id)
    audit.record_action(
        session,
        actor,
        "incident.playbook",
        RESOURCE,
        incident.id,
        playbook=playbook_id,
        dismissed=incident_playbook_update.dismissed,
        reason=reason,
    )
    return incident
