"""Jobs are a neighbor together: scripts that start short programs, for which no client waits."""

from __future__ import annotations

import pytest
from culprit.domain.rules.measures.service_time.neighbors import NEIGHBOR
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_view, make_wait
from culprit.tests.domain.rules.test_service_time_rules import match

SCRIPTS = (20, 21, 22)
WEB = {"address": "*", "port": 80, "pid": 7}


def script(pid: int, with_ended: float, **more: object) -> dict:
    """Return a shell that uses no CPU time itself; what it started has."""
    cells = {"pid": pid, "ppid": 1, "comm": "sh", "cpu": 0.1, "cpu_with_ended": with_ended, "nice": 0}
    return cells | {"kernel_thread": 0} | more


def crowded(*others: dict, listeners: tuple[dict, ...] = (WEB,)) -> HostView:
    """A service that waits for one of two CPUs while others run."""
    web = {
        "pid": 7,
        "ppid": 1,
        "comm": "web",
        "cpu": 20.0,
        "cpu_with_ended": 20.0,
        "nice": 0,
        "kernel_thread": 0,
    }
    return make_view(
        process_time=[make_process(7, "web", threads=4, run=0.2, wait=3.4)],
        thread_time=[],
        tcp_waits=[make_wait(7, "web", "in", "80", 5)],
        processes=[web, *others],
        listeners=list(listeners),
    )


def scripts(each: float, **more: object) -> list[dict]:
    """Return three of them, none of which uses most of the time."""
    return [script(pid, each, **more) for pid in SCRIPTS]


def test_scripts_that_start_short_programs_are_a_neighbor() -> None:
    view = crowded(*scripts(50.0))
    assert "F-TIME-NEIGHBOR" in match(view)
    (measured,) = NEIGHBOR.read(view)
    assert measured.value == pytest.approx(100.0)


@pytest.mark.parametrize(
    "view",
    [
        crowded(*scripts(20.0)),
        crowded(*scripts(50.0, nice=19)),
        crowded(*scripts(50.0), listeners=(WEB, *(WEB | {"port": 60 + pid, "pid": pid} for pid in SCRIPTS))),
        crowded(*scripts(50.0, kernel_thread=1)),
    ],
    ids=["less than a third", "give way", "serve clients", "kernel"],
)
def test_other_programs_are_no_neighbor_together(view: HostView) -> None:
    assert "F-TIME-NEIGHBOR" not in match(view)
