"""What the rules of applications tell apart: a peer that is slow, a lock, a pool that is idle, a database at work."""

from __future__ import annotations

from collections.abc import Mapping

from culprit.core.rules.contract import Citation, Measure, Measured
from culprit.core.rules.measures import app_services, app_waits
from culprit.core.rules.read import take
from culprit.core.rules.view import Outcome, Row, View

CITE = Citation("r", "tcp_waits", "a", "stdout", (1,))


def view(**tables: list[Mapping[str, str | int | float | None]]) -> View:
    names = ("tcp_waits", "proc_threads", "db_sessions")
    rows = {kind: [Row(cells, CITE) for cells in found] for kind, found in tables.items()}
    return View({name: Outcome(name, "done") for name in names}, tables=rows)


def read(measure: Measure, of: View) -> list[Measured]:
    found = take(of, measure)
    assert isinstance(found, list)
    return found


def wait(direction: str, waiting: float, **more: str | float) -> Mapping[str, str | int | float | None]:
    peer = "80" if direction == "in" else "10.0.0.2:6379"
    common = {"pid": 9, "comm": "items", "direction": direction, "peer": peer, "oldest": 500, "unread": 0}
    return {**common, "waiting": waiting, "looks": 10, **more}


def test_requests_that_wait_for_a_peer_are_counted_against_those_in_hand() -> None:
    (found,) = read(app_waits.BEHIND_PEER, view(tcp_waits=[wait("in", 10), wait("out", 4)]))
    assert found.value == 40.0
    assert dict(found.subject) == {"dst": "10.0.0.2:6379", "pid": "9"}


def test_a_long_poll_without_requests_keeps_nobody_waiting() -> None:
    assert read(app_waits.BEHIND_PEER, view(tcp_waits=[wait("out", 4)])) == []


def test_remote_sessions_are_no_requests() -> None:
    assert read(app_waits.HELD, view(tcp_waits=[wait("in", 3, comm="sshd")])) == []


def test_requests_that_are_not_read_yet_are_in_hand_too() -> None:
    (found,) = read(app_waits.HELD, view(tcp_waits=[wait("in", 3, unread=5)]))
    assert found.value == 8.0


def test_parked_threads_are_not_active() -> None:
    def thread(wchan: str, turns: float) -> Mapping[str, str | int | float | None]:
        return {"pid": 9, "comm": "items", "wchan": wchan, "wchan_pct": 90.0, "voluntary_per_s": turns}

    busy = [thread("futex_do_wait", 5.0)] * 2 + [thread("hrtimer_nanosleep", 9.0)] * 2
    parked = [thread("futex_do_wait", 0.0)] * 50
    (found,) = read(app_waits.PILEUP, view(threads=[*busy, *parked]))
    assert found.value == 50.0


def test_cpu_of_a_statement_is_that_between_two_waits_of_its_session() -> None:
    groups = [{"pid": pid, "comm": "postgres", "cgroup": "/db", "cpu_pct": 20.0} for pid in (1, 2)]
    threads = [{"pid": pid, "cpu_pct": 20.0, "voluntary_per_s": 10.0} for pid in (1, 2)]
    (found,) = read(app_services.CPU_PER_TURN, view(thread_groups=groups, threads=threads))
    assert found.value == 20.0


def test_one_statement_alone_has_no_share() -> None:
    assert read(app_services.STATEMENT_SHARE, view(db_statements=[{"total": 9.0, "calls": 1}])) == []
