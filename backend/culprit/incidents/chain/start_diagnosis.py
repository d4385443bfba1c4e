"""Start a diagnosis of a host for an incident."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.analysis.diagnoses import service as diagnoses
from culprit.analysis.diagnoses.schemas import DEFAULT_SECONDS, DiagnosisCreate, DiagnosisTier
from culprit.incidents.records import journal, queries
from culprit.incidents.records.requests import IncidentDiagnosisCreate
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError


def start_diagnosis(
    session: Session, actor: Actor, incident_id: UUID, body: IncidentDiagnosisCreate
) -> tuple[Incident, UUID]:
    """Start a diagnosis of a host of the incident, within its scope there. Its causes become hypotheses at its end.

    It needs no version: it changes nothing that another user may have changed.

    Raises:
        NotFoundError, ForbiddenError: The actor cannot see or change the incident, or cannot capture the host.
        ConflictError: The incident is resolved.
        InvalidRequestError: The host is not one of the incident.
    """
    authorize(actor, "incident.edit")
    incident = queries.find_incident(session, actor, incident_id, lock=True)
    if incident is None:
        raise NotFoundError("incident.not_found")
    journal.require_covering_scope(session, actor, incident)
    if incident.state == "resolved":
        raise ConflictError("incident.diagnosis_resolved")
    diagnosis = diagnose_host(session, actor, incident, body.host_id, seconds=body.seconds)
    return incident, diagnosis.id


def diagnose_host(
    session: Session,
    actor: Actor,
    incident: Incident,
    host_id: UUID,
    *,
    seconds: int = DEFAULT_SECONDS,
    max_tier: DiagnosisTier = "deep",
) -> Diagnosis:
    """Create the diagnosis of a host of an incident, which is locked. Raises as `start_diagnosis`."""
    link = session.get(IncidentHost, (incident.id, host_id))
    if link is None:
        raise InvalidRequestError("incident.no_host")
    create = DiagnosisCreate(
        host_id=host_id,
        scope=link.scope or None,
        seconds=seconds,
        max_tier=max_tier,
        reason=f"#{incident.number} {incident.title}"[:500],
    )
    diagnosis = diagnoses.create_diagnosis(session, actor, create)
    diagnosis.incident_id = incident.id
    host = session.get_one(Host, host_id)
    journal.append_entry(
        session, incident, actor, "diagnosis_started", number=diagnosis.number, host=host.name
    )
    return diagnosis
