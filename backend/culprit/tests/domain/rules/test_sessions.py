"""Waits that the sessions of PostgreSQL report divide what samples of their threads cannot distinguish."""

from __future__ import annotations

import pytest
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait


def make_session(wait_type: str, wait_event: str, *, state: str = "active", pid: int = 9) -> dict:
    return {
        "pid": pid, "state": state, "wait_type": wait_type, "wait_event": wait_event, "backend": "client backend",
    }  # fmt: skip


def read_amounts(*sessions: dict) -> dict[str, float]:
    """Return the mean number of busy threads by activity of a server with six requests in ambiguous waits."""
    view = make_view(
        process_time=[make_process(9, "postgres", threads=10)],
        thread_time=[
            make_time(9, "semaphore", 4.0),
            make_time(9, "park", 4.0),
            make_time(9, "disk", 1.0, "/pg_wal/1", "fdatasync"),
            make_time(9, "client", 1.0),
        ],
        tcp_waits=[make_wait(9, "postgres", "in", "5432", 7)],
        listeners=[{"address": "*", "port": 5432, "pid": 9, "queue_min": 0}],
        db_sessions=list(sessions),
    )
    account = read_service_times(view).accounts[0]
    amounts: dict[str, float] = {}
    for (activity, _), amount in account.amounts.items():
        assert amount.low <= amount.number <= amount.high
        amounts[activity] = amounts.get(activity, 0.0) + amount.number
    return amounts


def test_without_a_report_the_amounts_stay() -> None:
    amounts = read_amounts(make_session("Client", "ClientRead", state="idle"))
    assert amounts["disk"] == pytest.approx(1.0)
    assert amounts["semaphore"] == pytest.approx(amounts["park"]) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("wait_type", "wait_event"),
    [
        *(("LWLock", "WALWrite"), ("LWLock", "WALWriteLock"), ("LWLock", "buffer_io")),
        *(("IPC", "BufferIO"), ("IO", "DataFileRead")),
    ],
)
def test_waits_for_a_transfer_are_waits_for_the_disk(wait_type: str, wait_event: str) -> None:
    amounts = read_amounts(make_session("IO", "WALSync"), *[make_session(wait_type, wait_event)] * 6)
    assert amounts["disk"] == pytest.approx(7.0)
    assert not {"semaphore", "park"} & amounts.keys()


def test_locks_of_transactions_and_of_memory_stay_what_they_are() -> None:
    sessions = [make_session("Lock", "transactionid")] * 2 + [make_session("LWLock", "ProcArray")] * 4
    amounts = read_amounts(*sessions)
    assert amounts["disk"] == pytest.approx(1.0)
    assert amounts["park"] == pytest.approx(2.0)
    assert amounts["semaphore"] == pytest.approx(4.0)


def test_sessions_of_another_server_change_nothing() -> None:
    amounts = read_amounts(*[make_session("LWLock", "WALWrite", pid=77)] * 6)
    assert amounts["disk"] == pytest.approx(1.0)
