"""Rules against views: matched, not matched and inconclusive results."""

from __future__ import annotations

import numpy as np
import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation, Measurement, Strength
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.json_form import finding_from_json, finding_to_json
from culprit.domain.rules.readings import reduce_values
from culprit.domain.rules.registry import find_ambiguous_measures
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, Measure, MetricReading, Rule, Threshold
from culprit.domain.rules.view import CollectorOutcome, HostView, ViewSeries
from culprit.domain.statistics.intervals import wilson_interval
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence, Text

TEXT = Text("it is", "是")
OVERFLOWS = "tcp.listen_overflows_per_s"
BUSY = "psi.some_pct"


def build_series(metric: str, *values: float, collector: str = "netstat_ext", **labels: str) -> ViewSeries:
    t_ns = np.arange(len(values), dtype=np.int64) * 10**9
    table = np.array(values, float)[:, None]
    lines = list(range(1, len(values) + 1))
    return ViewSeries(metric, labels, None, (), t_ns, table, lines, Citation("r", collector, "a", "samples"))


def view(*series_list: ViewSeries, baseline: HostView | None = None, **outcomes: str) -> HostView:
    known = {
        series.citation.collector: CollectorOutcome(series.citation.collector, "done")
        for series in series_list
    }
    known |= {
        name: CollectorOutcome(
            name, state, reason=Sentence("reason.needs_root") if state == "skipped" else None
        )
        for name, state in outcomes.items()
    }
    return HostView(known, series_list, baseline=baseline)


def rule(**changes) -> Rule:
    values = {
        "id": "F-TEST",
        "title": TEXT,
        "summary": TEXT,
        "measure": MetricReading(OVERFLOWS),
        "op": ">",
        "thresholds": (("warn", Threshold("warn", 10)), ("critical", Threshold("critical", 100))),
        "strength": Strength.DIRECT,
    }
    return Rule(**(values | changes))


def evaluate_rule(rule: Rule, seen: HostView, **thresholds: float):
    [result] = evaluate_rules([rule], seen, {f"F-TEST.{name}": value for name, value in thresholds.items()})
    return result


@pytest.mark.parametrize(
    ("values", "state", "severity", "threshold"),
    [
        ((0, 0), "not_matched", "warn", 10),
        ((20, 40), "matched", "warn", 10),
        ((200, 400), "matched", "critical", 100),
    ],
)
def test_levels(values, state, severity, threshold) -> None:
    result = evaluate_rule(rule(), view(build_series(OVERFLOWS, *values)))
    assert (result.state, result.severity, result.numbers[0].threshold) == (state, severity, threshold)
    assert result.numbers[0].value == np.mean(values)
    assert result.numbers[0].citations[0].lines == (1, 2)


def test_a_threshold_can_be_set() -> None:
    seen = view(build_series(OVERFLOWS, *[20, 40] * 20))
    assert evaluate_rule(rule(), seen, warn=50).state == "not_matched"
    assert evaluate_rule(rule(), seen, critical=25).severity == "critical"


def test_nothing_collected_is_not_quiet() -> None:
    result = evaluate_rule(rule(), view())
    assert (result.state, result.reason.key) == ("not_evaluated", "missing.not_collected")
    result = evaluate_rule(rule(), view(netstat_ext="skipped"))
    assert result.reason == Sentence("reason.needs_root", {"collector": "netstat_ext"})
    result = evaluate_rule(rule(), view(netstat_ext="done"))
    assert result.reason.key == "missing.no_data"


def test_gaps_are_no_data() -> None:
    assert evaluate_rule(rule(), view(build_series(OVERFLOWS, np.nan, np.nan))).state == "not_evaluated"
    assert evaluate_rule(rule(), view(build_series(OVERFLOWS, np.nan, 30))).numbers[0].value == 30


def test_conditions_of_the_same_subject() -> None:
    """Two groups: one is over the first limit, the other over the second. Neither is both."""
    also = (Condition(MetricReading("psi.full_pct"), ">", Threshold("full", 5)),)
    result = rule(measure=MetricReading(BUSY), also=also)

    def pressure(cpu: float, cpu_full: float, io: float, io_full: float) -> HostView:
        return view(
            build_series(BUSY, cpu, collector="psi", resource="cpu"),
            build_series(BUSY, io, collector="psi", resource="io"),
            build_series("psi.full_pct", cpu_full, collector="psi", resource="cpu"),
            build_series("psi.full_pct", io_full, collector="psi", resource="io"),
        )

    assert evaluate_rule(result, pressure(50, 0, 1, 50)).state == "not_matched"
    outcome = evaluate_rule(result, pressure(50, 6, 1, 50))
    assert (outcome.state, dict(outcome.subject)) == ("matched", {"resource": "cpu"})
    assert [number.measure for number in outcome.numbers] == ["psi.some_pct.mean", "psi.full_pct.mean"]


def test_unknown_condition_is_not_evaluated_unless_another_is_false() -> None:
    unknown = Condition(MetricReading("psi.full_pct"), ">", Threshold("full", 5))
    seen = view(build_series(OVERFLOWS, 50))
    assert evaluate_rule(rule(also=(unknown,)), seen).state == "not_evaluated"
    low = Condition(MetricReading(OVERFLOWS), "<", Threshold("low", 1))
    assert evaluate_rule(rule(also=(unknown, low)), seen).state == "not_matched"
    high = Condition(MetricReading(OVERFLOWS), ">", Threshold("high", 1))
    assert evaluate_rule(rule(also=(AnyCondition((unknown, high)),)), seen).state == "matched"
    assert evaluate_rule(rule(also=(AnyCondition((unknown, low)),)), seen).state == "not_evaluated"


def test_a_guard_makes_it_inconclusive_with_the_reason() -> None:
    guard = Guard(
        Condition(MetricReading(OVERFLOWS, "max"), ">", Threshold("n", 1000)), Sentence("doubt.few_samples")
    )
    result = evaluate_rule(rule(guards=(guard,)), view(build_series(OVERFLOWS, 50)))
    assert (result.state, result.reason.key) == ("inconclusive", "doubt.few_samples")
    assert result.reason.params["value"] == 50


def test_doubts_of_a_number_make_it_inconclusive() -> None:
    doubt = Sentence("doubt.lost", {"lost": 5, "total": 10})
    measure = Measure("x", "pct", TEXT, (), lambda _: [Measurement(50.0, quality_issues=(doubt,))])
    result = evaluate_rule(rule(measure=measure), view())
    assert (result.state, result.reason) == ("inconclusive", doubt)
    result = evaluate_rule(rule(measure=measure), view(), warn=60)
    assert (result.state, result.reason) == ("not_evaluated", doubt), "what is not known rules nothing out"


def test_an_interval_around_the_threshold_is_inconclusive() -> None:
    interval = Interval("sampled", 30.0, 65.0)
    measure = Measure("x", "pct", TEXT, (), lambda _: [Measurement(50.0, (), (), 40, interval=interval)])
    states = {
        warn: evaluate_rule(rule(measure=measure), view(), warn=warn).state for warn in (20, 40, 60, 70)
    }
    assert states == {20: "matched", 40: "inconclusive", 60: "inconclusive", 70: "not_matched"}
    result = evaluate_rule(rule(measure=measure), view(), warn=60)
    assert result.reason == Sentence(
        "doubt.between", {"value": 50.0, "samples": 40, "low": 30.0, "high": 65.0, "threshold": 60}
    )


@given(st.integers(1, 5000), st.floats(0, 1))
def test_the_interval_of_a_share_holds_it_and_shrinks(samples: int, share: float) -> None:
    low, high = wilson_interval(share, samples)
    assert 0 <= low <= share + 1e-9 and share - 1e-9 <= high <= 1
    wide_low, wide_high = wilson_interval(share, max(1, samples // 4))
    assert wide_high - wide_low >= high - low - 1e-9


def test_against_a_baseline() -> None:
    also = (Condition(MetricReading(OVERFLOWS), ">", Threshold("times", 3), "baseline"),)
    now = build_series(OVERFLOWS, 50)
    assert evaluate_rule(rule(also=also), view(now)).reason.key == "missing.no_baseline"
    before = view(build_series(OVERFLOWS, 40))
    assert evaluate_rule(rule(also=also), view(now, baseline=before)).state == "not_matched"
    result = evaluate_rule(rule(also=also), view(now, baseline=view(build_series(OVERFLOWS, 10))))
    assert (result.state, result.numbers[0].baseline, result.numbers[1].threshold) == ("matched", 10, 30)


def test_evaluate_rules_keeps_worst_subjects() -> None:
    series_list = [build_series(BUSY, float(at), collector="psi", resource=str(at)) for at in range(50)]
    rules = evaluate_rules([rule(measure=MetricReading(BUSY))], view(*series_list))
    assert len(rules) == 20
    assert rules[0].numbers[0].value == 49
    assert all(rule.state == "matched" for rule in rules)


def test_a_finding_survives_its_json() -> None:
    result = evaluate_rule(rule(), view(build_series(OVERFLOWS, 20, 40)))
    assert finding_from_json(finding_to_json(result)) == result
    open_item = evaluate_rule(rule(), view(netstat_ext="skipped"))
    assert finding_from_json(finding_to_json(open_item)) == open_item


numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30)


@given(numbers)
def test_held_is_true_of_sixty_percent(values) -> None:
    held = reduce_values(np.array(values), "held")
    assert sum(value >= held for value in values) >= 0.6 * len(values)
    below = reduce_values(np.array(values), "held_below")
    assert sum(value <= below for value in values) >= 0.6 * len(values)


@given(numbers, st.floats(0.1, 1e6))
def test_a_higher_threshold_never_fires_more(values, higher) -> None:
    seen = view(build_series(OVERFLOWS, *values))
    if evaluate_rule(rule(), seen).state == "not_matched":
        assert evaluate_rule(rule(), seen, warn=10 + higher, critical=100 + higher).state == "not_matched"


def test_each_measure_has_an_id_of_its_own() -> None:
    """Numbers are stored by ID: of two measures with one ID, each rule would read what the other one computed."""
    first, other = (Measure("m", "pct", TEXT, (), lambda view, n=n: [Measurement(n)]) for n in (1.0, 2.0))
    assert find_ambiguous_measures([rule(measure=first), rule(measure=first)]) == []
    assert find_ambiguous_measures([rule(measure=first), rule(related=(other,))]) == ["m"]
