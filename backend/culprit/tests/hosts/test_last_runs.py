"""The newest run of each host, and in how many captures the host is."""

from datetime import timedelta

import pytest
from culprit.hosts import queries
from culprit.infra.db.clock import utc_now
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.tests.support.fleet import add_hosts


def add_runs(session, host, *minutes_ago):
    """Add a run for each number of minutes since its start; None has not started."""
    runs = []
    for minutes in minutes_ago:
        capture = Capture(plan="triage", state="done", collectors=[])
        session.add(capture)
        session.flush()
        started_at = None if minutes is None else utc_now() - timedelta(minutes=minutes)
        run = Run(capture_id=capture.id, host_id=host, state="done", started_at=started_at)
        session.add(run)
        session.flush()
        runs.append(run.id)
    return runs


@pytest.mark.parametrize(
    "minutes_ago",
    [(5,), (None,), (9, 5), (9, 5, None), (9, None, 5), (None, None, 5), (None, 9, None)],
    ids=str,
)
def test_newest_run_of_a_host_may_or_may_not_have_started(session, minutes_ago):
    busy, other, idle = add_hosts(session, ["busy", "other", "idle"], [{}] * 3)
    runs = add_runs(session, busy, *minutes_ago)
    [lone] = add_runs(session, other, 1)
    newest = queries.list_last_runs(session, [busy, other, idle])
    assert {host: run.id for host, run in newest.items()} == {busy: runs[-1], other: lone}
    assert queries.count_captures(session, [busy, other, idle]) == {busy: len(runs), other: 1}
