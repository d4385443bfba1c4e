"""What the rules of applications tell apart: a peer that is slow, a lock, a pool that is idle, a database at work."""

from __future__ import annotations

from collections.abc import Mapping

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.application import open_connections
from culprit.domain.rules.measures.application import services as app_services
from culprit.domain.rules.measures.application import waits as app_waits
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow

CITE = Citation("r", "tcp_waits", "a", "stdout", (1,))


def view(**tables: list[Mapping[str, str | int | float | None]]) -> HostView:
    names = ("tcp_waits", "proc_threads", "db_sessions", "ss")
    rows = {kind: [TableRow(cells, CITE) for cells in result] for kind, result in tables.items()}
    return HostView({name: CollectorOutcome(name, "done") for name in names}, tables=rows)


def read(measure: Measure, of: HostView) -> list[Measurement]:
    reading = take_reading(of, measure)
    assert isinstance(reading, list)
    return reading


def wait(direction: str, waiting: float, **more: str | float) -> Mapping[str, str | int | float | None]:
    peer = "80" if direction == "in" else "10.0.0.2:6379"
    common = {"pid": 9, "comm": "items", "direction": direction, "peer": peer, "oldest": 500, "unread": 0}
    return {**common, "waiting": waiting, "samples": 10, **more}


def test_requests_that_wait_for_a_peer_are_counted_against_those_in_hand() -> None:
    (result,) = read(app_waits.BEHIND_PEER, view(tcp_waits=[wait("in", 10), wait("out", 4)]))
    assert result.value == 40.0
    assert dict(result.subject) == {"dst": "10.0.0.2:6379", "pid": "9"}


def test_behind_peer_ignores_long_poll_without_requests() -> None:
    assert read(app_waits.BEHIND_PEER, view(tcp_waits=[wait("out", 4)])) == []


def test_remote_sessions_are_no_requests() -> None:
    assert read(app_waits.HELD, view(tcp_waits=[wait("in", 3, comm="sshd")])) == []


def test_requests_that_are_not_read_yet_are_in_hand_too() -> None:
    (result,) = read(app_waits.HELD, view(tcp_waits=[wait("in", 3, unread=5)]))
    assert result.value == 8.0


def test_parked_threads_are_not_active() -> None:
    def thread(wchan: str, turns: float) -> Mapping[str, str | int | float | None]:
        return {"pid": 9, "comm": "items", "wchan": wchan, "wchan_pct": 90.0, "voluntary_per_s": turns}

    busy = [thread("futex_do_wait", 5.0)] * 2 + [thread("hrtimer_nanosleep", 9.0)] * 2
    parked = [thread("futex_do_wait", 0.0)] * 50
    (result,) = read(app_waits.PILEUP, view(threads=[*busy, *parked]))
    assert result.value == 50.0


def test_idle_threads_of_a_pool_do_not_wait_for_a_lock() -> None:
    """They wait in a condition variable. What the operations are is known only where they were sampled."""
    pool = [
        {"pid": 9, "comm": "node", "wchan": "futex_do_wait", "wchan_pct": 90.0, "voluntary_per_s": 5.0}
    ] * 4
    spent = [
        {"pid": 9, "activity": "condition", "time_ms": 24_000.0},
        {"pid": 9, "activity": "lock", "time_ms": 8000.0},
    ]
    for rows, share in (([], 100.0), (spent[:1], 0.0), (spent, 25.0)):
        (result,) = read(app_waits.PILEUP, view(threads=pool, thread_time=rows))
        assert result.value == share


def test_a_pool_of_connections_that_the_peer_has_closed() -> None:
    closed = [
        {"pid": 9, "comm": "node", "peer": "10.0.0.2", "peer_port": 80, "count_first": 9, "count_last": 9}
    ]
    for established, share in ((0, 100.0), (27, 25.0)):
        open_ = [{"peer": "10.0.0.2", "port": 80, "established": established}]
        (result,) = read(open_connections.CLOSE_WAIT_OF_PEER, view(close_wait=closed, tcp_destinations=open_))
        assert result.value == share


def test_cpu_of_a_statement_is_that_between_two_waits_of_its_session() -> None:
    groups = [{"pid": pid, "comm": "postgres", "cgroup": "/db", "cpu_pct": 20.0} for pid in (1, 2)]
    threads = [{"pid": pid, "cpu_pct": 20.0, "voluntary_per_s": 10.0} for pid in (1, 2)]
    (result,) = read(app_services.CPU_PER_TURN, view(thread_groups=groups, threads=threads))
    assert result.value == 20.0


def test_statement_share_ignores_single_statement() -> None:
    assert read(app_services.STATEMENT_SHARE, view(db_statements=[{"total": 9.0, "calls": 1}])) == []
