"""The job that evaluates all rules on a run.

It may run twice and again later, replacing the earlier findings. A run is evaluated when it was parsed, again
when its profiles are built, and again when the Prometheus of its service has answered. Until then, the rules
that need them are not evaluated.
"""

from __future__ import annotations

import time
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.analysis.findings.evaluation import evaluate_view
from culprit.analysis.findings.queries import resolve_overrides
from culprit.domain.rules import json_form
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.ranking.rank import Ranking
from culprit.evidence.readiness_queries import (
    BEFORE_PROFILES,
    PARSED_STATES,
    is_evaluation_pending,
)
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.run import Run
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.analysis.queries import (
    find_diagnosis_id,
    has_pending_profiles,
    is_evaluated_before_removal,
    is_incident_run,
    list_verification_ids,
    lock_run,
    pending_evaluations,
)
from culprit.jobs.job import Job


def evaluate_run(run_id: UUID) -> int | None:
    """Evaluate one run. Return the number of matches, or None if there is nothing to evaluate."""
    with unit_of_work(get_database().sessions) as session:
        run = lock_run(session, run_id)
        if run is None or run.state not in PARSED_STATES:
            return None
        if is_evaluated_before_removal(session, run.id):
            return None
        early = has_pending_profiles(session, run.id)
        began = time.perf_counter()
        view = load_view(session, artifact_store(), [run.id])
        labels = run.host.labels if run.host else {}
        findings, ranking = evaluate_view(view, resolve_overrides(session, run.host_id, labels))
        elapsed_ms = (time.perf_counter() - began) * 1e3
        matched = _store_evaluation(session, run, findings, ranking, elapsed_ms, early=early)
        if not is_evaluation_pending(session, run.id):
            _enqueue_dependents(session, run)
        return matched


def _store_evaluation(
    session: Session, run: Run, result: list[Finding], ranking: Ranking, elapsed_ms: float, *, early: bool
) -> int:
    session.execute(delete(StoredFinding).where(StoredFinding.run_id == run.id))
    matched = 0
    for item in result:
        if item.state in ("matched", "inconclusive"):
            matched += item.state == "matched"
            session.add(StoredFinding(run_id=run.id, host_id=run.host_id, **json_form.finding_to_json(item)))
    values = {
        "at": utc_now(),
        "elapsed_ms": elapsed_ms,
        "not_matched": [json_form.finding_to_json(item) for item in result if item.state == "not_matched"],
        "not_evaluated": [
            json_form.finding_to_json(item) for item in result if item.state == "not_evaluated"
        ],
        "ranking": {
            **json_form.ranking_to_json(ranking, result),
            **({BEFORE_PROFILES: True} if early else {}),
        },
    }
    row = insert(Evaluation).values(run_id=run.id, **values)
    session.execute(row.on_conflict_do_update(index_elements=[Evaluation.run_id], set_=values))
    return matched


def _enqueue_dependents(session: Session, run: Run) -> None:
    """Advance the diagnosis, the verification and the incidents that use this run."""
    diagnosis_id = find_diagnosis_id(session, run.capture_id)
    if diagnosis_id is not None:
        enqueue_after_commit(session, "culprit.advance_diagnosis", diagnosis_id)
    if is_incident_run(session, run.id):
        enqueue_after_commit(session, "culprit.record_findings", run.id)
        for verification_id in list_verification_ids(session, run.capture_id):
            enqueue_after_commit(session, "culprit.advance_verification", verification_id)


JOB = Job("culprit.evaluate_run", "parse", evaluate_run, pending_evaluations)
