"""Captures that are armed for an incident: what they capture is evidence there, and its journal tells of both."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.standby import Condition
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.incidents import journal
from culprit.incidents import queries as incidents
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.models import Capture, Host, Incident, IncidentRun, Run, Standby
from culprit.standbys import queries


def arm_for(session: Session, actor: Actor, one: Standby, incident_id: UUID) -> None:
    """What it captures is for this incident, whose journal says what is waited for. Raises NotFound, Invalid, Conflict.

    An incident is locked after what waits for it, as it is when that fires.
    """
    policy(actor, "incident.edit")
    incident = incidents.incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFound("incident.not_found")
    journal.require_covering_scope(session, actor, incident)
    if not queries.concerns(session, incident.id, one.host_id):
        raise Invalid("incident.no_host")
    if incident.state == "resolved":
        raise Conflict("standby.incident_resolved", number=incident.number)
    one.incident_id = incident.id
    what = " or ".join(named(Condition.from_json(each)) for each in one.conditions)
    host = session.get_one(Host, one.host_id)
    journal.enter(session, incident, actor, "armed", host=host.name, host_id=str(host.id), what=what)


def land(session: Session, one: Standby, capture: Capture, condition: Condition) -> bool:
    """A capture that one has started becomes evidence of its incident, where that is open and still about the host."""
    query = select(Incident).where(Incident.id == one.incident_id)
    incident = session.scalar(query.with_for_update(of=Incident, key_share=True))
    if incident is None or incident.state == "resolved":
        return False
    if not queries.concerns(session, incident.id, one.host_id):
        return False
    capture.incident_id = incident.id
    session.flush()
    for run_id in session.scalars(select(Run.id).where(Run.capture_id == capture.id)):
        session.add(IncidentRun(incident_id=incident.id, run_id=run_id, role="evidence"))
    journal.enter(
        session,
        incident,
        None,
        "armed_fired",
        host=one.host.name,
        host_id=str(one.host_id),
        capture=capture.number,
        what=named(condition),
    )
    return True


def named(condition: Condition) -> str:
    """A condition in the words of the command line, without its limit."""
    return f"{condition.kind} {condition.key}".strip()
