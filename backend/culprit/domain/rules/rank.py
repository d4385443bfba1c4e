"""Rank causes: which are named, in which order, what they explain, what was ruled out.

1. A finding is refuted if a rule in its rule's `refuted_by` matched for the same subject.
2. A cause is *likely* if a direct or mechanism finding supports it, a fault of the lab has proven it, and harm is
   shown with it: a rule with `harm` matched for the same subject. Otherwise it is *possible*: a pattern that harms
   no one is no cause at any size. Context never supports a cause.
3. A cause of the kind "why is it slow" acts through mechanisms. Where the time of a harmed service is accounted for,
   its share is the time that these mechanisms take. A cause that explains less than a tenth is only possible.
   Causes are ordered by: likely before possible; strength; the share that they explain, in halves; severity; number
   of independent rules; how far the strongest number is beyond its threshold, in octaves.
4. A cause absorbs the causes that it explains and that are not more certain, in any order, because consequences are
   often measured more directly. Causes of different control groups or processes do not absorb each other. Absorbed
   causes are listed with it. All remaining causes are independent and are named.
5. A hypothesis that a likely cause would explain is not followed up.
6. A cause without support is ruled out if a rule that would have shown it did not match; otherwise it is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import STRENGTH_ORDER, Finding, Strength, Subject
from culprit.domain.rules.measures.application.time_accounts import TimeAccount
from culprit.domain.rules.readings import is_compatible
from culprit.domain.rules.rule import Rule

Confidence = Literal["likely", "possible"]
_SEVERITY = {"info": 0, "warn": 1, "critical": 2}
_PLACES = ("cgroup", "pid")
#: Below this share of the time, removing a cause changes little.
MINOR_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class NamedCause:
    """One named cause with its supporting findings, the strongest first.

    `share` is the part of the time of a harmed service that its mechanisms take, 0 to 1; None if it has no mechanism
    or no time was accounted for.
    """

    cause: str
    confidence: Confidence
    scope: Subject
    evidence: tuple[Finding, ...]
    explains: tuple[str, ...] = ()
    share: float | None = None


@dataclass(frozen=True, slots=True)
class RuledOutCause:
    """A ruled-out cause with the findings in state not_matched that contradict it."""

    cause: str
    by: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The conclusion of a ranking. `open` are causes that are suspected and neither named nor ruled out.

    `harm` are the findings that show harm. `accounts` are the services whose time was accounted for. `unexplained` is
    the share of the time of the most harmed one that no named cause explains, 0 to 1; None without an account.
    """

    causes: tuple[NamedCause, ...]
    ruled_out: tuple[RuledOutCause, ...]
    not_checked: tuple[str, ...]
    open: tuple[str, ...]
    refuted: tuple[Finding, ...]
    harm: tuple[Finding, ...] = ()
    accounts: tuple[TimeAccount, ...] = ()
    unexplained: float | None = None


def rank_causes(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    accounts: Sequence[TimeAccount] = (),
) -> Ranking:
    """Name causes. `findings` are from one evaluation; `rules` and `causes` are all definitions by ID.

    `accounts` are those of the services whose requests wait, and of the local services that they wait for.
    """
    matched = [finding for finding in findings if finding.state == "matched" and finding.rule in rules]
    dismissed = [item for item in matched if _refuted(item, matched, rules)]
    status = [item for item in matched if item not in dismissed]
    harm = tuple(item for item in status if rules[item.rule].harm)
    candidates = [
        named
        for cause in causes.values()
        if (named := _candidate(cause, status, rules, harm, accounts)) is not None
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
        tuple(accounts),
        _compute_unexplained(stored, causes, accounts),
    )


def _compute_unexplained(
    named: Sequence[NamedCause], causes: Mapping[str, Cause], accounts: Sequence[TimeAccount]
) -> float | None:
    """Return the share of the time of the most harmed service that the named causes do not explain."""
    if not accounts:
        return None
    mechanisms = {activity for item in named for activity in causes[item.cause].mechanisms}
    return 1.0 - _get_share(mechanisms, accounts)


def _get_share(mechanisms: Collection[str], accounts: Sequence[TimeAccount]) -> float:
    """Return the largest share of the time of harmed services that these mechanisms take."""
    return max((account.share_of * account.share(mechanisms)[0] for account in accounts), default=0.0)


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
    accounts: Sequence[TimeAccount],
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
    share = _get_explained_share(cause, scope, accounts)
    strong = STRENGTH_ORDER[speaking[0].strength] >= STRENGTH_ORDER[Strength.MECHANISM] and bool(
        cause.proven_by
    )
    harmful = any(is_compatible(scope, item.subject) for item in harm)
    minor = share is not None and share < MINOR_SHARE
    return NamedCause(
        cause.id,
        "likely" if strong and harmful and not minor else "possible",
        scope,
        tuple(speaking),
        share=share,
    )


def _get_explained_share(cause: Cause, scope: Subject, accounts: Sequence[TimeAccount]) -> float | None:
    """Return the share of the time of harmed services that a cause explains, or None if that is unknown."""
    fitting = [account for account in accounts if _is_same_place(account.subject, scope)]
    if not cause.mechanisms or not fitting:
        return None
    return max(account.share_of * account.share(cause.mechanisms)[2] for account in fitting)


def _weight(finding: Finding) -> tuple[int, int, float]:
    return (STRENGTH_ORDER[finding.strength], _SEVERITY[finding.severity], _octaves(finding))


def _octaves(finding: Finding) -> float:
    """Return how far the number is beyond its threshold, as a power of two, at most ten."""
    number = finding.numbers[0] if finding.numbers else None
    if number is None or number.threshold is None:
        return 0.0
    low, high = sorted((abs(number.value), abs(number.threshold)))
    return min(10.0, math.log2(high / low)) if low > 0 else 10.0


def _key(named_cause: NamedCause) -> tuple[int, int, int, int, int, float]:
    strongest = named_cause.evidence[0]
    strength, severity, octaves = _weight(strongest)
    share = 0.5 if named_cause.share is None else named_cause.share
    return (
        int(named_cause.confidence == "likely"),
        strength,
        int(share >= 0.5) - int(share < MINOR_SHARE),
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
    return _is_same_place(named_cause.scope, other.scope)


def _is_same_place(subject: Subject, other: Subject) -> bool:
    """Return whether two subjects do not name different control groups or processes."""
    mine, theirs = dict(subject), dict(other)
    return all(mine.get(p, theirs.get(p)) == theirs.get(p, mine.get(p)) for p in _PLACES)
