"""Carrying out what was decided: the incident, its capture with healthy peers, and the diagnosis of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.core.alerts.contract import Incoming
from culprit.diagnoses import service as diagnoses
from culprit.diagnoses.schemas import DiagnosisCreate
from culprit.incidents import journal
from culprit.incidents import service as incidents
from culprit.incidents.given import HostGiven, IncidentCreate, Symptom
from culprit.infra.broker import announce
from culprit.kit.clock import to_ns
from culprit.models import Alert, Event, Firing, Host, Incident, IncidentHost, Trigger
from culprit.triggers import queries
from culprit.triggers.decide import Decision, decide
from culprit.triggers.schemas import AlertState, Options
from culprit.workflows.diagnose import begin

SOURCE = "trigger"
TELL = "culprit.tell_firing"
#: An incident does not begin before this, whatever a sender says.
OLDEST = timedelta(hours=24)


def take(session: Session, trigger: Trigger, alert: Incoming, at: datetime) -> AlertState:
    """One firing alert, to its end. The caller holds the lock under which alerts are decided one after another."""
    options = Options.model_validate(trigger.options)
    since = at - timedelta(seconds=options.cooldown_s)
    known = queries.latest(session, trigger.id, alert.fingerprint, since)
    if known is not None and known.firing_id is not None and known.created_at > since:
        _again(session, known, at)
        return "joined"
    decision = decide(session, trigger, alert, at)
    if known is not None and known.firing_id is None and decision.state == known.state:
        _again(session, known, at)
        return decision.state
    return _carry_out(session, trigger, alert, decision, at)


def _again(session: Session, known: Alert, at: datetime) -> None:
    """It was sent once more: counted, and nothing else. By an UPDATE, so that a storm writes one row and loads none."""
    session.execute(
        update(Alert)
        .where(Alert.id == known.id)
        .values(count=Alert.count + 1, last_at=at)
        .execution_options(synchronize_session=False)
    )


def _carry_out(
    session: Session, trigger: Trigger, alert: Incoming, decision: Decision, at: datetime
) -> AlertState:
    host, owner = decision.place.host, decision.owner
    incident: Incident | None = None
    firing, state, reason = decision.firing, decision.state, decision.reason
    if host is not None and owner is not None and state != "refused":
        incident = _incident(session, trigger, alert, decision, at)
        if state == "fired":
            firing = _fire(session, owner, trigger, alert, decision, incident)
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
        firing_id=firing.id if firing else None,
        incident_id=incident.id if incident else None,
        created_at=at,
        last_at=at,
    )
    session.add(row)
    session.flush()
    return state


def _incident(
    session: Session, trigger: Trigger, alert: Incoming, decision: Decision, at: datetime
) -> Incident:
    """The incident that it belongs to, opened where there is none."""
    host, owner = decision.place.host, decision.owner
    assert host is not None and owner is not None
    options = Options.model_validate(trigger.options)
    found = queries.open_incident(
        session,
        host_id=host.id,
        service=decision.place.service,
        group=(trigger.id, alert.group),
        since=at - timedelta(seconds=options.cooldown_s),
    )
    told: dict[str, Any] = {"trigger": trigger.name, "alert": alert.title, "host": host.name}
    if found is not None:
        if session.get(IncidentHost, (found.id, host.id)) is None:
            session.add(IncidentHost(incident_id=found.id, host_id=host.id, role="suspect"))
        if queries.news(session, found.id, host.id, alert.cause):
            journal.enter(session, found, None, "alert_joined", **told)
            _mark(session, host, told, at)
        return found
    began = alert.began_at if alert.began_at and at - OLDEST < alert.began_at <= at else at
    about = decision.place.service or host.name
    wanted = IncidentCreate(
        title=f"{about}: {alert.title}"[:300].strip() or about,
        symptom=Symptom(service=decision.place.service[:300], says=alert.summary, since=began),
        severity=options.severity,
        window_from=began,
        hosts=[HostGiven(host_id=host.id)],
    )
    incident = incidents.create(session, owner, wanted)
    journal.enter(session, incident, None, "alert_opened", **told)
    _mark(session, host, told, at)
    return incident


def _mark(session: Session, host: Host, told: dict[str, Any], at: datetime) -> None:
    """On the timeline of the host: when the alert came, by our clock."""
    title = {"key": "event.alert", "params": {"trigger": told["trigger"], "alert": told["alert"]}}
    session.add(Event(host_id=host.id, t_ns=to_ns(at), kind="alert", severity="warn", title=title))


def _fire(  # noqa: PLR0917
    session: Session,
    owner: Actor,
    trigger: Trigger,
    alert: Incoming,
    decision: Decision,
    incident: Incident,
) -> Firing:
    """The capture of the host and its peers begins: its first stage is queued within this transaction."""
    host = decision.place.host
    assert host is not None
    options = Options.model_validate(trigger.options)
    wanted = DiagnosisCreate(
        host_id=host.id,
        seconds=options.seconds,
        twin_ids=[one.id for one in decision.peers],
        reason=f"{trigger.name}: {alert.title}"[:500],
    )
    diagnosis = diagnoses.create(session, owner, wanted, source=SOURCE)
    begin(session, diagnosis)
    if diagnosis.state != "running":
        announce(session, TELL, diagnosis.id)
    firing = Firing(
        trigger_id=trigger.id,
        host_id=host.id,
        cause=alert.cause,
        service=decision.place.service,
        peers=[str(one.id) for one in decision.peers],
        incident_id=incident.id,
        diagnosis_id=diagnosis.id,
    )
    session.add(firing)
    _controls(session, incident, decision.peers)
    session.flush()
    audit.record(
        session,
        owner,
        "trigger.fired",
        "trigger",
        trigger.id,
        trigger=trigger.name,
        alert=alert.title,
        host=host.name,
        peers=[one.name for one in decision.peers],
        incident=incident.number,
        diagnosis=diagnosis.number,
    )
    return firing


def _controls(session: Session, incident: Incident, peers: list[Host]) -> None:
    """Healthy peers stand in the incident as what they are."""
    for one in peers:
        if session.get(IncidentHost, (incident.id, one.id)) is None:
            session.add(IncidentHost(incident_id=incident.id, host_id=one.id, role="control"))
