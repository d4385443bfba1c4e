"""Enter the verdicts of rules about a run in the journals of incidents: the task `culprit.record_findings`.

Each verdict enters once. A run that is evaluated again adds only changed verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import Session

from culprit.incidents.records import journal
from culprit.incidents.records.snapshot import IncidentSnapshot, load_snapshot
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident_origin import IncidentOrigin
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.incidents.queries import (
    list_incident_ids,
    list_run_entries,
    lock_incident,
    pending_journal_runs,
)
from culprit.jobs.job import Job

KIND = "steps_answered"
#: Number of answers in the message of an entry; its parameters have all of them.
MAX_NAMED = 6


def record_findings(run_id: UUID) -> int:
    """Update the journal of every incident with this run. Return how many have new verdicts."""
    with unit_of_work(get_database().sessions) as session:
        incident_ids = list_incident_ids(session, run_id)
    count = 0
    for incident_id in incident_ids:
        with unit_of_work(get_database().sessions) as session:
            count += _append_verdicts(session, incident_id, run_id)
    return count


def _append_verdicts(session: Session, incident_id: UUID, run_id: UUID) -> bool:
    incident = lock_incident(session, incident_id)
    if incident is None or session.get(Evaluation, run_id) is None:
        return False
    snapshot = load_snapshot(session, None, incident)
    link = next((run for run in snapshot.runs if run.run_id == run_id), None)
    if link is None:
        return False
    verdicts = dict(_list_verdicts(snapshot, run_id)) if link.role == "evidence" else {}
    before = _load_recorded_verdicts(session, incident_id, run_id)
    new = {step: verdict for step, verdict in verdicts.items() if before.get(step) != verdict}
    session.execute(
        update(IncidentRun)
        .where(IncidentRun.incident_id == incident_id, IncidentRun.run_id == run_id)
        .values(recorded_at=utc_now())
        .execution_options(synchronize_session=False)
    )
    if new:
        host = session.get_one(Host, link.host_id)
        journal.append_entry(
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
        journal.publish_change(session, incident_id)
    if (origin := session.get(IncidentOrigin, incident_id)) is not None and origin.compared is None:
        enqueue_after_commit(session, "culprit.compare_import", incident_id)
    if incident.autopilot and incident.autopilot["state"] == "running":
        enqueue_after_commit(session, "culprit.advance_autopilot", incident_id)
    return bool(new)


def _list_verdicts(snapshot: IncidentSnapshot, run_id: UUID) -> Iterator[tuple[str, str]]:
    """Yield the verdicts of rules on this run, by step."""
    for walked in snapshot.playbook_walks:
        for name, hosts in walked.hosts.items():
            for host in hosts:
                if host.run == str(run_id) and host.rule.verdict != "not_collected":
                    yield walked.key(name), host.rule.verdict


def _load_recorded_verdicts(session: Session, incident_id: UUID, run_id: UUID) -> dict[str, str]:
    """Return the last verdict of each step that the journal has for this run."""
    return {
        answer["step"]: answer["verdict"]
        for entry in list_run_entries(session, incident_id, KIND, run_id)
        for answer in entry.params["answers"]
    }


JOB = Job("culprit.record_findings", "parse", record_findings, pending_journal_runs)
