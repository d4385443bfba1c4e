"""What the members of a service show about it: its control group, and the requests that it has accepted."""

from __future__ import annotations

import pytest
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.measures.service_time.services import map_services
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait


def test_a_worker_that_ended_does_not_hide_the_group_of_its_service() -> None:
    """The kernel killed the busiest worker before its group was read: the others are in the same one."""
    view = make_view(
        process_time=[
            make_process(10, "reports", run=0.01, cgroup="/box/reports"),
            make_process(11, "reports", ppid=10, run=0.9, cgroup=None),
        ],
        listeners=[{"pid": 10, "process": "reports", "port": 8000}],
    )
    [service] = map_services(view).services
    assert service.group == "/box/reports"
    assert dict(service.subject) == {"pid": "11", "cgroup": "/box/reports"}


def test_a_request_that_is_read_in_part_is_accepted() -> None:
    """Twelve workers compute and leave the end of each request unread; thirty more connections are not accepted."""
    workers = range(11, 23)
    view = make_view(
        process_time=[
            make_process(10, "pool"),
            *(make_process(pid, "pool", ppid=10, run=0.1, wait=0.9, cgroup="/pool") for pid in workers),
        ],
        thread_time=[make_time(pid, "runnable", 0.9) for pid in workers],
        tcp_waits=[make_wait(pid, "pool", "in", "9000", 0.0, unread=1.0) for pid in workers],
        listeners=[{
            "pid": 10, "process": "pool", "port": 9000, "queue_min": 30, "queue_max": 30, "queue_mean": 30.0,
            "queue_deviation": 0.0, "samples": 20,
        }],
    )  # fmt: skip
    [account] = [item for item in read_service_times(view).accounts if item.service.name == "pool"]
    assert account.queued == pytest.approx(42.0)
    assert account.accepted == pytest.approx(12.0)
