"""Requests that queue for a lock inside a process differ from idle pools, single dumps and waits by design."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import CollectorOutcome, HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_engine import build_series

LOCK = "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync"
QUEUE = {"lock": "0xfa", "lock_class": LOCK, "owner": "", "waiters": 0, "pid": 7}
SLOW = {"waiting": 3.0, "oldest": 900}


def view_of_loans(
    *, queue: float, seen: int = 3, waiting: float, oldest: float = 900, pid: int | None = 7
) -> HostView:
    """Return a Java service with a pool of parked threads, and the dumps of its threads."""
    lock = QUEUE | {"pid": pid, "dumps": 5, "queue_dumps": seen, "queue_mean": queue}
    view = make_view(
        process_time=[make_process(7, "java", threads=40, run=0.1)],
        thread_time=[make_time(7, "running", 0.1), make_time(7, "park", 39.0, detail="futex")],
        threads=[{"pid": 7, "tid": 70, "comm": "pool-1-thread-1"}],
        listeners=[{"pid": 7, "address": "10.0.0.5", "port": 80}],
        tcp_waits=[make_wait(7, "java", "in", "80", waiting, oldest)],
        java_locks=[lock] if queue else [],
        java_threads=[{"tid": 70, "name": "pool-1-thread-1"}],
    )
    outcomes = {name: CollectorOutcome(name, "done") for name in ("jstack", "snmp")}
    series = build_series("tcp.out_segs_per_s", *[500.0] * 8, collector="snmp")
    return replace(view, outcomes={**view.outcomes, **outcomes}, series=[series])


def list_causes(view: HostView) -> list[tuple[str, str]]:
    ranking = rank_causes(evaluate_rules(RULES.values(), view), RULES, CAUSES, read_service_times(view))
    return [(item.cause, item.confidence) for item in ranking.causes]


@pytest.mark.parametrize(
    ("dumps", "state"),
    [
        (SLOW | {"queue": 2.4}, "matched"),
        (SLOW | {"queue": 2.4, "pid": None}, "matched"),
        (SLOW | {"queue": 0.0}, "not_matched"),
        (SLOW | {"queue": 0.6}, "not_matched"),
        (SLOW | {"queue": 2.0, "seen": 1}, "not_matched"),
        ({"queue": 2.4, "waiting": 0.0}, "not_matched"),
        ({"queue": 2.4, "waiting": 3.0, "oldest": 20}, "not_matched"),
        ({"queue": 2.4, "waiting": 30.0}, "not_matched"),
    ],
    ids=["queue", "process-from-its-threads", "idle-pool", "short-turns", "single-dump", "no-request-waits",
         "requests-pass-quickly", "few-of-the-requests"],
)  # fmt: skip
def test_requests_queue_for_a_lock_of_java(dumps: dict[str, Any], state: str) -> None:
    findings = evaluate_rules([RULES["F-LOCK-JAVA-QUEUE"]], view_of_loans(**dumps))
    assert [item.state for item in findings] == [state]


def test_a_queue_for_a_lock_is_a_likely_cause() -> None:
    assert list_causes(view_of_loans(queue=2.4, waiting=3.0)) == [("lock-contention", "likely")]


def test_waits_inside_a_process_are_possibly_for_a_lock() -> None:
    """No runtime reports its locks here: only the time of requests in parked threads is known."""
    view = view_of_loans(queue=0.0, waiting=3.0)
    assert list_causes(view) == [("lock-contention", "possible")]


@pytest.mark.parametrize("waiting", [0.0, 1.2], ids=["idle-pool", "single-request"])
def test_threads_that_contend_with_none_name_no_cause(waiting: float) -> None:
    assert list_causes(view_of_loans(queue=0.0, waiting=waiting)) == []


@pytest.mark.parametrize("queue", [0.0, 2.4], ids=["parked-threads", "queue-for-a-lock"])
def test_waits_as_in_the_baseline_are_by_design(queue: float) -> None:
    view = replace(view_of_loans(queue=queue, waiting=3.0), baseline=view_of_loans(queue=0.0, waiting=2.6))
    assert list_causes(view) == []
    slower = replace(view, baseline=view_of_loans(queue=0.0, waiting=0.4))
    assert ("lock-contention", "likely" if queue else "possible") in list_causes(slower)
