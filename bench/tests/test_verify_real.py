"""Captures of a benchmark are judged as by the platform, and a run of starts can be continued."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import CollectorOutcome, HostView, ViewSeries
from culprit.domain.verification.judge import judge_windows
from culprit.domain.verification.primary_number import measure_primary

from bench.verification import verify_real
from bench.verification.capture import list_cause_numbers, select_collectors
from bench.verification.judge import judge_sides
from bench.verification.pairs import PlayedPair, PlayedStart
from lab.real.development import REPAIRABLE

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND
READ = "app.p50_ms"


def build_view(number: int, p50_ms: float) -> HostView:
    """A capture of 15 s, the next one 5 s after its end, of a service with 100 requests a second."""
    rng = np.random.default_rng(number)
    start = T0 + number * 20 * SECOND
    t_ns = np.array([start + int(at * SECOND) for at in (2.5, 7.5, 12.5)], np.int64)
    citation = Citation("run", "app_metrics", "artifact", "stdout")
    values = {READ: p50_ms, "app.requests_per_s": 100.0, "app.errors_pct": 0.0}
    series = [
        ViewSeries(
            name, {"route": "*"}, None, (), t_ns, value * rng.uniform(0.99, 1.01, (3, 1)), None, citation
        )
        for name, value in values.items()
    ]
    outcomes = {"app_metrics": CollectorOutcome("app_metrics", "done", seconds=15)}
    return HostView(outcomes=outcomes, series=series, seconds=15, span_ns=(start, start + 15 * SECOND))


@pytest.mark.parametrize(("after_ms", "outcome"), [(50.0, "no_effect"), (20.0, "verified"), (120.0, "worse")])
def test_captures_are_judged_by_the_code_of_the_platform(after_ms: float, outcome: str) -> None:
    views = {str(uuid4()): build_view(number, 50.0 if number < 6 else after_ms) for number in range(12)}
    runs = list(views)
    judged = judge_sides(runs[:6], runs[6:], views, READ, "lower")
    assert judged["outcome"] == outcome
    windows = [measure_primary(view, READ, (("route", "*"),)).window for view in views.values()]
    expected = judge_windows(windows[:6], windows[6:], "lower")
    assert (judged["change"], judged["low"], judged["high"]) == (
        expected.change, expected.low, expected.high,
    )  # fmt: skip
    assert [item["run"] for item in judged["windows"]] == runs


def test_scenarios_are_for_development_and_exist() -> None:
    scenarios = verify_real.load_repairable_scenarios()
    assert sorted(scenarios) == sorted(REPAIRABLE)
    assert {scenario.kind for scenario in scenarios.values()} == {"development"}


def test_captures_hold_what_the_number_of_the_cause_needs() -> None:
    numbers = list_cause_numbers(["worker-pool-exhausted"])
    assert numbers == [("workers.all_busy_pct", "lower")]
    assert "worker_pools" in select_collectors([read for read, _ in numbers])
    assert "worker_pools" not in select_collectors([])


def test_starts_that_the_file_holds_are_not_played_again(tmp_path: Path) -> None:
    pair = PlayedPair("before and after", "fault removed", "harm", READ, ["a"], ["b"], "verified", -0.9)
    starts = [
        PlayedStart("dns-slow", 1, pairs=[pair]),
        PlayedStart("dns-failing", 2, error="RuntimeError: no answer"),
        PlayedStart("link-saturated", 3, stopped=True),
    ]
    file = tmp_path / "verify_real.json"
    verify_real._store_starts(file, starts)
    assert verify_real._load_starts(file) == starts
    only = ["dns-slow", "dns-failing", "link-saturated"]
    options = argparse.Namespace(only=only, rounds=1, platform=None)
    missing = {
        scenario.id for scenario, _ in verify_real._plan_starts(options, 7, verify_real._load_starts(file))
    }
    everything = {scenario.id for scenario, _ in verify_real._plan_starts(options, 7, [])}
    assert missing == everything - {"dns-slow"}
    options.platform = "plain"
    assert len(verify_real._plan_starts(options, 7, starts)) == len(everything)
    again = verify_real._plan_starts(options, 7, [])
    assert [seed for _, seed in again] == [seed for _, seed in verify_real._plan_starts(options, 7, [])]


def test_start_that_breaks_is_stored_without_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the service does not start")

    monkeypatch.setattr(verify_real, "_play_turns", fail)
    scenario = verify_real.load_repairable_scenarios()["dns-slow"]
    start = verify_real.play_start(
        platform=None, scenario=scenario, seed=1, options=argparse.Namespace(platform=None), end=0.0
    )
    assert (start.error, start.pairs) == ("RuntimeError: the service does not start", [])


class CountedLoad:
    """Replaces the clients of a scenario, whose load takes minutes to measure."""

    def __init__(self) -> None:
        self.marked = 0

    def mark(self) -> None:
        self.marked += 1

    def stats(self) -> dict[str, float]:
        return {"requests": 10.0}


@pytest.fixture
def measure_phase(monkeypatch: pytest.MonkeyPatch):
    def measure(runs: list[str | None], end: float):
        captured = iter(runs)
        monkeypatch.setattr(verify_real, "capture_window", lambda *_: next(captured))
        options = argparse.Namespace(windows=3, pause=0.0)
        return verify_real._measure_phase(None, None, CountedLoad(), 1, options, end)

    return measure


def test_turn_leaves_out_captures_that_failed(measure_phase) -> None:
    phase = measure_phase([None, "a", None, "b", "c"], math.inf)
    assert (phase.unhealthy, list(phase.runs), phase.clients) == (False, ["a", "b", "c"], {"requests": 10.0})
    with pytest.raises(RuntimeError, match="3 captures of turn 2 failed"):
        measure_phase([None, None, None], math.inf)


def test_turn_is_not_measured_after_the_time_is_over(measure_phase) -> None:
    with pytest.raises(verify_real.TimeOverError):
        measure_phase(["a", "b", "c"], 0.0)
