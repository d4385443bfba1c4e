"""Fixes on many hosts: hosts are what is counted, outliers are named, names of functions are the same on all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from culprit.core.cohort import Cohort, Pair, differential, pooled
from culprit.core.verify import Window
from hypothesis import given
from hypothesis import strategies as st


def side(rng: np.random.Generator, mean: float, load: float = 100.0) -> list[Window]:
    return [Window(mean * (1 + 0.02 * rng.normal()) + 0.5 * rng.normal(size=15), load) for _ in range(3)]


def fleet(seed: int, changes: list[float], loads: list[float] | None = None) -> list[Pair]:
    """Hosts that differ tenfold among themselves, each changed by its own share."""
    rng = np.random.default_rng(seed)
    loads = loads or [100.0] * len(changes)
    found = []
    for at, (change, load) in enumerate(zip(changes, loads, strict=True)):
        level = 20.0 * 10 ** rng.uniform(0, 1)
        found.append(Pair(f"web{at}", side(rng, level), side(rng, level * (1 + change), load)))
    return found


def names(found: Cohort) -> list[str]:
    return [one.host for one in found.hosts if one.outlier]


@pytest.mark.parametrize(("change", "outcome"), [(-0.3, "verified"), (0.3, "worse"), (0.0, "no_effect")])
def test_all_hosts_together(change: float, outcome: str) -> None:
    rng = np.random.default_rng(8)
    told = [
        pooled(fleet(seed, [change + 0.02 * rng.normal() for _ in range(8)]), "lower").judged.outcome
        for seed in range(40)
    ]
    assert told.count(outcome) >= 38, told


def test_the_interval_is_over_hosts_and_not_over_seconds() -> None:
    """Each host says very precisely that it changed, and they contradict one another."""
    found = pooled(fleet(1, [-0.8, 0.6, -0.5, 0.7]), "lower").judged
    assert found.outcome == "no_conclusion" and found.low < -0.5 and found.high > 0.5
    assert found.reason is not None and found.reason.key == "verify.cohort_too_wide"


def test_a_host_that_is_unlike_the_others_is_named_and_stays_in() -> None:
    found = pooled(fleet(2, [-0.3, -0.31, -0.29, -0.3, -0.32, 1.2]), "lower")
    assert names(found) == ["web5"] and found.judged.high > 0
    assert not names(pooled(fleet(2, [-0.3, -0.31, -0.29, -0.3, -0.32, -0.28]), "lower"))


def test_a_host_of_unlike_load_is_left_out_or_all_are_told_per_unit_of_work() -> None:
    hosts = fleet(3, [-0.5, 0.0, 0.0, 0.0], loads=[50.0, 100.0, 100.0, 100.0])
    found = pooled(hosts, "lower")
    left_out = {one.host: one.left_out.key for one in found.hosts if one.left_out}
    assert left_out == {"web0": "verify.unlike_load"} and found.judged.outcome == "no_effect"
    found = pooled(hosts, "lower", divisible=True)
    assert found.judged.per_work and found.judged.outcome == "no_effect"
    assert not any(one.left_out for one in found.hosts)


def test_too_few_hosts_conclude_nothing() -> None:
    hosts = [*fleet(4, [-0.5, -0.5]), Pair("dark", [], [])]
    found = pooled(hosts, "lower")
    assert found.judged.reason is not None and found.judged.reason.key == "verify.few_hosts"
    assert [one.host for one in found.hosts if one.left_out] == ["dark"]
    unknown = pooled(fleet(4, [-0.5] * 4, loads=[math.nan] * 4), "lower").judged
    assert unknown.outcome == "no_conclusion"


@given(st.integers(0, 1000), st.permutations(range(6)))
def test_the_order_of_hosts_says_nothing(seed: int, order: list[int]) -> None:
    hosts = fleet(seed, [-0.2, -0.1, -0.3, 0.1, -0.2, -0.25])
    one, other = pooled(hosts, "lower"), pooled([hosts[at] for at in order], "lower")
    assert one.judged.outcome == other.judged.outcome
    assert one.judged.change == pytest.approx(other.judged.change)


def test_profiles_of_many_builds_are_one_profile() -> None:
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
    found = differential(sides)
    first = found.functions[0]
    assert (first.name, first.sure) == ("scan", True)
    assert first.change == pytest.approx(-0.4) and first.low <= first.change <= first.high
    assert {one.name for one in found.functions} == {"scan", "parse", "shop::price"}
    assert next(one for one in found.functions if one.name == "shop::price").sure is False
    assert found.mapping["parse"] == ("parse", "parse.cold") and len(found.mapping["scan"]) == 6


def test_two_hosts_show_a_difference_and_claim_none() -> None:
    sides = {"a": ({"f": 0.9}, {"f": 0.1}), "b": ({"f": 0.9}, {"f": 0.1})}
    [one] = differential(sides).functions
    assert one.change == pytest.approx(-0.8) and not one.sure
