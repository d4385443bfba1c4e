"""Rank causes: which are named, in which order, what they explain, what was ruled out.

1. A finding is refuted if a rule in its rule's `refuted_by` matched for the same subject.
2. A cause is *likely* if a direct or mechanism finding supports it, a fault of the lab has proven it, and harm is
   shown with it: a rule with `harm` matched for the same subject. Otherwise it is *possible*: a pattern that harms
   no one is no cause at any size. Context never supports a cause.
3. Causes are ordered by: likely before possible; strength; severity; number of independent rules; how far the
   strongest number is beyond its threshold, in octaves.
4. A cause absorbs the causes that it explains and that are not more certain, in any order, because consequences are
   often measured more directly. Causes of different control groups or processes do not absorb each other. Absorbed
   causes are listed with it. All remaining causes are independent and are named.
5. A hypothesis that a likely cause would explain is not followed up.
6. A cause without support is ruled out if a rule that would have shown it did not match; otherwise it is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import STRENGTH_ORDER, Finding, Strength, Subject
from culprit.domain.rules.readings import is_compatible
from culprit.domain.rules.rule import Rule

Confidence = Literal["likely", "possible"]
_SEVERITY = {"info": 0, "warn": 1, "critical": 2}
_PLACES = ("cgroup", "pid")


@dataclass(frozen=True, slots=True)
class NamedCause:
    """One named cause with its supporting findings, the strongest first."""

    cause: str
    confidence: Confidence
    scope: Subject
    evidence: tuple[Finding, ...]
    explains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuledOutCause:
    """A ruled-out cause with the findings in state not_matched that contradict it."""

    cause: str
    by: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The conclusion of a ranking. `open` are causes that are suspected and neither named nor ruled out.

    `harm` are the findings that show harm.
    """

    causes: tuple[NamedCause, ...]
    ruled_out: tuple[RuledOutCause, ...]
    not_checked: tuple[str, ...]
    open: tuple[str, ...]
    refuted: tuple[Finding, ...]
    harm: tuple[Finding, ...] = ()


def rank_causes(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
) -> Ranking:
    """Name causes. `findings` are from one evaluation; `rules` and `causes` are all definitions by ID."""
    matched = [finding for finding in findings if finding.state == "matched" and finding.rule in rules]
    dismissed = [item for item in matched if _refuted(item, matched, rules)]
    status = [item for item in matched if item not in dismissed]
    harm = tuple(item for item in status if rules[item.rule].harm)
    candidates = [
        named for cause in causes.values() if (named := _candidate(cause, status, rules, harm)) is not None
    ]
    candidates.sort(key=_key, reverse=True)
    stored = _absorb(candidates, causes)
    spoken = {candidate.cause for candidate in candidates}
    ruled, blank = [], []
    for cause in causes.values():
        if cause.id in spoken:
            continue
        by = tuple(
            finding
            for finding in findings
            if finding.state == "not_matched" and cause.id in rules[finding.rule].refutes and finding.numbers
        )
        if by:
            ruled.append(RuledOutCause(cause.id, by))
        else:
            blank.append(cause.id)
    settled = {item.cause for item in ruled}
    for item in stored:
        if item.confidence == "likely":
            unsaid = {name for name in causes[item.cause].explains if name not in spoken}
            settled |= {item.cause, *item.explains, *unsaid}
    return Ranking(
        tuple(stored),
        tuple(ruled),
        tuple(blank),
        tuple(list_open_hypotheses(findings, rules, causes, settled)),
        tuple(dismissed),
        harm,
    )


def list_open_hypotheses(
    findings: Iterable[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    settled: Iterable[str],
) -> list[str]:
    """Return the causes that a matched or inconclusive rule suspects and that are not settled."""
    suspected = {
        cause
        for finding in findings
        if finding.state in ("matched", "inconclusive") and finding.rule in rules
        for cause in rules[finding.rule].suspects
    }
    return [cause for cause in causes if cause in suspected - set(settled)]


def _refuted(finding: Finding, matched: Sequence[Finding], rules: Mapping[str, Rule]) -> bool:
    against = rules[finding.rule].refuted_by
    return any(other.rule in against and is_compatible(finding.subject, other.subject) for other in matched)


def _candidate(
    cause: Cause,
    matched: Sequence[Finding],
    rules: Mapping[str, Rule],
    harm: Sequence[Finding],
) -> NamedCause | None:
    speaking = [
        item
        for item in matched
        if cause.id in rules[item.rule].causes and item.strength is not Strength.CONTEXT
    ]
    if not speaking:
        return None
    speaking.sort(key=_weight, reverse=True)
    scope = speaking[0].subject
    strong = STRENGTH_ORDER[speaking[0].strength] >= STRENGTH_ORDER[Strength.MECHANISM] and bool(
        cause.proven_by
    )
    harmful = any(is_compatible(scope, item.subject) for item in harm)
    return NamedCause(cause.id, "likely" if strong and harmful else "possible", scope, tuple(speaking))


def _weight(finding: Finding) -> tuple[int, int, float]:
    return (STRENGTH_ORDER[finding.strength], _SEVERITY[finding.severity], _octaves(finding))


def _octaves(finding: Finding) -> float:
    """Return how far the number is beyond its threshold, as a power of two, at most ten."""
    number = finding.numbers[0] if finding.numbers else None
    if number is None or number.threshold is None:
        return 0.0
    low, high = sorted((abs(number.value), abs(number.threshold)))
    return min(10.0, math.log2(high / low)) if low > 0 else 10.0


def _key(named_cause: NamedCause) -> tuple[int, int, int, int, float]:
    strongest = named_cause.evidence[0]
    strength, severity, octaves = _weight(strongest)
    return (
        int(named_cause.confidence == "likely"),
        strength,
        severity,
        len({e.rule for e in named_cause.evidence}),
        octaves,
    )


def _absorb(ordered: Sequence[NamedCause], causes: Mapping[str, Cause]) -> list[NamedCause]:
    owner = {at: _owner(at, ordered, causes) for at in range(len(ordered))}
    explained: dict[int, list[str]] = {}
    for at, item in enumerate(ordered):
        if (root := _root(at, owner)) != at:
            explained.setdefault(root, []).append(item.cause)
    return [
        replace(item, explains=(*item.explains, *explained.get(at, ())))
        for at, item in enumerate(ordered)
        if _root(at, owner) == at
    ]


def _owner(at: int, ordered: Sequence[NamedCause], causes: Mapping[str, Cause]) -> int | None:
    """Return the first cause that explains this one; of two that explain each other, the earlier one."""
    item = ordered[at]
    for place, other in enumerate(ordered):
        explains = place != at and item.cause in causes[other.cause].explains and _same(other, item)
        mutual = other.cause in causes[item.cause].explains
        certain = other.confidence == "likely" or item.confidence == "possible"
        if explains and certain and (place < at or not mutual):
            return place
    return None


def _root(at: int, owner: Mapping[int, int | None]) -> int:
    """Follow the explanations from a cause upward; a ring ends where it would start again."""
    seen = [at]
    while (above := owner[seen[-1]]) is not None and above not in seen:
        seen.append(above)
    return min(seen[seen.index(above) :]) if above is not None else seen[-1]


def _same(named_cause: NamedCause, other: NamedCause) -> bool:
    """Return whether two causes may be about the same subject: they do not name different groups or
    processes.
    """
    mine, theirs = dict(named_cause.scope), dict(other.scope)
    return all(mine.get(p, theirs.get(p)) == theirs.get(p, mine.get(p)) for p in _PLACES)
