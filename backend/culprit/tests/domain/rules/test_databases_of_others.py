"""A database is judged by the whole host, also where the diagnosis is about the application in front of it."""

from __future__ import annotations

from culprit.domain.rules.measures.application.services import CPU_PER_TURN, DATABASE_SHARE
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait


def view_of_application(*, running: float, oldest: float) -> HostView:
    """Return a host whose busiest threads are listed for the application alone."""
    return make_view(
        target={"kind": "process", "pid": 7},
        process_time=[
            make_process(7, "gunicorn", threads=8, run=0.2),
            make_process(9, "postgres", threads=2, run=running),
        ],
        thread_time=[
            make_time(7, "accept", 7.8),
            make_time(9, "running", running),
            make_time(9, "lock", 2.0 - running, detail="futex"),
        ],
        thread_groups=[{"pid": 7, "comm": "gunicorn", "cgroup": "/gunicorn", "cpu_pct": 20.0}],
        threads=[{"pid": 7, "tid": 7, "comm": "gunicorn", "cpu_pct": 20.0, "voluntary_per_s": 30.0}],
        listeners=[{"pid": 9, "address": "127.0.0.1", "port": 5432}],
        tcp_waits=[make_wait(9, "postgres", "in", "5432", 2.0, oldest)],
    )


def test_the_share_of_a_database_is_that_of_all_processes() -> None:
    (share,) = DATABASE_SHARE.read(view_of_application(running=1.8, oldest=800))
    assert share.subject == (("cgroup", "/postgres"),)
    assert round(share.value) == 90


def test_a_statement_costs_the_part_of_its_time_that_the_server_runs() -> None:
    (busy,) = CPU_PER_TURN.read(view_of_application(running=1.8, oldest=800))
    (idle,) = CPU_PER_TURN.read(view_of_application(running=0.002, oldest=800))
    assert round(busy.value) == 720
    assert idle.value < 3
