"""Blocking calls in an event loop: which processes match, and what is named for them."""

from __future__ import annotations

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait

PARTNER = "10.9.9.9:80"
RULE = "F-TIME-LOOP-WAITS"


def view_loop(
    peer: float = 0.55, run: float = 0.3, unread: float = 4.0, *, oldest: float = 400, connections: float = 8,
    processes: int = 1, idle: float | None = None, threads: float = 1, operation: str = "recvfrom", **tables,
) -> HostView:  # fmt: skip
    """A service with processes of one loop each: so much of the time in calls to a partner, and on a CPU."""
    rest = threads - peer - run if idle is None else idle
    pids = range(7, 7 + processes)
    return make_view(
        process_time=[make_process(pid, "web", threads=threads, run=run, ppid=1 if pid == 7 else 7) for pid in pids],
        thread_time=[
            item
            for pid in pids
            for item in (
                make_time(pid, "peer", peer, PARTNER, operation, longest_ms=90),
                make_time(pid, "events", rest, "-", "epoll_wait"),
            )
        ],
        tcp_waits=[
            make_wait(pid, "web", "in", "80", 0.9, oldest, unread=unread, connections=connections) for pid in pids
        ],
        **tables,
    )  # fmt: skip


def view_alone(
    activity: str = "child", operation: str = "wait4", spent: float = 0.6, *, run: float = 0.2, loop: float = 0.2,
    unread: float = 4.0, threads: float = 1, taken: float = 5.0, queue: float = 0.0,
) -> HostView:  # fmt: skip
    """A loop that spends so much of its time in a wait without a peer; further threads are idle."""
    return make_view(
        process_time=[make_process(7, "web", threads=threads, run=run)],
        thread_time=[
            make_time(7, activity, spent, "-", operation, longest_ms=300),
            make_time(7, "events", loop, "-", "epoll_wait"),
            *([make_time(7, "condition", threads - 1, "0x7f00", "futex")] if threads > 1 else []),
        ],
        tcp_waits=[make_wait(7, "web", "in", "80", taken, 900, unread=unread, connections=8)],
        listeners=[{"pid": 7, "port": 80, "queue_min": 0, "queue_mean": queue, "queue_max": 3 * queue}],
    )


def view_locked() -> HostView:
    """A pool of threads that wait for the one of them that writes to a log."""
    return make_view(
        process_time=[make_process(7, "web", threads=9, run=0.1)],
        thread_time=[
            make_time(7, "peer", 0.7, "/run/log", "sendto"),
            make_time(7, "condition", 8.0, "0x7f00", "futex"),
            make_time(7, "events", 0.2, "-", "epoll_wait"),
        ],
        tcp_waits=[make_wait(7, "web", "in", "80", 8.0, unread=20.0, connections=28)],
    )


def evaluate_loop(view: HostView) -> Finding:
    (finding,) = evaluate_rules([RULES[RULE]], view)
    return finding


def name_causes(view: HostView) -> dict[str, str]:
    findings = evaluate_rules(RULES.values(), view)
    return {
        item.cause: item.confidence
        for item in rank_causes(findings, RULES, CAUSES, read_service_times(view)).causes
    }


@pytest.mark.parametrize("operation", ["recvfrom", "poll"])
def test_a_loop_that_waits_for_a_partner_matches(operation: str) -> None:
    finding = evaluate_loop(view_loop(operation=operation))
    assert finding.state == "matched"
    assert dict(finding.subject) == {"cgroup": "/web", "dst": PARTNER, "pid": "7"}
    assert finding.numbers[0].value == pytest.approx(100 * 0.55 / 0.85)


def test_the_cause_is_the_loop_and_not_its_partner() -> None:
    assert name_causes(view_loop()) == {"blocked-event-loop": "likely"}


@pytest.mark.parametrize(
    ("activity", "operation"),
    [
        ("child", "wait4"),
        ("pipe", "read"),
        ("sleep", "clock_nanosleep"),
        ("events", "poll"),
        ("events", "select"),
    ],
)
def test_a_loop_that_waits_for_a_child_or_sleeps_is_blocked(activity: str, operation: str) -> None:
    view = view_alone(activity, operation)
    finding = evaluate_loop(view)
    assert finding.state == "matched"
    assert dict(finding.subject) == {"cgroup": "/web", "pid": "7"}
    assert finding.numbers[0].value == pytest.approx(100 * 0.6 / 0.8)
    assert name_causes(view) == {"blocked-event-loop": "likely"}


def test_requests_that_a_loop_has_read_and_handles_in_turn_wait_for_the_call() -> None:
    """Clients with a connection for each request: all are read at once, and further ones are not accepted."""
    view = view_alone("pipe", "read", taken=9.0, unread=0.0, queue=6.0)
    finding = evaluate_loop(view)
    assert finding.state == "matched"
    assert finding.numbers[1].value == 14
    assert name_causes(view) == {"blocked-event-loop": "likely"}


@pytest.mark.parametrize(
    "view",
    [
        view_alone(
            "sleep", unread=0.2, taken=0.3
        ),  # a pause between two jobs, while clients are read at once
        view_alone(unread=0.0, taken=1.0, queue=9.0),  # a worker for one connection waits for its child
        view_alone(spent=0.1, run=0.1, loop=0.8),  # it is idle most of the time
        view_alone("sleep", "clock_nanosleep", 1.0, loop=0.8, threads=2),  # a second thread sleeps
        view_alone("events", "poll", 1.0, loop=0.8, threads=2),  # a second thread waits for its own events
        view_alone("events", "epoll_wait"),  # the wait of the loop itself
        view_alone(threads=5),  # other threads look idle and may hold the requests
    ],
    ids=["read-at-once", "one-worker", "idle", "sleeper", "second-loop", "loop", "threads"],
)
def test_a_wait_that_keeps_no_client_from_being_read_does_not_match(view: HostView) -> None:
    assert evaluate_loop(view).state == "not_matched"


@pytest.mark.parametrize(
    "view",
    [
        view_loop(unread=0.3),  # a healthy loop with short calls reads its clients at once
        view_loop(oldest=40),  # no client notices
        view_loop(peer=0.1, run=0.8),  # it computes
        view_loop(peer=0.2, run=0.1),  # it is idle most of the time
        view_loop(connections=1),  # a process for each connection
        view_loop(threads=8, peer=4.4, run=0.3, idle=0.4),  # a pool of threads
        view_loop(processes=3),  # workers that share a port: their short connections have no known owner
        view_loop(listeners=[{"pid": 7, "port": 80, "queue_min": 40, "queue_mean": 60, "queue_max": 80}]),
        view_locked(),  # threads that hold requests and look idle
        view_loop(peer=0.55, run=0.1, threads=2, idle=1.0),  # another thread is free to read them
    ],
    ids=[
        "read-at-once",
        "not-late",
        "computes",
        "idle",
        "one-connection",
        "pool",
        "workers",
        "one-worker",
        "locked",
        "free-thread",
    ],
)
def test_other_services_do_not_match(view: HostView) -> None:
    assert evaluate_loop(view).state == "not_matched"


def test_a_peer_that_an_event_loop_waits_for_among_other_events_is_no_wait_of_its_thread() -> None:
    """An asynchronous client has unanswered requests, and its thread is in epoll_wait."""
    view = make_view(
        process_time=[make_process(7, "web", run=0.7)],
        thread_time=[make_time(7, "events", 0.3, "-", "epoll_wait")],
        tcp_waits=[
            make_wait(7, "web", "in", "80", 9.0, unread=4.0),
            make_wait(7, "web", "out", PARTNER, 6.0),
        ],
    )
    assert evaluate_loop(view).state == "not_matched"


def test_few_samples_are_inconclusive() -> None:
    view = make_view(
        process_time=[make_process(7, "web", run=0.35, samples=6)],
        thread_time=[
            make_time(7, "peer", 0.45, PARTNER, "recvfrom", samples=3),
            make_time(7, "events", 0.2, "-", "epoll_wait", samples=2),
        ],
        tcp_waits=[make_wait(7, "web", "in", "80", 0.9, unread=4.0, connections=8)],
    )
    assert evaluate_loop(view).state == "inconclusive"
