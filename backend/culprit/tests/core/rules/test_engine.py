"""Rules against views: what fires, what stays quiet, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pytest
from culprit.core.intervals import wilson
from culprit.core.rules.contract import (
    AnyOf,
    Citation,
    Condition,
    Grade,
    Guard,
    Limit,
    Measure,
    Measured,
    Over,
    Rule,
)
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.form import finding, read_finding
from culprit.core.rules.read import reduced
from culprit.core.rules.view import Lane, Outcome, View
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text

SAYS = Text("it is", "是")
OVERFLOWS = "tcp.listen_overflows_per_s"
BUSY = "psi.some_pct"


def lane(metric: str, *values: float, collector: str = "netstat_ext", **labels: str) -> Lane:
    t_ns = np.arange(len(values), dtype=np.int64) * 10**9
    table = np.array(values, float)[:, None]
    lines = list(range(1, len(values) + 1))
    return Lane(metric, labels, None, (), t_ns, table, lines, Citation("r", collector, "a", "samples"))


def view(*lanes: Lane, baseline: View | None = None, **outcomes: str) -> View:
    known = {one.cite.collector: Outcome(one.cite.collector, "done") for one in lanes}
    known |= {
        name: Outcome(name, state, reason=Sentence("reason.needs_root") if state == "skipped" else None)
        for name, state in outcomes.items()
    }
    return View(known, lanes, baseline=baseline)


def rule(**changes) -> Rule:
    values = {
        "id": "F-TEST",
        "title": SAYS,
        "says": SAYS,
        "measure": Over(OVERFLOWS),
        "op": ">",
        "levels": (("warn", Limit("warn", 10)), ("critical", Limit("critical", 100))),
        "grade": Grade.DIRECT,
    }
    return Rule(**(values | changes))


def one(made: Rule, seen: View, **thresholds: float):
    [found] = evaluate([made], seen, {f"F-TEST.{name}": value for name, value in thresholds.items()})
    return found


@pytest.mark.parametrize(
    ("values", "state", "severity", "threshold"),
    [((0, 0), "quiet", "warn", 10), ((20, 40), "fired", "warn", 10), ((200, 400), "fired", "critical", 100)],
)
def test_levels(values, state, severity, threshold) -> None:
    found = one(rule(), view(lane(OVERFLOWS, *values)))
    assert (found.state, found.severity, found.numbers[0].threshold) == (state, severity, threshold)
    assert found.numbers[0].value == np.mean(values)
    assert found.numbers[0].citations[0].lines == (1, 2)


def test_a_threshold_can_be_set() -> None:
    seen = view(lane(OVERFLOWS, 20, 40))
    assert one(rule(), seen, warn=50).state == "quiet"
    assert one(rule(), seen, critical=25).severity == "critical"


def test_nothing_collected_is_not_quiet() -> None:
    found = one(rule(), view())
    assert (found.state, found.reason.key) == ("not_evaluated", "missing.not_collected")
    found = one(rule(), view(netstat_ext="skipped"))
    assert found.reason == Sentence("reason.needs_root", {"collector": "netstat_ext"})
    found = one(rule(), view(netstat_ext="done"))
    assert found.reason.key == "missing.no_data"


def test_gaps_are_no_data() -> None:
    assert one(rule(), view(lane(OVERFLOWS, np.nan, np.nan))).state == "not_evaluated"
    assert one(rule(), view(lane(OVERFLOWS, np.nan, 30))).numbers[0].value == 30


def test_conditions_of_the_same_subject() -> None:
    """Two groups: one is over the first limit, the other over the second. Neither is both."""
    also = (Condition(Over("psi.full_pct"), ">", Limit("full", 5)),)
    made = rule(measure=Over(BUSY), also=also)

    def pressure(cpu: float, cpu_full: float, io: float, io_full: float) -> View:
        return view(
            lane(BUSY, cpu, collector="psi", resource="cpu"),
            lane(BUSY, io, collector="psi", resource="io"),
            lane("psi.full_pct", cpu_full, collector="psi", resource="cpu"),
            lane("psi.full_pct", io_full, collector="psi", resource="io"),
        )

    assert one(made, pressure(50, 0, 1, 50)).state == "quiet"
    found = one(made, pressure(50, 6, 1, 50))
    assert (found.state, dict(found.subject)) == ("fired", {"resource": "cpu"})
    assert [number.measure for number in found.numbers] == ["psi.some_pct.mean", "psi.full_pct.mean"]


def test_an_unknown_condition_leaves_it_open_and_a_false_one_does_not() -> None:
    unknown = Condition(Over("psi.full_pct"), ">", Limit("full", 5))
    seen = view(lane(OVERFLOWS, 50))
    assert one(rule(also=(unknown,)), seen).state == "not_evaluated"
    low = Condition(Over(OVERFLOWS), "<", Limit("low", 1))
    assert one(rule(also=(unknown, low)), seen).state == "quiet"
    high = Condition(Over(OVERFLOWS), ">", Limit("high", 1))
    assert one(rule(also=(AnyOf((unknown, high)),)), seen).state == "fired"
    assert one(rule(also=(AnyOf((unknown, low)),)), seen).state == "not_evaluated"


def test_a_guard_makes_it_inconclusive_with_the_reason() -> None:
    guard = Guard(Condition(Over(OVERFLOWS, "max"), ">", Limit("n", 1000)), Sentence("doubt.few_samples"))
    found = one(rule(guards=(guard,)), view(lane(OVERFLOWS, 50)))
    assert (found.state, found.reason.key) == ("inconclusive", "doubt.few_samples")
    assert found.reason.params["value"] == 50


def test_doubts_of_a_number_make_it_inconclusive() -> None:
    doubt = Sentence("doubt.lost", {"lost": 5, "total": 10})
    measure = Measure("x", "pct", SAYS, (), lambda _: [Measured(50.0, doubts=(doubt,))])
    found = one(rule(measure=measure), view())
    assert (found.state, found.reason) == ("inconclusive", doubt)
    found = one(rule(measure=measure), view(), warn=60)
    assert (found.state, found.reason) == ("not_evaluated", doubt), "what is not known rules nothing out"


def test_where_the_value_may_lie_on_either_side_nothing_is_told() -> None:
    why = Sentence("doubt.between", {"samples": 40, "low": 30, "high": 65})
    measure = Measure("x", "pct", SAYS, (), lambda _: [Measured(50.0, between=(30.0, 65.0, why))])
    told = {warn: one(rule(measure=measure), view(), warn=warn) for warn in (20, 40, 60, 70)}
    assert [each.state for each in told.values()] == ["fired", "inconclusive", "not_evaluated", "quiet"]
    assert told[40].reason == told[60].reason == why


@given(st.integers(1, 5000), st.floats(0, 1))
def test_the_interval_of_a_share_holds_it_and_shrinks(samples: int, share: float) -> None:
    low, high = wilson(share, samples)
    assert 0 <= low <= share + 1e-9 and share - 1e-9 <= high <= 1
    wide_low, wide_high = wilson(share, max(1, samples // 4))
    assert wide_high - wide_low >= high - low - 1e-9


def test_against_a_baseline() -> None:
    also = (Condition(Over(OVERFLOWS), ">", Limit("times", 3), "baseline"),)
    now = lane(OVERFLOWS, 50)
    assert one(rule(also=also), view(now)).reason.key == "missing.no_baseline"
    before = view(lane(OVERFLOWS, 40))
    assert one(rule(also=also), view(now, baseline=before)).state == "quiet"
    found = one(rule(also=also), view(now, baseline=view(lane(OVERFLOWS, 10))))
    assert (found.state, found.numbers[0].baseline, found.numbers[1].threshold) == ("fired", 10, 30)


def test_the_worst_subjects_are_told() -> None:
    lanes = [lane(BUSY, float(at), collector="psi", resource=str(at)) for at in range(50)]
    found = evaluate([rule(measure=Over(BUSY))], view(*lanes))
    assert len(found) == 20
    assert found[0].numbers[0].value == 49
    assert all(one.state == "fired" for one in found)


def test_a_finding_survives_its_json() -> None:
    found = one(rule(), view(lane(OVERFLOWS, 20, 40)))
    assert read_finding(finding(found)) == found
    open_one = one(rule(), view(netstat_ext="skipped"))
    assert read_finding(finding(open_one)) == open_one


numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30)


@given(numbers)
def test_held_is_true_of_sixty_percent(values) -> None:
    held = reduced(np.array(values), "held")
    assert sum(value >= held for value in values) >= 0.6 * len(values)
    below = reduced(np.array(values), "held_below")
    assert sum(value <= below for value in values) >= 0.6 * len(values)


@given(numbers, st.floats(0.1, 1e6))
def test_a_higher_threshold_never_fires_more(values, higher) -> None:
    seen = view(lane(OVERFLOWS, *values))
    if one(rule(), seen).state == "quiet":
        assert one(rule(), seen, warn=10 + higher, critical=100 + higher).state == "quiet"
