"""Conditional captures of an incident: their captures become evidence, recorded in its journal."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from collectors.runner.watcher import WatcherCondition
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.automation.watchers import locks, queries
from culprit.incidents.records import journal
from culprit.incidents.records import queries as incidents
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError


def link_to_incident(session: Session, actor: Actor, watcher: Watcher, incident_id: UUID) -> None:
    """Make the captures of a watcher evidence of an incident and record it in the journal.

    The incident is locked after the watcher, in the same order as when a capture starts.

    Raises:
        NotFoundError: The incident is not visible.
        InvalidRequestError: The incident does not include the host.
        ConflictError: The incident is resolved.
    """
    authorize(actor, "incident.edit")
    incident = incidents.find_incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFoundError("incident.not_found")
    journal.require_covering_scope(session, actor, incident)
    if not queries.is_incident_host(session, incident.id, watcher.host_id):
        raise InvalidRequestError("incident.no_host")
    if incident.state == "resolved":
        raise ConflictError("watcher.incident_resolved", number=incident.number)
    watcher.incident_id = incident.id
    what = " or ".join(
        describe_kind(WatcherCondition.from_json(condition)) for condition in watcher.conditions
    )
    host = session.get_one(Host, watcher.host_id)
    journal.append_entry(
        session, incident, actor, "watcher_created", host=host.name, host_id=str(host.id), what=what
    )


def attach_capture(session: Session, watcher: Watcher, capture: Capture, condition: WatcherCondition) -> bool:
    """Add the runs of a started capture to the incident, if it is open and still includes the host."""
    incident = locks.lock_incident(session, watcher.incident_id)
    if incident is None or incident.state == "resolved":
        return False
    if not queries.is_incident_host(session, incident.id, watcher.host_id):
        return False
    capture.incident_id = incident.id
    session.flush()
    for run_id in queries.list_run_ids(session, capture.id):
        session.add(IncidentRun(incident_id=incident.id, run_id=run_id, role="evidence"))
    journal.append_entry(
        session,
        incident,
        None,
        "watcher_captured",
        host=watcher.host.name,
        host_id=str(watcher.host_id),
        capture=capture.number,
        what=describe_kind(condition),
    )
    return True


def describe_kind(condition: WatcherCondition) -> str:
    """Return the kind and key of a condition, without its limit, as typed on the command line."""
    return f"{condition.kind} {condition.key}".strip()
