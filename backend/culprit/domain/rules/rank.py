"""From findings to causes: which are named, in which order, what they explain, what was ruled out.

The order, in full:

1. A finding whose rule names rules that refute it, one of which fired about the same thing, is set aside.
2. A cause is *likely* where a direct finding or one of the mechanism speaks for it and a fault of the lab has
   proven the cause; it is *possible* where only correlation does, or nothing has proven it. Context never counts.
3. Causes are ordered by: likely before possible; the strongest grade; critical before warn before info; how many
   independent rules speak for it; how far the strongest number is beyond its threshold, in octaves.
4. A cause absorbs those that it explains and that are no more certain than itself, wherever they stand in that order:
   what a fault leads to is often told more directly than the fault. It does not where both name different control
   groups or processes. What was absorbed is told with it. What is left is independent, and all of it is told.
5. A hypothesis that a likely cause would explain is not followed up.
6. A cause for which nothing speaks is ruled out where a rule that would have shown it stayed quiet; otherwise
   it was not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from culprit.core.rules.cause import Cause
from culprit.core.rules.contract import STRENGTH, Finding, Grade, Rule, Subject
from culprit.core.rules.read import compatible

Confidence = Literal["likely", "possible"]
_SEVERITY = {"info": 0, "warn": 1, "critical": 2}
_PLACES = ("cgroup", "pid")


@dataclass(frozen=True, slots=True)
class Named:
    """One named cause with the findings that speak for it, the strongest first."""

    cause: str
    confidence: Confidence
    scope: Subject
    evidence: tuple[Finding, ...]
    explains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A cause that was looked for and not found, and the quiet findings that say so."""

    cause: str
    by: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What can be said. `open` are causes that are suspected and neither named nor ruled out."""

    causes: tuple[Named, ...]
    ruled_out: tuple[RuledOut, ...]
    not_looked_at: tuple[str, ...]
    open: tuple[str, ...]
    set_aside: tuple[Finding, ...]


def rank(findings: Sequence[Finding], rules: Mapping[str, Rule], causes: Mapping[str, Cause]) -> Ranking:
    """Name causes. `findings` are those of one evaluation, `rules` and `causes` the catalogues by id."""
    fired = [one for one in findings if one.state == "fired" and one.rule in rules]
    aside = [one for one in fired if _refuted(one, fired, rules)]
    standing = [one for one in fired if one not in aside]
    candidates = [
        named for cause in causes.values() if (named := _candidate(cause, standing, rules)) is not None
    ]
    candidates.sort(key=_key, reverse=True)
    kept = _absorb(candidates, causes)
    spoken = {one.cause for one in candidates}
    ruled, blank = [], []
    for cause in causes.values():
        if cause.id in spoken:
            continue
        by = tuple(
            one
            for one in findings
            if one.state == "quiet" and cause.id in rules[one.rule].refutes and one.numbers
        )
        if by:
            ruled.append(RuledOut(cause.id, by))
        else:
            blank.append(cause.id)
    settled = {one.cause for one in ruled}
    for one in kept:
        if one.confidence == "likely":
            unsaid = {name for name in causes[one.cause].explains if name not in spoken}
            settled |= {one.cause, *one.explains, *unsaid}
    return Ranking(
        tuple(kept),
        tuple(ruled),
        tuple(blank),
        tuple(suspects(findings, causes, settled)),
        tuple(aside),
    )


def suspects(findings: Iterable[Finding], causes: Mapping[str, Cause], settled: Iterable[str]) -> list[str]:
    """Causes whose hypothesis is open: something made them suspect, and nothing has settled them."""
    seen = {one.rule for one in findings if one.state in ("fired", "inconclusive")}
    done = set(settled)
    return [one.id for one in causes.values() if one.id not in done and seen.intersection(one.suspected_by)]


def _refuted(one: Finding, fired: Sequence[Finding], rules: Mapping[str, Rule]) -> bool:
    against = rules[one.rule].refuted_by
    return any(other.rule in against and compatible(one.subject, other.subject) for other in fired)


def _candidate(cause: Cause, fired: Sequence[Finding], rules: Mapping[str, Rule]) -> Named | None:
    speaking = [one for one in fired if cause.id in rules[one.rule].causes and one.grade is not Grade.CONTEXT]
    if not speaking:
        return None
    speaking.sort(key=_weight, reverse=True)
    strong = STRENGTH[speaking[0].grade] >= STRENGTH[Grade.MECHANISM] and bool(cause.proven_by)
    return Named(cause.id, "likely" if strong else "possible", speaking[0].subject, tuple(speaking))


def _weight(one: Finding) -> tuple[int, int, float]:
    return (STRENGTH[one.grade], _SEVERITY[one.severity], _octaves(one))


def _octaves(one: Finding) -> float:
    """How far the number is beyond its threshold, as a power of two, at most ten."""
    number = one.numbers[0] if one.numbers else None
    if number is None or number.threshold is None:
        return 0.0
    low, high = sorted((abs(number.value), abs(number.threshold)))
    return min(10.0, math.log2(high / low)) if low > 0 else 10.0


def _key(one: Named) -> tuple[int, int, int, int, float]:
    strongest = one.evidence[0]
    grade, severity, octaves = _weight(strongest)
    return (int(one.confidence == "likely"), grade, severity, len({e.rule for e in one.evidence}), octaves)


def _absorb(ordered: Sequence[Named], causes: Mapping[str, Cause]) -> list[Named]:
    owner = {at: _owner(at, ordered, causes) for at in range(len(ordered))}
    explained: dict[int, list[str]] = {}
    for at, one in enumerate(ordered):
        if (root := _root(at, owner)) != at:
            explained.setdefault(root, []).append(one.cause)
    return [
        replace(one, explains=(*one.explains, *explained.get(at, ())))
        for at, one in enumerate(ordered)
        if _root(at, owner) == at
    ]


def _owner(at: int, ordered: Sequence[Named], causes: Mapping[str, Cause]) -> int | None:
    """The first cause that explains this one; of two that explain each other, the one that comes first."""
    one = ordered[at]
    for place, other in enumerate(ordered):
        explains = place != at and one.cause in causes[other.cause].explains and _same(other, one)
        mutual = other.cause in causes[one.cause].explains
        certain = other.confidence == "likely" or one.confidence == "possible"
        if explains and certain and (place < at or not mutual):
            return place
    return None


def _root(at: int, owner: Mapping[int, int | None]) -> int:
    """Up from one to what explains it to what explains that; a ring ends where it would begin again."""
    seen = [at]
    while (above := owner[seen[-1]]) is not None and above not in seen:
        seen.append(above)
    return min(seen[seen.index(above) :]) if above is not None else seen[-1]


def _same(one: Named, other: Named) -> bool:
    """Whether two causes may be about the same thing: they do not name different groups or processes."""
    mine, theirs = dict(one.scope), dict(other.scope)
    return all(mine.get(p, theirs.get(p)) == theirs.get(p, mine.get(p)) for p in _PLACES)
