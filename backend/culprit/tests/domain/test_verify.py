"""Whether a fix worked: false alarms, real changes, and what may not be concluded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from culprit.core.intervals import student
from culprit.core.verify import Judged, Window, judge
from hypothesis import given
from hypothesis import strategies as st

SECONDS = 10


def window(rng: np.random.Generator, mean: float, noise: float = 0.05, load: float = 100.0) -> Window:
    """Seconds that resemble the one before them, around a mean that differs a little from capture to capture."""
    drawn, values = rng.normal(size=SECONDS), np.empty(SECONDS)
    values[0] = drawn[0]
    for at in range(1, SECONDS):
        values[at] = 0.5 * values[at - 1] + 0.87 * drawn[at]
    return Window(mean * (1 + 0.4 * noise * rng.normal()) + mean * noise * values, load)


def side(rng: np.random.Generator, mean: float, count: int = 5, **how: float) -> list[Window]:
    return [window(rng, mean, **how) for _ in range(count)]


@pytest.mark.parametrize(
    ("confidence", "freedom", "table"),
    [(0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 10, 2.228), (0.99, 5, 4.032), (0.95, 1000, 1.962)],
)
def test_students_t_is_that_of_the_tables(confidence: float, freedom: float, table: float) -> None:
    assert student(confidence, freedom) == pytest.approx(table, abs=0.001)


@pytest.mark.parametrize(
    ("change", "expected", "least"),
    [(0.0, "no_effect", 0.8), (-0.2, "verified", 0.9), (0.2, "worse", 0.9)],
)
def test_what_is_said_of_known_changes(change: float, expected: str, least: float) -> None:
    rng = np.random.default_rng(7)
    told = Counter(
        judge(side(rng, 50.0), side(rng, 50.0 * (1 + change)), "lower").outcome for _ in range(200)
    )
    assert told[expected] / 200 >= least, told
    wrong = {
        "no_effect": ("verified", "worse"),
        "verified": ("worse", "no_effect"),
        "worse": ("verified", "no_effect"),
    }
    assert sum(told[one] for one in wrong[expected]) <= 4, told


def test_the_interval_holds_the_change() -> None:
    rng = np.random.default_rng(3)
    found = [judge(side(rng, 50.0, noise=0.15), side(rng, 40.0, noise=0.15), "lower") for _ in range(300)]
    assert np.mean([one.low <= -0.2 <= one.high for one in found]) >= 0.93


@given(st.integers(0, 10_000), st.sampled_from(["lower", "higher"]), st.floats(0.01, 0.5))
def test_better_and_worse_are_one_anothers_mirror(seed: int, better: str, noise: float) -> None:
    rng = np.random.default_rng(seed)
    before, after = side(rng, 50.0, noise=noise), side(rng, 42.0, noise=noise)
    one = judge(before, after, better)  # type: ignore[arg-type]
    other = judge(before, after, "lower" if better == "higher" else "higher")
    mirror = {"verified": "worse", "worse": "verified"}
    assert other.outcome == mirror.get(one.outcome, one.outcome) and one.low <= one.change <= one.high
    assert (one.reason is None) == (one.outcome != "no_conclusion")


def told(found: Judged) -> tuple[str, str]:
    assert found.reason is not None
    return found.outcome, found.reason.key


def test_too_few_windows_conclude_nothing() -> None:
    rng = np.random.default_rng(1)
    empty = Window(np.full(SECONDS, np.nan), 100.0)
    assert told(judge([*side(rng, 50.0, 2), empty], side(rng, 20.0), "lower")) == (
        "no_conclusion",
        "verify.few_windows",
    )


def test_unlike_load_concludes_nothing_unless_it_can_be_told_per_unit_of_work() -> None:
    rng = np.random.default_rng(2)
    before, after = side(rng, 50.0), side(rng, 25.0, load=50.0)
    assert told(judge(before, after, "lower")) == ("no_conclusion", "verify.unlike_load")
    found = judge(before, after, "lower", divisible=True)
    assert (found.outcome, found.per_work) == ("no_effect", True), "half the work, half the CPU"
    unknown = [Window(one.values, float("nan")) for one in after]
    assert told(judge(before, unknown, "lower")) == ("no_conclusion", "verify.load_unknown")


def test_what_more_work_cannot_have_done_is_told() -> None:
    """A service that answers again does more; that its queue overflows no longer is the fix, and not the load."""
    rng = np.random.default_rng(3)
    ill, well = side(rng, 50.0, load=50.0), side(rng, 5.0)
    found = judge(ill, well, "lower")
    assert told(found) == ("verified", "verify.in_spite_of_load") and found.high < -0.8
    assert told(judge(side(rng, 5.0), side(rng, 50.0, load=50.0), "lower"))[0] == "worse", "with less to do"
    assert told(judge(side(rng, 5.0, load=50.0), side(rng, 50.0), "lower")) == (
        "no_conclusion",
        "verify.unlike_load",
    )
    assert told(judge(ill, side(rng, 50.0), "lower")) == ("no_conclusion", "verify.unlike_load")
    assert judge(side(rng, 5.0, load=50.0), side(rng, 50.0), "higher").outcome == "verified"


def test_what_was_nothing_needs_a_floor() -> None:
    rng = np.random.default_rng(4)
    nothing = [Window(np.zeros(SECONDS), 100.0) for _ in range(3)]
    assert told(judge(nothing, side(rng, 50.0), "lower")) == ("no_conclusion", "verify.nothing_before")
    assert judge(nothing, nothing, "lower", floor=10.0).outcome == "no_effect"
    assert judge(nothing, side(rng, 50.0), "lower", floor=10.0).outcome == "worse"


def test_what_changed_everywhere_is_not_the_fix() -> None:
    rng = np.random.default_rng(5)
    before, after = side(rng, 50.0), side(rng, 35.0)
    assert judge(before, after, "lower").outcome == "verified"
    peer = side(rng, 50.0), side(rng, 35.0)
    assert judge(before, after, "lower", control=peer).outcome in ("no_effect", "no_conclusion")
    calm = side(rng, 50.0), side(rng, 50.0)
    assert judge(before, after, "lower", control=calm).outcome == "verified"
