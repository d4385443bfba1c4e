"""The job that adds the runs and causes of an ended diagnosis to the incident that it was started for, once."""

from __future__ import annotations

from uuid import UUID

from culprit.accounts.actor import find_actor
from culprit.incidents.chain import autopilot
from culprit.incidents.chain import record_diagnosis as chain
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.incidents.queries import lock_incident, pending_incident_diagnoses
from culprit.jobs.job import Job


def record_diagnosis(diagnosis_id: UUID) -> bool:
    """Return whether the incident was changed. A resolved incident stays as it is."""
    with unit_of_work(get_database().sessions) as session:
        diagnosis = session.get(Diagnosis, diagnosis_id)
        if diagnosis is None or diagnosis.incident_id is None:
            return False
        # The lock of the incident ensures that a second job sees what the first has stored.
        incident = lock_incident(session, diagnosis.incident_id)
        session.refresh(diagnosis)
        if incident is None or diagnosis.state == "running" or diagnosis.recorded_at is not None:
            return False
        diagnosis.recorded_at = utc_now()
        if autopilot.is_running(incident):
            enqueue_after_commit(session, autopilot.TASK, incident.id)
        actor = find_actor(session, diagnosis.requested_by)
        if incident.state == "resolved" or actor is None:
            return False
        chain.record_diagnosis(session, actor, incident, diagnosis)
        return True


JOB = Job("culprit.record_diagnosis", "parse", record_diagnosis, pending_incident_diagnoses)
