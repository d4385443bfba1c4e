"""An evaluation whose worker is killed is repeated, and one that goes on gets no second message."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.run import Run
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.analysis.queries import lock_run, pending_evaluations
from culprit.tests.jobs.analysis.test_evaluate_run import RULE, overflowing
from culprit.tests.support.crash_points import EVALUATION_POINTS, MARK
from culprit.tests.support.product_process import CRASH_AT
from sqlalchemy import func, select, update

SIGKILLED = -9


@pytest.fixture
def parsed_run(db, config):
    """A run that was parsed a while ago, and whose message was lost."""
    run_id = overflowing(db, 50).run_id
    with unit_of_work(db.sessions) as session:
        earlier = func.now() - timedelta(minutes=1)
        session.execute(update(Run).where(Run.id == run_id).values(ended_at=earlier, heartbeat_at=earlier))
    return run_id


def count_findings(db, run_id):
    with db.sessions() as session:
        query = select(func.count()).where(StoredFinding.run_id == run_id, StoredFinding.rule == RULE)
        return session.scalar(query)


def is_evaluated(db, run_id):
    with db.sessions() as session:
        return session.get(Evaluation, run_id) is not None


@pytest.mark.parametrize("point", EVALUATION_POINTS)
def test_evaluation_of_killed_worker_is_repeated_and_stored_once(lab, db, parsed_run, tmp_path, point):
    mark = tmp_path / "mark"
    lab.scheduler()
    first = lab.worker("parse", **{CRASH_AT: point, MARK: str(mark)})
    lab.until(mark.exists, 120, point)
    assert first.wait(60) == SIGKILLED
    assert not is_evaluated(db, parsed_run)
    assert count_findings(db, parsed_run) == 0
    lab.worker("parse")
    lab.until(lambda: is_evaluated(db, parsed_run), 120, "a repeated evaluation")
    assert count_findings(db, parsed_run) == 1


def test_run_that_is_being_evaluated_is_not_pending(db, parsed_run):
    def list_pending():
        with db.sessions() as session:
            return session.scalars(pending_evaluations()).all()

    assert list_pending() == [parsed_run]
    with db.sessions() as session:
        assert lock_run(session, parsed_run) is not None
        assert list_pending() == []
    assert list_pending() == [parsed_run]
    evaluate_run(parsed_run)
    assert list_pending() == []
