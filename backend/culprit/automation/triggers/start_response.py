"""Start the response to an alert: the incident, the capture with healthy peers, and the diagnosis."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.analysis.diagnoses import service as diagnoses
from culprit.analysis.diagnoses.schemas import DiagnosisCreate
from culprit.automation.diagnosis_stages import enqueue_followups, start_first_stage
from culprit.automation.triggers import queries
from culprit.automation.triggers.plan_response import ResponsePlan, plan_response
from culprit.automation.triggers.schemas import AlertState, TriggerOptions
from culprit.domain.alerts.contract import IncomingAlert
from culprit.incidents.records import journal
from culprit.incidents.records import service as incidents
from culprit.incidents.records.requests import IncidentCreate, IncidentHostRequest, Symptom
from culprit.infra.db.clock import to_ns
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost

SOURCE = "trigger"
#: Earliest start of an incident regardless of the time that a sender reports.
MAX_ALERT_AGE = timedelta(hours=24)


def respond_to_alert(session: Session, trigger: Trigger, alert: IncomingAlert, at: datetime) -> AlertState:
    """Respond to one firing alert. The caller holds the lock that serializes decisions."""
    options = TriggerOptions.model_validate(trigger.options)
    since = at - timedelta(seconds=options.cooldown_s)
    known = queries.find_latest_alert(session, trigger.id, alert.fingerprint, since)
    if known is not None and known.trigger_response_id is not None and known.created_at > since:
        _count_repeat(session, known, at)
        return "joined"
    decision = plan_response(session, trigger, alert, at)
    if known is not None and known.trigger_response_id is None and decision.state == known.state:
        _count_repeat(session, known, at)
        return decision.state
    return _apply_plan(session, trigger, alert, decision, at)


def _count_repeat(session: Session, known: Alert, at: datetime) -> None:
    """Count a repetition with one UPDATE, so that an alert storm loads and writes only one row."""
    session.execute(
        update(Alert)
        .where(Alert.id == known.id)
        .values(count=Alert.count + 1, last_at=at)
        .execution_options(synchronize_session=False)
    )


def _apply_plan(
    session: Session, trigger: Trigger, alert: IncomingAlert, decision: ResponsePlan, at: datetime
) -> AlertState:
    host, owner = decision.place.host, decision.owner
    incident: Incident | None = None
    firing, state, reason = decision.firing, decision.state, decision.reason
    if host is not None and owner is not None and state != "refused":
        incident = _find_or_open_incident(session, trigger, alert, decision, at)
        if state == "started":
            firing = _start_diagnosis(session, owner, trigger, alert, decision, incident)
    row = Alert(
        trigger_id=trigger.id,
        fingerprint=alert.fingerprint,
        cause=alert.cause,
        group=alert.group,
        title=alert.title,
        summary=alert.summary,
        labels=dict(alert.labels),
        began_at=alert.began_at,
        state=state,
        reason={"key": reason.key, "params": dict(reason.params)} if reason else None,
        host_id=host.id if host else None,
        service=decision.place.service,
        trigger_response_id=firing.id if firing else None,
        incident_id=incident.id if incident else None,
        created_at=at,
        last_at=at,
    )
    session.add(row)
    session.flush()
    return state


def _find_or_open_incident(
    session: Session, trigger: Trigger, alert: IncomingAlert, decision: ResponsePlan, at: datetime
) -> Incident:
    """Return the open incident for the alert, or create one."""
    host, owner = decision.place.host, decision.owner
    assert host is not None and owner is not None
    options = TriggerOptions.model_validate(trigger.options)
    result = queries.lock_open_incident(
        session,
        host_id=host.id,
        service=decision.place.service,
        group=(trigger.id, alert.group),
        since=at - timedelta(seconds=options.cooldown_s),
    )
    reported: dict[str, Any] = {"trigger": trigger.name, "alert": alert.title, "host": host.name}
    if result is not None:
        if session.get(IncidentHost, (result.id, host.id)) is None:
            session.add(IncidentHost(incident_id=result.id, host_id=host.id, role="suspect"))
        if queries.is_new_alert(session, result.id, host.id, alert.cause):
            journal.append_entry(session, result, None, "alert_joined", **reported)
            _add_timeline_event(session, host, reported, at)
        return result
    began = alert.began_at if alert.began_at and at - MAX_ALERT_AGE < alert.began_at <= at else at
    about = decision.place.service or host.name
    incident_create = IncidentCreate(
        title=f"{about}: {alert.title}"[:300].strip() or about,
        symptom=Symptom(service=decision.place.service[:300], description=alert.summary, since=began),
        severity=options.severity,
        window_from=began,
        hosts=[IncidentHostRequest(host_id=host.id)],
    )
    incident = incidents.create_incident(session, owner, incident_create)
    journal.append_entry(session, incident, None, "alert_opened", **reported)
    _add_timeline_event(session, host, reported, at)
    return incident


def _add_timeline_event(session: Session, host: Host, reported: dict[str, Any], at: datetime) -> None:
    """Add an event with the arrival time of the alert, by the platform's clock, to the host's timeline."""
    title = {"key": "event.alert", "params": {"trigger": reported["trigger"], "alert": reported["alert"]}}
    session.add(StoredEvent(host_id=host.id, t_ns=to_ns(at), kind="alert", severity="warn", title=title))


def _start_diagnosis(  # noqa: PLR0917
    session: Session,
    owner: Actor,
    trigger: Trigger,
    alert: IncomingAlert,
    decision: ResponsePlan,
    incident: Incident,
) -> TriggerResponseRecord:
    """Create the diagnosis; its first stage with host and peers is queued in this transaction."""
    host = decision.place.host
    assert host is not None
    options = TriggerOptions.model_validate(trigger.options)
    diagnosis_create = DiagnosisCreate(
        host_id=host.id,
        seconds=options.seconds,
        peer_ids=[peer.id for peer in decision.peers],
        reason=f"{trigger.name}: {alert.title}"[:500],
    )
    diagnosis = diagnoses.create_diagnosis(session, owner, diagnosis_create, source=SOURCE)
    diagnosis.incident_id = incident.id
    start_first_stage(session, diagnosis)
    enqueue_followups(session, diagnosis)
    firing = TriggerResponseRecord(
        trigger_id=trigger.id,
        host_id=host.id,
        cause=alert.cause,
        service=decision.place.service,
        peers=[str(peer.id) for peer in decision.peers],
        incident_id=incident.id,
        diagnosis_id=diagnosis.id,
    )
    session.add(firing)
    _add_control_hosts(session, incident, decision.peers)
    session.flush()
    audit.record_action(
        session,
        owner,
        "trigger.fired",
        "trigger",
        trigger.id,
        trigger=trigger.name,
        alert=alert.title,
        host=host.name,
        peers=[peer.name for peer in decision.peers],
        incident=incident.number,
        diagnosis=diagnosis.number,
    )
    return firing


def _add_control_hosts(session: Session, incident: Incident, peers: list[Host]) -> None:
    """Add the healthy peers to the incident as control hosts."""
    for peer in peers:
        if session.get(IncidentHost, (incident.id, peer.id)) is None:
            session.add(IncidentHost(incident_id=incident.id, host_id=peer.id, role="control"))
