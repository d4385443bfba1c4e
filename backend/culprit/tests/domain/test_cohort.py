"""Fixes on many hosts: hosts are what is counted, outliers are named, names of functions are the same on all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.verification.cohort import CohortResult, HostWindows, compare_functions, judge_cohort
from culprit.domain.verification.judge import Outcome
from culprit.domain.verification.windows import MeasurementWindow
from hypothesis import given, settings
from hypothesis import strategies as st


def side(
    rng: np.random.Generator, mean: float, load: float = 100.0, *, after: bool = False
) -> list[MeasurementWindow]:
    """Captures a minute apart; those after the fix begin 40 s after the last one before it."""
    start = 300.0 if after else 0.0
    return [
        MeasurementWindow(
            mean * (1 + 0.02 * rng.normal()) + 0.5 * rng.normal(size=15),
            np.linspace(start + 65 * at, start + 65 * at + 14, 15),
            load,
        )
        for at in range(5)
    ]


def fleet(seed: int, changes: list[float], loads: list[float] | None = None) -> list[HostWindows]:
    """Hosts that differ tenfold among themselves, each changed by its own share."""
    rng = np.random.default_rng(seed)
    loads = loads or [100.0] * len(changes)
    results = []
    for at, (change, load) in enumerate(zip(changes, loads, strict=True)):
        level = 20.0 * 10 ** rng.uniform(0, 1)
        after = side(rng, level * (1 + change), load, after=True)
        results.append(HostWindows(f"web{at}", side(rng, level), after))
    return results


def names(cohort_result: CohortResult) -> list[str]:
    return [host.host for host in cohort_result.hosts if host.outlier]


@pytest.mark.parametrize(("change", "outcome"), [(-0.3, "verified"), (0.3, "worse"), (0.0, "no_effect")])
def test_all_hosts_together(change: float, outcome: Outcome) -> None:
    rng = np.random.default_rng(8)
    outcomes = [
        judge_cohort(fleet(seed, [change + 0.02 * rng.normal() for _ in range(8)]), "lower").judged.outcome
        for seed in range(40)
    ]
    assert outcomes.count(outcome) >= 38, outcomes


def test_the_interval_is_over_hosts_and_not_over_seconds() -> None:
    """Each host shows a precise change, and the changes contradict each other."""
    judged = judge_cohort(fleet(1, [-0.8, 0.6, -0.5, 0.7]), "lower").judged
    assert judged.outcome == "no_conclusion" and judged.low < -0.5 and judged.high > 0.5
    assert judged.reason is not None and judged.reason.key == "verify.cohort_too_wide"


def test_a_host_that_is_unlike_the_others_is_named_and_stays_in() -> None:
    result = judge_cohort(fleet(2, [-0.3, -0.31, -0.29, -0.3, -0.32, 1.2]), "lower")
    assert names(result) == ["web5"] and result.judged.high > 0
    assert not names(judge_cohort(fleet(2, [-0.3, -0.31, -0.29, -0.3, -0.32, -0.28]), "lower"))


def test_judge_cohort_excludes_unlike_load_or_divides_by_work() -> None:
    hosts = fleet(3, [-0.5, 0.0, 0.0, 0.0], loads=[50.0, 100.0, 100.0, 100.0])
    result = judge_cohort(hosts, "lower")
    left_out = {host.host: host.left_out.key for host in result.hosts if host.left_out}
    assert left_out == {"web0": "verify.unlike_load"} and result.judged.outcome == "no_effect"
    result = judge_cohort(hosts, "lower", divisible=True)
    assert result.judged.per_work and result.judged.outcome == "no_effect"
    assert not any(host.left_out for host in result.hosts)


def test_too_few_hosts_conclude_nothing() -> None:
    hosts = [*fleet(4, [-0.5, -0.5]), HostWindows("dark", [], [])]
    result = judge_cohort(hosts, "lower")
    assert result.judged.reason is not None and result.judged.reason.key == "verify.few_hosts"
    assert [host.host for host in result.hosts if host.left_out] == ["dark"]
    unknown = judge_cohort(fleet(4, [-0.5] * 4, loads=[math.nan] * 4), "lower").judged
    assert unknown.outcome == "no_conclusion"


def test_a_change_that_all_hosts_have_in_common_is_no_proof() -> None:
    """All hosts drift together, and the drift of the sides is as large as the step between them."""
    rng = np.random.default_rng(9)
    pairs = []
    for at in range(6):
        host = fleet(at, [0.0])[0]
        slope = -0.001
        before, after = (
            [replace(item, values=item.values * np.exp(slope * item.t_s)) for item in windows]
            for windows in (host.before, host.after)
        )
        pairs.append(HostWindows(f"web{at}{rng.integers(9)}", before, after))
    assert judge_cohort(pairs, "lower").judged.outcome == "no_conclusion"


def test_failing_fast_on_all_hosts_is_no_improvement() -> None:
    def count(windows: Sequence[MeasurementWindow], failed: float) -> list[MeasurementWindow]:
        return [replace(item, failed=failed, responses=1500.0) for item in windows]

    pairs = [
        replace(pair, before=count(pair.before, 0.0), after=count(pair.after, 0.2))
        for pair in fleet(8, [-0.5] * 6)
    ]
    judged = judge_cohort(pairs, "lower").judged
    assert judged.reason is not None and judged.reason.key == "verify.failing_fast"


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.permutations(range(6)))
def test_judge_cohort_ignores_order_of_hosts(seed: int, order: list[int]) -> None:
    hosts = fleet(seed, [-0.2, -0.1, -0.3, 0.1, -0.2, -0.25])
    item, other = judge_cohort(hosts, "lower"), judge_cohort([hosts[at] for at in order], "lower")
    assert item.judged.outcome == other.judged.outcome
    assert item.judged.change == pytest.approx(other.judged.change)


def test_profiles_of_many_builds_are_merged() -> None:
    sides = {
        f"web{at}": (
            {f"scan.isra.{at}": 0.5 + 0.01 * at, "parse": 0.3, f"shop::price::h{at:016x}": 0.1},
            {
                "scan": 0.1 + 0.01 * at,
                "parse.cold": 0.1,
                "parse": 0.21,
                "shop::price::hffffffffffffffff": 0.1,
            },
        )
        for at in range(5)
    }
    result = compare_functions(sides)
    first = result.functions[0]
    assert (first.name, first.sure) == ("scan", True)
    assert first.change == pytest.approx(-0.4) and first.low <= first.change <= first.high
    assert {function.name for function in result.functions} == {"scan", "parse", "shop::price"}
    assert next(function for function in result.functions if function.name == "shop::price").sure is False
    assert result.mapping["parse"] == ("parse", "parse.cold") and len(result.mapping["scan"]) == 6


def test_two_hosts_show_a_difference_and_claim_none() -> None:
    sides = {"a": ({"f": 0.9}, {"f": 0.1}), "b": ({"f": 0.9}, {"f": 0.1})}
    [item] = compare_functions(sides).functions
    assert item.change == pytest.approx(-0.8) and not item.sure
