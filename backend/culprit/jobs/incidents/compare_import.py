"""Compare an imported incident with the verdicts of its bundle: the task `culprit.compare_import`."""

from __future__ import annotations

from uuid import UUID

from culprit.evidence.readiness_queries import is_evaluation_pending
from culprit.incidents.records import journal
from culprit.incidents.records import queries as incidents
from culprit.incidents.records.snapshot import load_snapshot
from culprit.incidents.transfer import queries, verdicts
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.jobs.incidents.queries import lock_incident, pending_comparisons
from culprit.jobs.job import Job


def compare_import(incident_id: UUID) -> bool:
    """Compare once all runs are evaluated, and append a journal entry. Return False if pending or already compared."""
    with unit_of_work(get_database().sessions) as session:
        incident = lock_incident(session, incident_id)
        origin = incidents.find_origin(session, incident_id)
        if incident is None or origin is None or origin.compared is not None:
            return False
        snapshot = load_snapshot(session, None, incident)
        run_ids = [run.run_id for run in snapshot.runs]
        if queries.has_unevaluated_runs(session, incident_id) or any(
            is_evaluation_pending(session, run_id) for run_id in run_ids
        ):
            return False
        local = list(verdicts.list_verdicts(snapshot, verdicts.load_rule_verdicts(session, run_ids)))
        origin.compared = verdicts.compare_verdicts(origin.expected, local)
        counts = [origin.compared[kind] for kind in ("rule", "step", "hypothesis")]
        journal.append_entry(
            session,
            incident,
            None,
            "import_compared",
            equal=sum(count["equal"] for count in counts),
            total=sum(count["total"] for count in counts),
        )
        return True


JOB = Job("culprit.compare_import", "parse", compare_import, pending_comparisons)
