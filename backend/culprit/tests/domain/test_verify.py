"""Whether a fix worked: false alarms, real changes, and what may not be concluded."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.statistics.intervals import student_quantile
from culprit.domain.verification.judge import Judgment, judge_windows
from culprit.domain.verification.windows import (
    MeasurementWindow,
    compute_required_observation_s,
    measure_gaps,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SECONDS = 15
GAP_S = 40.0
PAUSE_S = 50.0


def side(
    rng: np.random.Generator,
    mean: float,
    *,
    after: bool = False,
    count: int = 5,
    noise: float = 0.03,
    start_s: float | None = None,
    load: float = 100.0,
    failed: float = 0.0,
) -> list[MeasurementWindow]:
    """Captures a minute apart; those after the fix begin 40 s after the last one before it."""
    step = SECONDS + PAUSE_S
    start = start_s if start_s is not None else (count * step - PAUSE_S + GAP_S if after else 0.0)
    return [
        MeasurementWindow(
            mean * (1 + noise * rng.normal(size=SECONDS)),
            np.linspace(at, at + SECONDS - 1, SECONDS),
            load,
            failed=failed,
            responses=1500.0,
        )
        for at in (start + step * number for number in range(count))
    ]


def reason_key(judgment: Judgment) -> str:
    assert judgment.outcome == "no_conclusion" and judgment.reason is not None
    return judgment.reason.key


@pytest.mark.parametrize(
    ("confidence", "freedom", "table"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 10, 2.228), (0.99, 5, 4.032), (0.95, 1000, 1.962)],
)
def test_students_t_is_that_of_the_tables(confidence: float, freedom: float, table: float) -> None:
    assert student_quantile(confidence, freedom) == pytest.approx(table, abs=0.001)


@pytest.mark.parametrize(("change", "expected"), [(0.0, "no_effect"), (-0.3, "verified"), (0.3, "worse")])
def test_judge_windows_detects_known_changes(change: float, expected: str) -> None:
    rng = np.random.default_rng(7)
    outcomes: Counter[str] = Counter(
        judge_windows(side(rng, 50.0), side(rng, 50.0 * (1 + change), after=True), "lower").outcome
        for _ in range(30)
    )
    assert outcomes[expected] >= 28, outcomes


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["lower", "higher"]), st.floats(0.01, 0.4))
def test_judge_windows_mirrors_better_and_worse(seed: int, better: str, noise: float) -> None:
    rng = np.random.default_rng(seed)
    before, after = side(rng, 50.0, noise=noise), side(rng, 42.0, noise=noise, after=True)
    item = judge_windows(before, after, better)  # type: ignore[arg-type]
    other = judge_windows(before, after, "lower" if better == "higher" else "higher")
    mirror = {"verified": "worse", "worse": "verified"}
    assert other.outcome == mirror.get(item.outcome, item.outcome) and item.low <= item.change <= item.high
    assert (item.reason is None) == (item.outcome != "no_conclusion")


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.floats(0, 3), st.floats(0, 60), st.floats(0, 0.9))
def test_interval_never_leaves_what_is_possible(seed: int, noise: float, level: float, zeros: float) -> None:
    """A number that is never negative cannot fall by more than 100 %, also where some or all readings are zero."""
    rng = np.random.default_rng(seed)
    before, after = side(rng, 50.0, noise=noise), side(rng, level, noise=noise, after=True)
    after = [
        replace(item, values=np.where(rng.random(SECONDS) < zeros, 0.0, np.abs(item.values)))
        for item in after
    ]
    before = [replace(item, values=np.abs(item.values)) for item in before]
    judged = judge_windows(before, after, "lower")
    if not math.isnan(judged.change):
        assert -1 <= judged.low <= judged.change <= judged.high


def test_a_number_that_falls_to_zero_is_verified() -> None:
    rng = np.random.default_rng(2)
    after = [replace(item, values=np.zeros(SECONDS)) for item in side(rng, 1.0, after=True)]
    judged = judge_windows(side(rng, 50.0), after, "lower")
    assert (judged.outcome, judged.change, judged.low) == ("verified", -1.0, -1.0)


def test_a_number_that_was_nothing_has_no_relative_change() -> None:
    rng = np.random.default_rng(4)
    nothing = [replace(item, values=np.zeros(SECONDS)) for item in side(rng, 1.0)]
    assert reason_key(judge_windows(nothing, side(rng, 50.0, after=True), "lower")) == "verify.nothing_before"


def test_a_number_that_never_varies_is_too_coarse() -> None:
    """The median of an access log in whole milliseconds is the same with and without a fault of 0.4 ms."""
    rng = np.random.default_rng(5)
    before, after = (
        [replace(item, values=np.ones(SECONDS)) for item in side(rng, 1.0, after=is_after)]
        for is_after in (False, True)
    )
    judged = judge_windows(before, after, "lower")
    assert (judged.outcome, reason_key(judged)) == ("no_conclusion", "verify.too_coarse")


def test_too_few_windows_conclude_nothing() -> None:
    rng = np.random.default_rng(1)
    empty = MeasurementWindow(np.full(SECONDS, np.nan), np.linspace(0, SECONDS - 1, SECONDS), 100.0)
    judged = judge_windows([*side(rng, 50.0, count=2), empty], side(rng, 20.0, after=True), "lower")
    assert reason_key(judged) == "verify.few_windows"


def test_a_long_gap_between_the_sides_concludes_nothing() -> None:
    rng = np.random.default_rng(1)
    judged = judge_windows(side(rng, 50.0), side(rng, 20.0, start_s=3600), "lower")
    assert reason_key(judged) == "verify.gap_too_long"
    assert judged.reason is not None
    assert judged.reason.params["gap"] == pytest.approx(55.6, abs=0.2)


def test_sides_in_turns_need_less_observation() -> None:
    rng = np.random.default_rng(1)
    plain = measure_gaps(side(rng, 1.0), side(rng, 1.0, after=True))
    turns = measure_gaps(
        [*side(rng, 1.0, count=2), *side(rng, 1.0, count=2, start_s=240.0)],
        [*side(rng, 1.0, count=2, start_s=120.0), *side(rng, 1.0, count=2, start_s=360.0)],
    )
    assert (plain.switches, turns.switches) == (1, 3)
    assert plain.longest_s == pytest.approx(GAP_S + 11) and turns.longest_s == pytest.approx(51)
    assert compute_required_observation_s(turns, 0.04) < 0.25 * compute_required_observation_s(plain, 0.04)


@pytest.mark.parametrize("drop", [0.06, 0.17, 0.5])
def test_lower_load_proves_no_faster_answers(drop: float) -> None:
    rng = np.random.default_rng(2)
    before = side(rng, 50.0)
    after = side(rng, 25.0, after=True, load=100.0 * (1 - drop))
    assert reason_key(judge_windows(before, after, "lower")) == "verify.unlike_load"


def test_small_drop_of_the_load_is_subtracted() -> None:
    """By M/M/1 at 90 %, 3 % less load make answers 21 % faster; half the time is more than that."""
    rng = np.random.default_rng(2)
    before = side(rng, 50.0)
    assert (
        reason_key(judge_windows(before, side(rng, 38.0, after=True, load=97.0), "lower"))
        == "verify.load_explains"
    )
    assert judge_windows(before, side(rng, 25.0, after=True, load=97.0), "lower").outcome == "verified"
    busy = [replace(item, utilization=0.98) for item in before]
    assert (
        reason_key(judge_windows(busy, side(rng, 25.0, after=True, load=97.0), "lower"))
        == "verify.load_explains"
    )


def test_a_host_that_the_change_saturates_is_worse() -> None:
    """The load explains what it would have done to the CPUs before, not to those that are busy since."""
    rng = np.random.default_rng(2)
    before = [replace(item, utilization=0.4) for item in side(rng, 5.0)]
    after = [replace(item, utilization=0.99) for item in side(rng, 150.0, after=True, load=101.0)]
    assert judge_windows(before, after, "lower").outcome == "worse"


def test_higher_load_with_a_better_number_is_verified() -> None:
    rng = np.random.default_rng(3)
    result = judge_windows(side(rng, 50.0, load=50.0), side(rng, 5.0, after=True), "lower")
    assert result.outcome == "verified" and result.high < -0.8
    assert result.reason is not None and result.reason.key == "verify.despite_load"
    worse = judge_windows(side(rng, 5.0), side(rng, 50.0, after=True, load=50.0), "lower")
    assert worse.outcome == "worse", "with less to do"
    more = judge_windows(side(rng, 5.0, load=50.0), side(rng, 50.0, after=True), "lower")
    assert reason_key(more) == "verify.unlike_load"


def test_unknown_load_concludes_nothing() -> None:
    rng = np.random.default_rng(3)
    unknown = side(rng, 25.0, after=True, load=math.nan)
    assert reason_key(judge_windows(side(rng, 50.0), unknown, "lower")) == "verify.load_unknown"


def test_number_per_unit_of_work_is_judged_where_the_load_differs() -> None:
    rng = np.random.default_rng(3)
    half = judge_windows(side(rng, 50.0), side(rng, 25.0, after=True, load=50.0), "lower", divisible=True)
    assert (half.outcome, half.per_work) == ("no_effect", True), "half the work, half the CPU"
    fixed = judge_windows(side(rng, 50.0), side(rng, 50.0, after=True, load=200.0), "lower", divisible=True)
    assert reason_key(fixed) == "verify.unlike_load", "a part that does not grow with the work is no fix"
    less = judge_windows(side(rng, 50.0), side(rng, 15.0, after=True, load=60.0), "lower", divisible=True)
    assert (less.outcome, less.per_work) == ("verified", True)


@pytest.mark.parametrize(
    ("failed", "outcome"), [(0.0, "verified"), (0.0005, "verified"), (0.3, "no_conclusion")]
)
def test_failing_fast_is_no_improvement(failed: float, outcome: str) -> None:
    rng = np.random.default_rng(3)
    judged = judge_windows(side(rng, 50.0), side(rng, 20.0, after=True, failed=failed), "lower")
    assert judged.outcome == outcome
    if outcome == "no_conclusion":
        assert reason_key(judged) == "verify.failing_fast"


def test_fewer_successes_are_no_improvement() -> None:
    rng = np.random.default_rng(3)
    judged = judge_windows(side(rng, 50.0), side(rng, 20.0, after=True, load=70.0, failed=0.3), "lower")
    assert reason_key(judged) == "verify.unlike_load"


def test_what_changed_everywhere_is_not_the_fix() -> None:
    rng = np.random.default_rng(5)
    before, after = side(rng, 50.0, count=9), side(rng, 30.0, after=True, count=9)
    assert judge_windows(before, after, "lower").outcome == "verified"
    peer = side(rng, 80.0, count=9), side(rng, 48.0, after=True, count=9)
    assert judge_windows(before, after, "lower", control=peer).outcome == "no_effect"
    calm = side(rng, 80.0, count=9), side(rng, 80.0, after=True, count=9)
    assert judge_windows(before, after, "lower", control=calm).outcome == "verified"
    elsewhere = side(rng, 80.0, start_s=7000.0), side(rng, 80.0, start_s=9000.0)
    assert reason_key(judge_windows(before, after, "lower", control=elsewhere)) == "verify.control_elsewhere"


def test_a_control_host_needs_twice_the_observation() -> None:
    rng = np.random.default_rng(5)
    before, after = side(rng, 50.0), side(rng, 30.0, after=True)
    calm = side(rng, 80.0), side(rng, 80.0, after=True)
    assert judge_windows(before, after, "lower").outcome == "verified"
    assert reason_key(judge_windows(before, after, "lower", control=calm)) == "verify.gap_too_long"
