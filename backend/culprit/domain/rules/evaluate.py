"""Every rule against a view: what fired, what stayed quiet, what could not be said and why."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from collectors.contract import Sentence
from culprit.core.rules.contract import (
    AnyOf,
    Condition,
    Finding,
    Limit,
    Measured,
    Missing,
    Number,
    Over,
    Read,
    Reading,
    Rule,
    Severity,
    State,
)
from culprit.core.rules.read import compatible, take, unit_of
from culprit.core.rules.view import View

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
#: More subjects than this of one rule are told as the worst ones.
MAX_SUBJECTS = 20
Thresholds = Mapping[str, float]
"""Overrides by `<rule id>.<limit name>`, already those of this host."""


@dataclass(slots=True)
class _Session:
    """One evaluation: every measure is read once."""

    view: View
    thresholds: Thresholds
    readings: dict[tuple[int, str], Reading] = field(default_factory=dict)

    def read(self, view: View, read: Read) -> Reading:
        key = (id(view), read.id)
        if key not in self.readings:
            self.readings[key] = take(view, read)
        return self.readings[key]

    def limit(self, rule: Rule, limit: Limit) -> float:
        return self.thresholds.get(f"{rule.id}.{limit.name}", limit.value)


@dataclass(frozen=True, slots=True)
class _Held:
    """What became of a condition for one subject: True, False, or None where nobody can say."""

    holds: bool | None
    number: Number | None = None
    reason: Sentence | None = None
    doubts: tuple[Sentence, ...] = ()


def evaluate(rules: Iterable[Rule], view: View, thresholds: Thresholds | None = None) -> list[Finding]:
    """Findings of every rule, in the order of the rules; at least one for each.

    `thresholds` are overrides (see `Thresholds`). A rule that nothing could be said about gives one finding
    `not_evaluated` with the reason; one that stayed silent gives one `quiet` finding with its nearest number.
    """
    session = _Session(view, thresholds or {})
    return [finding for rule in rules for finding in _of(session, rule)]


def _of(session: _Session, rule: Rule) -> list[Finding]:
    mildest = rule.levels[0]
    reading = session.read(session.view, rule.measure)
    if isinstance(reading, Missing):
        return [Finding(rule.id, "not_evaluated", mildest[0], rule.grade, (), (), reading.reason)]
    findings = [_one(session, rule, measured) for measured in reading]
    fired = [one for one in findings if one.state in ("fired", "inconclusive")]
    if fired:
        fired.sort(key=lambda one: (one.state != "fired", -_excess(rule, one)))
        return fired[:MAX_SUBJECTS]
    unsaid = [one for one in findings if one.state == "not_evaluated"]
    if unsaid:
        return [max(unsaid, key=lambda one: _excess(rule, one))]
    if findings:
        return [max(findings, key=lambda one: _excess(rule, one))]
    return [Finding(rule.id, "quiet", mildest[0], rule.grade, ())]


def _excess(rule: Rule, one: Finding) -> float:
    """How far beyond its threshold, for ordering."""
    value = one.numbers[0].value if one.numbers else 0.0
    return value if rule.op in (">", ">=", "==", "!=") else -value


def _one(session: _Session, rule: Rule, measured: Measured) -> Finding:
    severity: Severity = rule.levels[0][0]
    passed: float | None = None
    for level, limit in rule.levels:
        bound = session.limit(rule, limit)
        if _COMPARE[rule.op](measured.value, bound):
            severity, passed = level, bound
    bound = session.limit(rule, rule.levels[0][1]) if passed is None else passed
    own = Number(
        rule.measure.id, measured.value, unit_of(rule.measure), rule.op, bound, measured.citations,
        _baseline_value(session, rule.measure, measured), measured.n,
    )  # fmt: skip
    base = Finding(rule.id, "quiet", severity, rule.grade, measured.subject, (own,), None, measured.detail)
    if passed is None:
        if measured.doubts:
            return _as(base, "not_evaluated", (own,), measured.doubts[0])
        open_end = _other_end(rule, measured, bound, passed=False)
        return base if open_end is None else _as(base, "not_evaluated", (own,), open_end)
    held = [_holds(session, rule, one, measured) for one in rule.also]
    numbers = (own, *(one.number for one in held if one.number is not None))
    if any(one.holds is False for one in held):
        return _as(base, "quiet", numbers)
    unknown = next((one for one in held if one.holds is None), None)
    if unknown is not None:
        return _as(base, "not_evaluated", numbers, unknown.reason)
    for guard in rule.guards:
        kept = _holds(session, rule, guard.condition, measured)
        if guard.where_known:
            if kept.holds is None:
                continue
            numbers = (*numbers, *((kept.number,) if kept.number else ()))
        if kept.holds is not True and guard.unless is not None:
            instead = _holds(session, rule, guard.unless, measured)
            if instead.holds and instead.number:
                numbers = (*numbers, instead.number)
                continue
        if kept.holds is not True:
            params = {"value": round(kept.number.value, 3)} if kept.number else {}
            reason = Sentence(guard.reason.key, {**guard.reason.params, **params})
            return _as(base, "inconclusive", numbers, reason)
    doubts = (*measured.doubts, *(doubt for one in held for doubt in one.doubts))
    open_end = _other_end(rule, measured, session.limit(rule, rule.levels[0][1]), passed=True)
    for doubt in (*doubts, *((open_end,) if open_end else ())):
        return _as(base, "inconclusive", numbers, doubt)
    return _as(base, "fired", (*numbers, *_beside(session, rule, measured, numbers)))


def _beside(session: _Session, rule: Rule, about: Measured, told: tuple[Number, ...]) -> Iterator[Number]:
    """What stands beside the numbers of a rule that fired: each of the same subject, else of what that is part of."""
    known = {one.measure for one in told}
    for read in rule.beside:
        reading = session.read(session.view, read)
        if read.id in known or isinstance(reading, Missing):
            continue
        fitting = [one for one in reading if _may_stand_beside(read, one, about)]
        if not fitting:
            continue
        one = max(fitting, key=lambda each: len(each.subject))
        yield Number(
            read.id, one.value, unit_of(read), None, None, one.citations, _baseline_value(session, read, one),
            one.n, None if one.subject == about.subject else one.subject,
        )  # fmt: skip


def _may_stand_beside(read: Read, one: Measured, about: Measured) -> bool:
    """Whether it is beyond doubt, can be looked up, and is about nothing that the finding is not about."""
    asked = set(read.where.items()) if isinstance(read, Over) else set()
    sound = math.isfinite(one.value) and not one.doubts and bool(one.citations)
    return sound and set(one.subject) - asked <= set(about.subject)


def _other_end(rule: Rule, measured: Measured, bound: float, *, passed: bool) -> Sentence | None:
    """Why the rule would tell otherwise at another place where the value may lie; None where it would not."""
    if measured.between is None:
        return None
    low, high, why = measured.between
    return why if any(_COMPARE[rule.op](end, bound) is not passed for end in (low, high)) else None


def _as(one: Finding, state: State, numbers: tuple[Number, ...], reason: Sentence | None = None) -> Finding:
    return replace(one, state=state, numbers=numbers, reason=reason)


def _holds(session: _Session, rule: Rule, condition: Condition | AnyOf, about: Measured) -> _Held:
    if isinstance(condition, AnyOf):
        each = [_holds(session, rule, one, about) for one in condition.conditions]
        for wanted in (True, None, False):
            found = next((one for one in each if one.holds is wanted), None)
            if found is not None:
                return found
    assert isinstance(condition, Condition)
    reading = session.read(session.view, condition.read)
    if isinstance(reading, Missing):
        return _Held(None, reason=reading.reason)
    fitting = [one for one in reading if compatible(about.subject, one.subject)]
    if not fitting:
        return _Held(False)
    up = condition.op in (">", ">=", "==", "!=")
    worst = max(fitting, key=lambda one: one.value if up else -one.value)
    bound = session.limit(rule, condition.limit)
    before = _baseline_value(session, condition.read, worst)
    if condition.against == "baseline":
        if before is None:
            return _Held(None, reason=Sentence("missing.no_baseline", {"measure": condition.read.id}))
        bound *= before
    unit = unit_of(condition.read)
    number = Number(
        condition.read.id, worst.value, unit, condition.op, bound, worst.citations, before, worst.n
    )
    return _Held(_COMPARE[condition.op](worst.value, bound), number, None, worst.doubts)


def _baseline_value(session: _Session, read: Read, measured: Measured) -> float | None:
    """The same measure for the same subject in the baseline."""
    if session.view.baseline is None:
        return None
    reading = session.read(session.view.baseline, read)
    if isinstance(reading, Missing):
        return None
    fitting = [one for one in reading if one.subject == measured.subject]
    return fitting[0].value if fitting else None
