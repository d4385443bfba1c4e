"""Whether a fix worked: false alarms, real changes, and what may not be concluded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from culprit.domain.statistics.intervals import student_quantile
from culprit.domain.verification.judge import Judgment, MeasurementWindow, judge_windows
from hypothesis import given
from hypothesis import strategies as st

SECONDS = 10


def window(
    rng: np.random.Generator, mean: float, noise: float = 0.05, load: float = 100.0
) -> MeasurementWindow:
    """Seconds that resemble the one before them, around a mean that differs a little from capture to capture."""
    rendered, values = rng.normal(size=SECONDS), np.empty(SECONDS)
    values[0] = rendered[0]
    for at in range(1, SECONDS):
        values[at] = 0.5 * values[at - 1] + 0.87 * rendered[at]
    return MeasurementWindow(mean * (1 + 0.4 * noise * rng.normal()) + mean * noise * values, load)


def side(rng: np.random.Generator, mean: float, count: int = 5, **how: float) -> list[MeasurementWindow]:
    return [window(rng, mean, **how) for _ in range(count)]


@pytest.mark.parametrize(
    ("confidence", "freedom", "table"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 10, 2.228), (0.99, 5, 4.032), (0.95, 1000, 1.962)],
)
def test_students_t_is_that_of_the_tables(confidence: float, freedom: float, table: float) -> None:
    assert student_quantile(confidence, freedom) == pytest.approx(table, abs=0.001)


@pytest.mark.parametrize(
    ("change", "expected", "least"),
    [(0.0, "no_effect", 0.8), (-0.2, "verified", 0.9), (0.2, "worse", 0.9)],
)
def test_judge_windows_detects_known_changes(change: float, expected: str, least: float) -> None:
    rng = np.random.default_rng(7)
    outcomes = Counter(
        judge_windows(side(rng, 50.0), side(rng, 50.0 * (1 + change)), "lower").outcome for _ in range(200)
    )
    assert outcomes[expected] / 200 >= least, outcomes
    wrong = {
        "no_effect": ("verified", "worse"),
        "verified": ("worse", "no_effect"),
        "worse": ("verified", "no_effect"),
    }
    assert sum(outcomes[item] for item in wrong[expected]) <= 4, outcomes


def test_the_interval_holds_the_change() -> None:
    rng = np.random.default_rng(3)
    results = [
        judge_windows(side(rng, 50.0, noise=0.15), side(rng, 40.0, noise=0.15), "lower") for _ in range(300)
    ]
    assert np.mean([item.low <= -0.2 <= item.high for item in results]) >= 0.93


@given(st.integers(0, 10_000), st.sampled_from(["lower", "higher"]), st.floats(0.01, 0.5))
def test_judge_windows_mirrors_better_and_worse(seed: int, better: str, noise: float) -> None:
    rng = np.random.default_rng(seed)
    before, after = side(rng, 50.0, noise=noise), side(rng, 42.0, noise=noise)
    item = judge_windows(before, after, better)  # type: ignore[arg-type]
    other = judge_windows(before, after, "lower" if better == "higher" else "higher")
    mirror = {"verified": "worse", "worse": "verified"}
    assert other.outcome == mirror.get(item.outcome, item.outcome) and item.low <= item.change <= item.high
    assert (item.reason is None) == (item.outcome != "no_conclusion")


def outcome_and_reason(judgment: Judgment) -> tuple[str, str]:
    assert judgment.reason is not None
    return judgment.outcome, judgment.reason.key


def test_too_few_windows_conclude_nothing() -> None:
    rng = np.random.default_rng(1)
    empty = MeasurementWindow(np.full(SECONDS, np.nan), 100.0)
    assert outcome_and_reason(judge_windows([*side(rng, 50.0, 2), empty], side(rng, 20.0), "lower")) == (
        "no_conclusion",
        "verify.few_windows",
    )


def test_judge_windows_needs_like_load_or_divisible_measure() -> None:
    rng = np.random.default_rng(2)
    before, after = side(rng, 50.0), side(rng, 25.0, load=50.0)
    assert outcome_and_reason(judge_windows(before, after, "lower")) == (
        "no_conclusion",
        "verify.unlike_load",
    )
    result = judge_windows(before, after, "lower", divisible=True)
    assert (result.outcome, result.per_work) == ("no_effect", True), "half the work, half the CPU"
    unknown = [MeasurementWindow(item.values, float("nan")) for item in after]
    assert outcome_and_reason(judge_windows(before, unknown, "lower")) == (
        "no_conclusion",
        "verify.load_unknown",
    )


def test_judge_windows_concludes_despite_higher_load() -> None:
    """A service that answers again does more; that its queue overflows no longer is the fix, and not the load."""
    rng = np.random.default_rng(3)
    ill, well = side(rng, 50.0, load=50.0), side(rng, 5.0)
    result = judge_windows(ill, well, "lower")
    assert outcome_and_reason(result) == ("verified", "verify.despite_load") and result.high < -0.8
    assert (
        outcome_and_reason(judge_windows(side(rng, 5.0), side(rng, 50.0, load=50.0), "lower"))[0] == "worse"
    ), "with less to do"
    assert outcome_and_reason(judge_windows(side(rng, 5.0, load=50.0), side(rng, 50.0), "lower")) == (
        "no_conclusion",
        "verify.unlike_load",
    )
    assert outcome_and_reason(judge_windows(ill, side(rng, 50.0), "lower")) == (
        "no_conclusion",
        "verify.unlike_load",
    )
    assert judge_windows(side(rng, 5.0, load=50.0), side(rng, 50.0), "higher").outcome == "verified"


def test_what_was_nothing_needs_a_floor() -> None:
    rng = np.random.default_rng(4)
    nothing = [MeasurementWindow(np.zeros(SECONDS), 100.0) for _ in range(3)]
    assert outcome_and_reason(judge_windows(nothing, side(rng, 50.0), "lower")) == (
        "no_conclusion",
        "verify.nothing_before",
    )
    assert judge_windows(nothing, nothing, "lower", floor=10.0).outcome == "no_effect"
    assert judge_windows(nothing, side(rng, 50.0), "lower", floor=10.0).outcome == "worse"


def test_what_changed_everywhere_is_not_the_fix() -> None:
    rng = np.random.default_rng(5)
    before, after = side(rng, 50.0), side(rng, 35.0)
    assert judge_windows(before, after, "lower").outcome == "verified"
    peer = side(rng, 50.0), side(rng, 35.0)
    assert judge_windows(before, after, "lower", control=peer).outcome in ("no_effect", "no_conclusion")
    calm = side(rng, 50.0), side(rng, 50.0)
    assert judge_windows(before, after, "lower", control=calm).outcome == "verified"
