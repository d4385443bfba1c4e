"""How intervals of numbers are estimated, and what rules conclude from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation, Measurement, Strength
from culprit.domain.rules.intervals import (
    Interval,
    count_effective,
    estimate_event_rate,
    estimate_mean,
    estimate_quantile,
    estimate_share,
    poisson_interval,
)
from culprit.domain.rules.json_form import finding_from_json, finding_to_json
from culprit.domain.rules.ranking.open_hypotheses import list_open_hypotheses
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, Measure, MetricReading, Rule, Threshold
from culprit.domain.rules.view import CollectorOutcome, HostView, ViewSeries
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text

TEXT = Text("it is", "是")
RUNQ = "sched.runq"
BUSY = "cpu.total_busy_pct"
OVERFLOWS = "tcp.listen_overflows_per_s"
COLLECTOR = {RUNQ: "vmstat", BUSY: "cpu_stat", OVERFLOWS: "netstat_ext"}


def build_series(metric: str, values, times_s=None) -> ViewSeries:
    t_ns = np.array(np.arange(len(values)) if times_s is None else times_s, float) * 1e9
    table = np.array(values, float)[:, None]
    lines = list(range(1, len(values) + 1))
    citation = Citation("r", COLLECTOR[metric], "a", "samples")
    return ViewSeries(metric, {}, None, (), t_ns.astype(np.int64), table, lines, citation)


def view(*series_list: ViewSeries) -> HostView:
    outcomes = {name: CollectorOutcome(name, "done") for name in COLLECTOR.values()}
    return HostView(outcomes, series_list)


def read(metric: str, reduction, values, times_s=None) -> Measurement:
    [result] = take_reading(view(build_series(metric, values, times_s)), MetricReading(metric, reduction))
    return result


def number(value: float, low: float, high: float, name: str = "m") -> Measure:
    interval = Interval("sampled", low, high)
    return Measure(name, "count", TEXT, (), lambda _: [Measurement(value, (), (), 12, interval=interval)])


def rule(measure, threshold: float = 10, op=">", **changes) -> Rule:
    levels = (("warn", Threshold("warn", threshold)),)
    return Rule("F-TEST", TEXT, TEXT, measure, op, levels, Strength.MECHANISM, **changes)


def evaluate(tested: Rule, seen: HostView | None = None):
    [result] = evaluate_rules([tested], seen or view())
    return result


# -- what counts as sampled, as events, as exact --------------------------------------------------------------------


def test_a_gauge_is_sampled_and_a_counter_is_exact() -> None:
    gauge = read(RUNQ, "mean", [1, 2, 3, 2, 1, 2, 3, 2])
    assert (gauge.kind, gauge.sample_count) == ("sampled", 8) and gauge.low < gauge.value < gauge.high
    counter = read(BUSY, "mean", [10, 90, 10, 90])
    assert (counter.kind, counter.low, counter.high) == ("exact", 50, 50)
    events = read(OVERFLOWS, "mean", [2, 2, 2, 2])
    assert events.kind == "events"
    assert (events.low, events.high) == pytest.approx(tuple(end / 4 for end in poisson_interval(8)))


def test_extremes_and_single_readings_are_exact() -> None:
    for how in ("max", "min", "first", "last", "growth"):
        result = read(RUNQ, how, [1, 5, 3])
        assert (result.kind, result.low) == ("exact", result.value)


def test_a_single_reading_of_a_state_limits_nothing() -> None:
    result = read(RUNQ, "mean", [40])
    assert (result.low, result.high) == (0, math.inf)
    assert evaluate(rule(MetricReading(RUNQ)), view(build_series(RUNQ, [40]))).state == "inconclusive"


def test_two_readings_decide_only_what_is_far_away() -> None:
    """Two readings a third apart have one degree of freedom: 12.7 standard errors on either side."""
    states = {
        limit: evaluate(rule(MetricReading(RUNQ), limit), view(build_series(RUNQ, [9, 12]))).state
        for limit in (5, 1000)
    }
    assert states == {5: "inconclusive", 1000: "not_matched"}


def test_held_needs_eight_readings_to_match() -> None:
    reading = rule(MetricReading(RUNQ, "held"), 4)
    assert evaluate(reading, view(build_series(RUNQ, [9] * 7))).state == "inconclusive"
    assert evaluate(reading, view(build_series(RUNQ, [9] * 8))).state == "matched"
    assert evaluate(reading, view(build_series(RUNQ, [1] * 5))).state == "not_matched"


def test_means_are_weighted_by_time() -> None:
    """Half a second of rest in short intervals is half a second, not nine tenths of the readings."""
    times = [*np.arange(1, 10) * 0.05 + 10, 11.45]
    result = read(BUSY, "mean", [0] * 9 + [100], times)
    assert result.value == pytest.approx(100 * 1.0 / (9 * 0.05 + 1.0), rel=1e-6)
    assert read(BUSY, "held", [0] * 9 + [100], times).value == 100


# -- the estimates themselves ---------------------------------------------------------------------------------------


@given(st.integers(0, 5000))
def test_the_poisson_interval_holds_its_count(count: int) -> None:
    low, high = poisson_interval(count)
    assert 0 <= low <= count < high


@pytest.mark.parametrize(
    ("count", "low", "high"), [(0, 0, 3.689), (3, 0.619, 8.767), (10, 4.795, 18.39), (100, 81.36, 121.6)]
)
def test_the_poisson_interval_is_as_published(count: int, low: float, high: float) -> None:
    """Exact limits from E. L. Crow and R. S. Gardner's successors, as in the tables of Breslow and Day, 1987."""
    assert poisson_interval(count) == (pytest.approx(low, rel=0.03, abs=0.01), pytest.approx(high, rel=0.01))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_interval_of_a_mean_holds_it(correlation: float) -> None:
    """Of 400 series of 60 readings at least 90 % hold the true mean, correlated or not; unweighted ones do not."""
    rng = np.random.default_rng(7)
    held = naive = 0
    for _ in range(400):
        noise = rng.normal(size=160)
        for at in range(1, 160):
            noise[at] += correlation * noise[at - 1]
        values = noise[100:]
        interval = estimate_mean(values)
        held += interval.low <= 0 <= interval.high
        half = 2.0 * values.std(ddof=1) / math.sqrt(len(values))
        naive += abs(values.mean()) <= half
    assert held >= 0.9 * 400
    assert correlation < 0.5 or naive < 0.85 * 400


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60))
def test_the_interval_of_a_mean_stays_within_its_limits(values) -> None:
    interval = estimate_mean(np.array(values), None, 0.0, 1e6)
    mean = float(np.mean(values))
    assert 0 <= interval.low <= mean * (1 + 1e-9) and mean <= interval.high * (1 + 1e-9) <= 1e6 * (1 + 1e-9)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60), st.floats(1, 100))
def test_readings_are_worth_no_more_than_their_number(values, count: float) -> None:
    assert 1 <= count_effective(np.array(values), count) <= count


def test_the_interval_of_a_quantile_holds_it() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(500):
        interval = estimate_quantile(rng.uniform(size=30), 0.4, 0.0, 1.0)
        held += interval.low <= 0.4 <= interval.high
    assert held >= 0.93 * 500


@given(st.integers(1, 2000), st.floats(0, 1))
def test_more_samples_make_a_share_surer(samples: int, share: float) -> None:
    few, many = estimate_share(share, samples), estimate_share(share, 4 * samples)
    assert 0 <= few.low <= 100 * share + 1e-9 and many.high - many.low <= few.high - few.low + 1e-9


def test_few_events_do_not_decide_and_none_rules_out() -> None:
    """One event in ten seconds is between 0.01 and 0.6 a second; a counter that counted none caused nothing."""
    assert estimate_event_rate(0, 10).high == pytest.approx(0.367, abs=0.003)
    once = view(build_series(OVERFLOWS, [0] * 9 + [1]))
    assert evaluate(rule(MetricReading(OVERFLOWS), 0.05), once).state == "inconclusive"
    assert evaluate(rule(MetricReading(OVERFLOWS), 0.5), once).state == "inconclusive"
    assert evaluate(rule(MetricReading(OVERFLOWS), 1.0), once).state == "not_matched"
    assert evaluate(rule(MetricReading(OVERFLOWS), 0.0), once).state == "matched", "it was counted"
    none = view(build_series(OVERFLOWS, [0] * 10))
    assert evaluate(rule(MetricReading(OVERFLOWS), 0.05), none).state == "not_matched"


# -- what rules conclude --------------------------------------------------------------------------------------------


@given(st.floats(-50, 50), st.floats(0, 30), st.floats(0, 30), st.sampled_from([">", ">=", "<", "<="]))
def test_only_whole_intervals_decide(value: float, below: float, above: float, op) -> None:
    low, high = value - below, value + above
    state = evaluate(rule(number(value, low, high), 10, op)).state
    beyond = {
        ">": lambda end: end > 10,
        ">=": lambda end: end >= 10,
        "<": lambda end: end < 10,
        "<=": lambda end: end <= 10,
    }
    ends = [beyond[op](end) for end in (low, high)]
    assert state == ("matched" if all(ends) else "inconclusive" if any(ends) else "not_matched")


@given(st.floats(0, 100), st.floats(0, 40), st.floats(0, 40))
def test_a_wider_interval_never_decides_more(value: float, near: float, far: float) -> None:
    narrow = evaluate(rule(number(value, value - near, value + near), 50)).state
    wide = evaluate(rule(number(value, value - near - far, value + near + far), 50)).state
    assert wide in {narrow, "inconclusive"}


def test_a_condition_in_doubt_makes_the_finding_inconclusive() -> None:
    sure, doubtful = number(50, 40, 60), number(50, 5, 95, "other")
    also = (Condition(doubtful, ">", Threshold("other", 10)),)
    result = evaluate(rule(sure, also=also))
    assert (result.state, result.reason.key) == ("inconclusive", "doubt.between")
    assert result.reason.params["threshold"] == 10 and len(result.numbers) == 2
    no = Condition(number(1, 0, 2, "third"), ">", Threshold("third", 10))
    assert evaluate(rule(sure, also=(*also, no))).state == "not_matched", "another condition is surely false"
    any_of = (AnyCondition((also[0], Condition(sure, ">", Threshold("sure", 10)))),)
    assert evaluate(rule(sure, also=any_of)).state == "matched", "another condition is surely true"


def test_a_guard_in_doubt_makes_the_finding_inconclusive() -> None:
    guard = Guard(
        Condition(number(50, 5, 95, "n"), ">", Threshold("n", 10)), Sentence("doubt.few_samples"), True
    )
    assert evaluate(rule(number(50, 40, 60), guards=(guard,))).state == "inconclusive"


def test_an_inconclusive_rule_keeps_its_causes_open() -> None:
    tested = rule(number(9, 5, 95), causes=("a",), suspects=("b",), refutes=("a",))
    for threshold, state, opened in (
        (10, "inconclusive", ["a", "b"]),
        (1, "matched", ["b"]),
        (99, "not_matched", []),
    ):
        used = rule(tested.measure, threshold, causes=("a",), suspects=("b",), refutes=("a",))
        result = evaluate(used)
        assert result.state == state
        assert list_open_hypotheses([result], {"F-TEST": used}, {"a": None, "b": None}, ()) == opened


def test_the_interval_survives_its_json_and_is_valid() -> None:
    for seen in ([40], [1, 2, 3, 4]):
        result = evaluate(rule(MetricReading(RUNQ)), view(build_series(RUNQ, seen)))
        stored = finding_to_json(result)
        assert finding_from_json(stored) == result
        assert stored["numbers"][0]["kind"] == "sampled"
        assert all(
            end is None or math.isfinite(end)
            for end in (stored["numbers"][0][name] for name in ("low", "high"))
        )
    assert (
        finding_to_json(evaluate(rule(MetricReading(RUNQ)), view(build_series(RUNQ, [40]))))["numbers"][0][
            "high"
        ]
        is None
    )


def test_findings_stored_without_intervals_are_exact() -> None:
    stored = finding_to_json(evaluate(rule(MetricReading(RUNQ)), view(build_series(RUNQ, [1, 2, 3]))))
    for name in ("kind", "low", "high"):
        del stored["numbers"][0][name]
    assert finding_from_json(stored).numbers[0].interval is None


def test_counts_from_a_rate_cover_the_time_of_their_own_collector() -> None:
    """A view of several stages is longer than each of them: with its seconds, intervals would be too narrow."""
    outcomes = {
        "qdisc": CollectorOutcome("qdisc", "done", seconds=10.0),
        "links": CollectorOutcome("links", "done"),
    }
    stages = HostView(outcomes, seconds=34.0)
    assert [stages.covered_seconds(name) for name in ("qdisc", "links", "ss")] == [10.0, 34.0, 34.0]
    assert HostView().covered_seconds("qdisc") == 1.0
