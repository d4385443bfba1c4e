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
    Op,
    Reading,
    Severity,
    Subject,
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
_UPWARD = frozenset({">", ">=", "==", "!="})
_ORDER: tuple[FindingState, ...] = ("matched", "inconclusive", "not_evaluated", "not_matched")
#: Findings of one rule at most; the worst subjects are kept.
MAX_SUBJECTS = 20
ThresholdValues = Mapping[str, float]
"""Overrides by `<rule id>.<threshold name>`, resolved for this host."""
OnFailure = Callable[[RuleInput, Exception], None]
"""Called with a measure that failed and its error."""
#: Errors that a measure raises for data that its author did not expect.
READING_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(slots=True)
class _Session:
    """One evaluation: each measure is read once."""

    view: HostView
    thresholds: ThresholdValues
    on_failure: OnFailure | None = None
    readings: dict[tuple[int, str], Reading] = field(default_factory=dict)

    def read(self, view: HostView, read: RuleInput) -> Reading:
        key = (id(view), read.id)
        if key not in self.readings:
            self.readings[key] = self._take(view, read)
        return self.readings[key]

    def _take(self, view: HostView, read: RuleInput) -> Reading:
        try:
            return take_reading(view, read)
        except READING_ERRORS as error:
            if self.on_failure is None:
                raise
            self.on_failure(read, error)
            return MissingData(Sentence("missing.measure_failed", {"measure": read.id}))

    def get_threshold(self, rule: Rule, threshold: Threshold) -> float:
        return self.thresholds.get(f"{rule.id}.{threshold.name}", threshold.value)


@dataclass(frozen=True, slots=True)
class _Held:
    """The result of a condition for one subject: True, False, or None if it is not known.

    It is not known because data is missing (`number` is None), or because the interval contains the threshold.
    """

    holds: bool | None
    number: Number | None = None
    reason: Sentence | None = None
    quality_issues: tuple[Sentence, ...] = ()

    @property
    def is_missing(self) -> bool:
        """Return whether there is no number to compare."""
        return self.holds is None and self.number is None


def evaluate_rules(
    rules: Iterable[Rule],
    view: HostView,
    thresholds: ThresholdValues | None = None,
    on_failure: OnFailure | None = None,
) -> list[Finding]:
    """Return the findings of all rules, in the order of the rules; at least one per rule.

    `thresholds` are overrides (see `Thresholds`). A rule without data returns one finding `not_evaluated`
    with the reason. A rule that does not match returns one finding `not_matched` with its nearest number.

    A number is beyond a threshold only if its whole 95 % interval is, and on the other side only if the whole
    interval is there; otherwise the finding is inconclusive.

    A measure that raises one of `READING_ERRORS` is passed to `on_failure`, and its rules are `not_evaluated`.
    Without `on_failure` the error is raised.
    """
    session = _Session(view, thresholds or {}, on_failure)
    return [finding for rule in rules for finding in _of(session, rule)]


def _of(session: _Session, rule: Rule) -> list[Finding]:
    mildest = rule.thresholds[0]
    reading = session.read(session.view, rule.measure)
    if isinstance(reading, MissingData):
        return [Finding(rule.id, "not_evaluated", mildest[0], rule.strength, (), (), reading.reason)]
    findings = [_evaluate_rule(session, rule, measured) for measured in reading]
    findings.sort(key=lambda item: -_excess(rule, item))
    by_state = {state: [item for item in findings if item.state == state] for state in _ORDER}
    matched, beyond = by_state["matched"], by_state["inconclusive"]
    if matched or beyond:
        # a number on the other side of the threshold is reported once: its rule rules nothing out
        passing = [item for item in beyond if _passes(rule, item)]
        return [*matched, *(passing or beyond[: int(not matched)])][:MAX_SUBJECTS]
    for state in ("not_evaluated", "not_matched"):
        if by_state[state]:
            return by_state[state][:1]
    return [Finding(rule.id, "not_matched", mildest[0], rule.strength, ())]


def _excess(rule: Rule, finding: Finding) -> float:
    """Return how far a number is beyond its threshold, for sorting."""
    value = finding.numbers[0].value if finding.numbers else 0.0
    return value if rule.op in _UPWARD else -value


def _passes(rule: Rule, finding: Finding) -> bool:
    """Return whether the value of an inconclusive finding is beyond the threshold; its interval is not."""
    number = finding.numbers[0]
    return number.threshold is not None and _COMPARE[rule.op](number.value, number.threshold)


def _evaluate_rule(session: _Session, rule: Rule, measured: Measurement) -> Finding:
    severity: Severity = rule.thresholds[0][0]
    bound = session.get_threshold(rule, rule.thresholds[0][1])
    passed: bool | None = False
    for level, limit in rule.thresholds:
        threshold = session.get_threshold(rule, limit)
        result = _compare(rule.op, measured, threshold, threshold)
        if result:
            severity, bound, passed = level, threshold, True
        elif result is None and not passed:
            passed = None
    baseline = _find_baseline(session, rule.measure, measured)
    own = _build_number(rule.measure, measured, rule.op, bound, baseline)
    base = Finding(
        rule.id, "not_matched", severity, rule.strength, measured.subject, (own,), None, measured.detail
    )
    if passed is False:
        if measured.quality_issues:
            return _as(base, "not_evaluated", (own,), measured.quality_issues[0])
        return base
    held = [_holds(session, rule, item, measured) for item in rule.also]
    numbers = (own, *(item.number for item in held if item.number is not None))
    if any(item.holds is False for item in held):
        return _as(base, "not_matched", numbers)
    missing = next((item for item in held if item.is_missing), None)
    if missing is not None:
        return _as(base, "not_evaluated", numbers, missing.reason)
    doubts = [
        *((_explain_interval(measured, bound),) if passed is None else ()),
        *(item.reason for item in held if item.holds is None and item.reason is not None),
        *measured.quality_issues,
        *(doubt for item in held for doubt in item.quality_issues),
    ]
    failed, added = _check_guards(session, rule, measured)
    numbers = (*numbers, *added)
    if failed is not None:
        return _as(base, "inconclusive", numbers, failed)
    if doubts:
        return _as(base, "inconclusive", numbers, doubts[0])
    return _as(base, "matched", (*numbers, *_list_related_numbers(session, rule, measured, numbers)))


def _check_guards(
    session: _Session, rule: Rule, measured: Measurement
) -> tuple[Sentence | None, list[Number]]:
    """Return the reason of the first guard that does not hold, or None, and the numbers of the guards."""
    numbers: list[Number] = []
    for guard in rule.guards:
        stored = _holds(session, rule, guard.condition, measured)
        if guard.skip_when_missing:
            if stored.is_missing:
                continue
            numbers += [stored.number] if stored.number else []
        if stored.holds is not True and guard.unless is not None:
            instead = _holds(session, rule, guard.unless, measured)
            if instead.holds and instead.number:
                numbers.append(instead.number)
                continue
        if stored.holds is not True:
            params = {"value": round(stored.number.value, 3)} if stored.number else {}
            return Sentence(guard.reason.key, {**guard.reason.params, **params}), numbers
    return None, numbers


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
        about_other = None if item.subject == about.subject else item.subject
        yield _build_number(read, item, None, None, _find_baseline(session, read, item), subject=about_other)


def _is_related(read: RuleInput, measurement: Measurement, about: Measurement) -> bool:
    """Return whether a number has no quality issues, has a source, and is about nothing that the finding is
    not about.
    """
    where = set(read.where.items()) if isinstance(read, MetricReading) else set()
    sound = (
        math.isfinite(measurement.value) and not measurement.quality_issues and bool(measurement.citations)
    )
    return sound and set(measurement.subject) - where <= set(about.subject)


def _compare(op: Op, measured: Measurement, low: float, high: float) -> bool | None:
    """Return whether a number is beyond a threshold between `low` and `high`.

    None if that is true of only a part of its interval. A threshold of zero events asks whether any was counted,
    which the count answers exactly. A counter that counted nothing also rules out all that it counts: no such event
    can have caused what happened in the same time.
    """
    if measured.kind == "events" and (measured.value == 0 or low == high == 0):
        return _COMPARE[op](measured.value, low)
    if op in ("==", "!="):
        apart = measured.high < low or measured.low > high
        equal = measured.low == measured.high == low == high
        return (op == "!=") if apart else (op == "==") if equal else None
    compare = _COMPARE[op]
    near, far = (measured.low, high) if op in _UPWARD else (measured.high, low)
    if compare(near, far):
        return True
    near, far = (measured.high, low) if op in _UPWARD else (measured.low, high)
    return None if compare(near, far) else False


def _explain_interval(measured: Measurement, threshold: float) -> Sentence:
    """Return why a number does not decide a comparison."""
    interval = measured.interval
    if interval is not None and interval.reason is not None:
        return interval.reason
    low, high = (
        round(end, 3) if math.isfinite(end) else "∞" if end > 0 else "-∞"
        for end in (measured.low, measured.high)
    )
    return Sentence(
        "doubt.between",
        {
            "value": round(measured.value, 3), "samples": measured.sample_count, "low": low, "high": high,
            "threshold": round(threshold, 3),
        },
    )  # fmt: skip


def _build_number(
    read: RuleInput,
    item: Measurement,
    op: Op | None,
    threshold: float | None,
    baseline: Measurement | None,
    *,
    subject: Subject | None = None,
) -> Number:
    interval = item.interval
    if interval is not None and interval.reason is not None:
        interval = replace(interval, reason=None)
    before = None if baseline is None else baseline.value
    return Number(
        read.id, item.value, get_unit(read), op, threshold, item.citations, before, item.sample_count, subject,
        interval,
    )  # fmt: skip


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
    results = [_hold_for_item(session, rule, condition, item) for item in fitting]
    up = condition.op in _UPWARD
    results.sort(key=lambda result: (result.number.value if result.number else 0.0) * (-1 if up else 1))
    for state in (True, None, False):
        for result in results:
            if result.holds is state:
                return result
    raise AssertionError(results)


def _hold_for_item(session: _Session, rule: Rule, condition: Condition, item: Measurement) -> _Held:
    factor = session.get_threshold(rule, condition.threshold)
    low = high = bound = factor
    before = _find_baseline(session, condition.read, item)
    if condition.against == "baseline":
        if before is None:
            return _Held(None, reason=Sentence("missing.no_baseline", {"measure": condition.read.id}))
        bound = factor * before.value
        low, high = sorted((factor * before.low, factor * before.high))
    number = _build_number(condition.read, item, condition.op, bound, before)
    holds = _compare(condition.op, item, low, high)
    reason = _explain_interval(item, bound) if holds is None else None
    return _Held(holds, number, reason, item.quality_issues)


def _find_baseline(session: _Session, read: RuleInput, measured: Measurement) -> Measurement | None:
    """Return the same measure of the same subject in the baseline."""
    if session.view.baseline is None:
        return None
    reading = session.read(session.view.baseline, read)
    if isinstance(reading, MissingData):
        return None
    return next((item for item in reading if item.subject == measured.subject), None)
