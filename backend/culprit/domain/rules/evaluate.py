"""Evaluate rules against a view."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from collectors.contract import Sentence
from culprit.domain.rules.finding import (
    Finding,
    FindingState,
    Measurement,
    MissingData,
    Number,
    Reading,
    Severity,
)
from culprit.domain.rules.readings import get_unit, is_compatible, take_reading
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, RuleInput, Threshold
from culprit.domain.rules.view import HostView

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
#: Findings of one rule at most; the worst subjects are kept.
MAX_SUBJECTS = 20
ThresholdValues = Mapping[str, float]
"""Overrides by `<rule id>.<threshold name>`, resolved for this host."""


@dataclass(slots=True)
class _Session:
    """One evaluation: each measure is read once."""

    view: HostView
    thresholds: ThresholdValues
    readings: dict[tuple[int, str], Reading] = field(default_factory=dict)

    def read(self, view: HostView, read: RuleInput) -> Reading:
        key = (id(view), read.id)
        if key not in self.readings:
            self.readings[key] = take_reading(view, read)
        return self.readings[key]

    def get_threshold(self, rule: Rule, threshold: Threshold) -> float:
        return self.thresholds.get(f"{rule.id}.{threshold.name}", threshold.value)


@dataclass(frozen=True, slots=True)
class _Held:
    """The result of a condition for one subject: True, False, or None if it is unknown."""

    holds: bool | None
    number: Number | None = None
    reason: Sentence | None = None
    quality_issues: tuple[Sentence, ...] = ()


def evaluate_rules(
    rules: Iterable[Rule], view: HostView, thresholds: ThresholdValues | None = None
) -> list[Finding]:
    """Return the findings of all rules, in the order of the rules; at least one per rule.

    `thresholds` are overrides (see `Thresholds`). A rule without data returns one finding `not_evaluated`
    with the reason. A rule that does not match returns one finding `not_matched` with its nearest number.
    """
    session = _Session(view, thresholds or {})
    return [finding for rule in rules for finding in _of(session, rule)]


def _of(session: _Session, rule: Rule) -> list[Finding]:
    mildest = rule.thresholds[0]
    reading = session.read(session.view, rule.measure)
    if isinstance(reading, MissingData):
        return [Finding(rule.id, "not_evaluated", mildest[0], rule.strength, (), (), reading.reason)]
    findings = [_evaluate_rule(session, rule, measured) for measured in reading]
    matched = [finding for finding in findings if finding.state in ("matched", "inconclusive")]
    if matched:
        matched.sort(key=lambda item: (item.state != "matched", -_excess(rule, item)))
        return matched[:MAX_SUBJECTS]
    unsaid = [finding for finding in findings if finding.state == "not_evaluated"]
    if unsaid:
        return [max(unsaid, key=lambda item: _excess(rule, item))]
    if findings:
        return [max(findings, key=lambda finding: _excess(rule, finding))]
    return [Finding(rule.id, "not_matched", mildest[0], rule.strength, ())]


def _excess(rule: Rule, finding: Finding) -> float:
    """Return how far a number is beyond its threshold, for sorting."""
    value = finding.numbers[0].value if finding.numbers else 0.0
    return value if rule.op in (">", ">=", "==", "!=") else -value


def _evaluate_rule(session: _Session, rule: Rule, measured: Measurement) -> Finding:
    severity: Severity = rule.thresholds[0][0]
    passed: float | None = None
    for level, limit in rule.thresholds:
        bound = session.get_threshold(rule, limit)
        if _COMPARE[rule.op](measured.value, bound):
            severity, passed = level, bound
    bound = session.get_threshold(rule, rule.thresholds[0][1]) if passed is None else passed
    own = Number(
        rule.measure.id, measured.value, get_unit(rule.measure), rule.op, bound, measured.citations,
        _baseline_value(session, rule.measure, measured), measured.sample_count,
    )  # fmt: skip
    base = Finding(
        rule.id, "not_matched", severity, rule.strength, measured.subject, (own,), None, measured.detail
    )
    if passed is None:
        if measured.quality_issues:
            return _as(base, "not_evaluated", (own,), measured.quality_issues[0])
        open_end = _other_end(rule, measured, bound, passed=False)
        return base if open_end is None else _as(base, "not_evaluated", (own,), open_end)
    held = [_holds(session, rule, item, measured) for item in rule.also]
    numbers = (own, *(item.number for item in held if item.number is not None))
    if any(item.holds is False for item in held):
        return _as(base, "not_matched", numbers)
    unknown = next((item for item in held if item.holds is None), None)
    if unknown is not None:
        return _as(base, "not_evaluated", numbers, unknown.reason)
    for guard in rule.guards:
        stored = _holds(session, rule, guard.condition, measured)
        if guard.skip_when_missing:
            if stored.holds is None:
                continue
            numbers = (*numbers, *((stored.number,) if stored.number else ()))
        if stored.holds is not True and guard.unless is not None:
            instead = _holds(session, rule, guard.unless, measured)
            if instead.holds and instead.number:
                numbers = (*numbers, instead.number)
                continue
        if stored.holds is not True:
            params = {"value": round(stored.number.value, 3)} if stored.number else {}
            reason = Sentence(guard.reason.key, {**guard.reason.params, **params})
            return _as(base, "inconclusive", numbers, reason)
    quality_issues = (*measured.quality_issues, *(doubt for item in held for doubt in item.quality_issues))
    open_end = _other_end(rule, measured, session.get_threshold(rule, rule.thresholds[0][1]), passed=True)
    for doubt in (*quality_issues, *((open_end,) if open_end else ())):
        return _as(base, "inconclusive", numbers, doubt)
    return _as(base, "matched", (*numbers, *_list_related_numbers(session, rule, measured, numbers)))


def _list_related_numbers(
    session: _Session, rule: Rule, about: Measurement, numbers: tuple[Number, ...]
) -> Iterator[Number]:
    """Return the related numbers of a match: of the same subject, or of what it is part of."""
    known = {number.measure for number in numbers}
    for read in rule.related:
        reading = session.read(session.view, read)
        if read.id in known or isinstance(reading, MissingData):
            continue
        fitting = [item for item in reading if _is_related(read, item, about)]
        if not fitting:
            continue
        item = max(fitting, key=lambda each: len(each.subject))
        yield Number(
            read.id, item.value, get_unit(read), None, None, item.citations, _baseline_value(session, read, item),
            item.sample_count, None if item.subject == about.subject else item.subject,
        )  # fmt: skip


def _is_related(read: RuleInput, measurement: Measurement, about: Measurement) -> bool:
    """Return whether a number has no quality issues, has a source, and is about nothing that the finding is
    not about.
    """
    where = set(read.where.items()) if isinstance(read, MetricReading) else set()
    sound = (
        math.isfinite(measurement.value) and not measurement.quality_issues and bool(measurement.citations)
    )
    return sound and set(measurement.subject) - where <= set(about.subject)


def _other_end(rule: Rule, measured: Measurement, bound: float, *, passed: bool) -> Sentence | None:
    """Return the reason why the result would differ at another value within the bounds, or None."""
    if measured.bounds is None:
        return None
    low, high, why = measured.bounds
    return why if any(_COMPARE[rule.op](end, bound) is not passed for end in (low, high)) else None


def _as(
    finding: Finding, state: FindingState, numbers: tuple[Number, ...], reason: Sentence | None = None
) -> Finding:
    return replace(finding, state=state, numbers=numbers, reason=reason)


def _holds(session: _Session, rule: Rule, condition: Condition | AnyCondition, about: Measurement) -> _Held:
    if isinstance(condition, AnyCondition):
        each = [_holds(session, rule, condition, about) for condition in condition.conditions]
        for requested in (True, None, False):
            result = next((item for item in each if item.holds is requested), None)
            if result is not None:
                return result
    assert isinstance(condition, Condition)
    reading = session.read(session.view, condition.read)
    if isinstance(reading, MissingData):
        return _Held(None, reason=reading.reason)
    fitting = [item for item in reading if is_compatible(about.subject, item.subject)]
    if not fitting:
        return _Held(False)
    up = condition.op in (">", ">=", "==", "!=")
    worst = max(fitting, key=lambda item: item.value if up else -item.value)
    bound = session.get_threshold(rule, condition.threshold)
    before = _baseline_value(session, condition.read, worst)
    if condition.against == "baseline":
        if before is None:
            return _Held(None, reason=Sentence("missing.no_baseline", {"measure": condition.read.id}))
        bound *= before
    unit = get_unit(condition.read)
    number = Number(
        condition.read.id, worst.value, unit, condition.op, bound, worst.citations, before, worst.sample_count
    )
    return _Held(_COMPARE[condition.op](worst.value, bound), number, None, worst.quality_issues)


def _baseline_value(session: _Session, read: RuleInput, measured: Measurement) -> float | None:
    """Return the same measure of the same subject in the baseline."""
    if session.view.baseline is None:
        return None
    reading = session.read(session.view.baseline, read)
    if isinstance(reading, MissingData):
        return None
    fitting = [item for item in reading if item.subject == measured.subject]
    return fitting[0].value if fitting else None
