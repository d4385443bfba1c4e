"""Waits that are as long as in the baseline are no harm, even where other traffic of the host changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.view import CollectorOutcome, HostView
from culprit.tests.domain.rules.service_rows import make_process, make_view, make_wait
from culprit.tests.domain.rules.test_engine import build_series

PEER = "10.9.9.9:80"


def build_host(*segments: float, waiting: float = 2.0, idle_processes: int = 0) -> HostView:
    """A program that waits for a peer, others that wait for none, and the segments that the host sends each second."""
    processes = [make_process(7, "web"), *(make_process(100 + n, "php") for n in range(idle_processes))]
    calls = [make_wait(7, "web", "out", PEER, waiting)]
    calls += [make_wait(100 + n, "php", "out", "127.0.0.1:3306", 0.0, 0) for n in range(idle_processes)]
    view = make_view(process_time=processes, tcp_waits=calls)
    outcomes = {**view.outcomes, "snmp": CollectorOutcome("snmp", "done")}
    series = build_series("tcp.out_segs_per_s", *segments, collector="snmp")
    return replace(view, outcomes=outcomes, series=[series])


def is_as_before(now: HostView, before: HostView) -> bool:
    """Return whether the program is known to wait no longer for its peer."""
    findings = evaluate_rules([RULES["F-DEP-AS-BEFORE"]], now.with_baseline(before))
    return any(item.state == "matched" and dict(item.subject).get("pid") == "7" for item in findings)


def test_large_answers_to_others_in_the_baseline_do_not_make_waits_longer() -> None:
    assert is_as_before(build_host(600, 620, 550), build_host(3200, 600, 3100, 580))


@pytest.mark.parametrize("rate", [150, 1200])
def test_fewer_answers_in_each_second_are_longer_waits(rate: int) -> None:
    """A client that waits for its answers sends fewer requests while they take longer."""
    assert is_as_before(build_host(rate, rate, rate), build_host(600, 620, 550)) is (rate > 600)


def test_many_processes_that_wait_for_nothing_hide_no_process() -> None:
    now, before = (build_host(600, 600, 600, idle_processes=40) for _ in range(2))
    assert is_as_before(now, before)
