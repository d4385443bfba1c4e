"""Enters in the journals of incidents what the rules said about a run: the task `culprit.tell_incidents`.

Each answer enters once: a run that is evaluated again tells only what it says otherwise than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from culprit.incidents import journal
from culprit.incidents.load import Loaded, load
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Evaluation, Host, Incident, IncidentOrigin, IncidentRun, JournalEntry

KIND = "answered"
#: So many answers are named in a sentence; all of them are kept beside it.
MAX_NAMED = 6


def tell_incidents(run_id: UUID) -> int:
    """Tell every incident that looks at a run. Returns how many had something new."""
    query = select(IncidentRun.incident_id).where(IncidentRun.run_id == run_id)
    with unit_of_work(database().sessions) as session:
        incident_ids = session.scalars(query.order_by(IncidentRun.incident_id)).all()
    told = 0
    for incident_id in incident_ids:
        with unit_of_work(database().sessions) as session:
            told += _tell(session, incident_id, run_id)
    return told


def _tell(session: Session, incident_id: UUID, run_id: UUID) -> bool:
    incident = session.scalar(
        select(Incident).where(Incident.id == incident_id).with_for_update(of=Incident, key_share=True)
    )
    if incident is None or session.get(Evaluation, run_id) is None:
        return False
    loaded = load(session, None, incident)
    link = next((one for one in loaded.runs if one.run_id == run_id), None)
    if link is None:
        return False
    said = dict(_said(loaded, run_id)) if link.role == "evidence" else {}
    before = _before(session, incident_id, run_id)
    new = {step: verdict for step, verdict in said.items() if before.get(step) != verdict}
    session.execute(
        update(IncidentRun)
        .where(IncidentRun.incident_id == incident_id, IncidentRun.run_id == run_id)
        .values(told_at=now())
        .execution_options(synchronize_session=False)
    )
    if new:
        host = session.get_one(Host, link.host_id)
        journal.enter(
            session,
            incident,
            None,
            KIND,
            run_id=str(run_id),
            number=link.number,
            host=host.name,
            host_id=str(host.id),
            count=len(new),
            steps="; ".join(f"{step}: {verdict}" for step, verdict in list(new.items())[:MAX_NAMED]),
            more={"answers": [{"step": step, "verdict": verdict} for step, verdict in new.items()]},
        )
    else:
        journal.ring(session, incident_id)
    if (origin := session.get(IncidentOrigin, incident_id)) is not None and origin.compared is None:
        announce(session, "culprit.compare_carried", incident_id)
    if incident.autopilot and incident.autopilot["state"] == "running":
        announce(session, "culprit.advance_incident", incident_id)
    return bool(new)


def _said(loaded: Loaded, run_id: UUID) -> Iterator[tuple[str, str]]:
    """What the rules answer on this run, by step."""
    for walked in loaded.walks:
        for name, hosts in walked.hosts.items():
            for one in hosts:
                if one.run == str(run_id) and one.rule.verdict != "not_collected":
                    yield walked.key(name), one.rule.verdict


def _before(session: Session, incident_id: UUID, run_id: UUID) -> dict[str, str]:
    """What the journal has of this run, the newest of each step."""
    query = select(JournalEntry).where(
        JournalEntry.incident_id == incident_id,
        JournalEntry.kind == KIND,
        JournalEntry.params["run_id"].astext == str(run_id),
    )
    return {
        one["step"]: one["verdict"]
        for entry in session.scalars(query.order_by(JournalEntry.version))
        for one in entry.params["answers"]
    }
