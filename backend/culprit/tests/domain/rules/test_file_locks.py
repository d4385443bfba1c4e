"""Requests that wait behind a thread which waits for the lock of a file."""

from __future__ import annotations

import pytest
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_service_time_rules import match, name_causes

FILE = "/srv/patterns.dat"


def locking_service(in_file: float, inside: float, *, call: str = "fcntl", run: float = 0.0) -> HostView:
    """A service with two free threads, whose others take turns: in the lock of a file, on a CPU, inside the process."""
    return make_view(
        process_time=[make_process(7, "web", threads=in_file + inside + run + 2, run=run)],
        thread_time=[
            make_time(7, "lock", in_file, FILE, call),
            make_time(7, "park", inside, longest_ms=400),
            make_time(7, "accept", 2.0),
        ],
        tcp_waits=[make_wait(7, "web", "in", "80", in_file + inside + run)],
    )


def test_threads_in_a_queue_wait_for_what_the_first_waits_for() -> None:
    view = locking_service(0.9, 19.0, run=0.1)
    assert "F-TIME-FILE-LOCK" in match(view)
    assert name_causes(view)[0] == ("file-lock-held", "likely")


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(locking_service(0.1, 19.0, run=0.9), id="the first computes"),
        pytest.param(
            locking_service(4.0, 19.0), id="several wait for the file at once, so they take no turns"
        ),
        pytest.param(locking_service(0.9, 19.0, call="flock"), id="a lock that two threads can dispute"),
    ],
)
def test_other_queues_are_not_explained_by_the_file(view: HostView) -> None:
    assert "F-TIME-FILE-LOCK" not in match(view)


def test_the_lock_of_a_file_is_no_lock_inside_the_process() -> None:
    view = locking_service(5.0, 0.5)
    assert {"F-TIME-FILE-LOCK", "F-TIME-LOCK"} & match(view) == {"F-TIME-FILE-LOCK"}
