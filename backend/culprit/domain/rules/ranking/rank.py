"""Rank causes: which are named, in which order, what they explain, what was ruled out.

1. A finding is refuted if a rule in its rule's `refuted_by` matched for the same subject.
2. A cause is *likely* if a direct or mechanism finding supports it, a fault of the lab has proven it, and harm is
   shown with it: a rule with `harm` matched at the same place, or at a service that waits for that place. Harm that
   states its own cause counts for that one and for those that explain it: connections that a full database refuses
   do not make a busy neighbor likely. That requests fail is no harm of causes that take time: those make them slow.
   Where the time of such a service is accounted for, the mechanisms of the cause must also explain at least a tenth
   of its time that is not idle, with the whole interval. Otherwise it is *possible*: a pattern that harms no one is
   no cause at any size. Harm that names no service must pass through the mechanisms too, unless the cause is supported
   by harm that states it. That workers are too few is possible at most where most of their time goes to what one more
   of them would wait for as well (see `worker_room`). That a service of this host answers late is possible at most:
   its own time account shows why. Context never supports a cause.
3. Causes are ordered by: likely before possible; those with harm and evidence, proven in the lab or not, before
   others; those that a direct finding proves, unless they explain less than a
   tenth of the time; share of the time that they explain, in tenths; strength; severity; number of independent rules;
   how far the strongest number is beyond its threshold, in octaves; ID.
4. A cause absorbs the causes that it explains and that are not more certain, in any order, because consequences are
   often measured more directly (see `explanations`). That no fault of the lab has proven a cause makes it possible,
   but not less certain here: its evidence and the harm are those of its consequence. Causes of different control
   groups or processes do not absorb each other, unless one is at a local service for which the other waits. That a
   local service answers late is a consequence of every cause that is named there or further along. What is known to
   explain less than a tenth of the time absorbs none. Absorbed causes are listed with their cause. All remaining
   causes are independent and are named.
5. A hypothesis that a likely cause would explain is not followed up.
6. If there is no cause with support, or harm and none that is evident or explains a tenth of the time, the finding with
   the largest share of the time names its `default_cause` as possible: most of the time shows where to look next. That
   a service of this host answers late explains no time.
7. A cause without support is ruled out if a rule that would have shown it did not match; otherwise it is not checked.

The order of findings and rules changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import STRENGTH_ORDER, Finding, Strength, Subject
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.amounts import Share
from culprit.domain.rules.measures.service_time.services import LocalService, ServiceMap
from culprit.domain.rules.ranking.explanations import ExplanationGraph, build_graph
from culprit.domain.rules.ranking.harmed_time import (
    MINOR_SHARE,
    HarmedTime,
    TimeClaim,
    build_claim,
    has_place,
)
from culprit.domain.rules.ranking.open_hypotheses import list_open_hypotheses
from culprit.domain.rules.ranking.weights import weigh_evidence, weigh_finding
from culprit.domain.rules.ranking.worker_room import lacks_room
from culprit.domain.rules.readings import is_compatible
from culprit.domain.rules.rule import Rule
from culprit.domain.rules.use_method import Use

Confidence = Literal["likely", "possible"]
_PLACES = ("cgroup", "pid")
_LOCAL_WAIT = "slow-dependency"
_NO_TIMES = ServiceTimes()
_FAILING_REQUESTS = Use("application", "errors")


@dataclass(frozen=True, slots=True)
class NamedCause:
    """One named cause with its supporting findings, the strongest first.

    `share` is the part of the time of a harmed service that it explains; None if that is unknown. `is_evident` is
    whether all but a proof in the lab is there for it to be likely.
    """

    cause: str
    confidence: Confidence
    scope: Subject
    evidence: tuple[Finding, ...]
    explains: tuple[str, ...] = ()
    share: Share | None = None
    is_evident: bool = False


@dataclass(frozen=True, slots=True)
class RuledOutCause:
    """A ruled-out cause with the findings in state not_matched that contradict it."""

    cause: str
    by: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The conclusion of a ranking. `open` are causes that are suspected and neither named nor ruled out.

    `harm` are the findings that show harm, `accounts` the time accounts of services, `harmed` those with harm, the
    most harmed first. `unexplained` is the part of the time of the first that no likely cause explains, 0 to 1; None
    if that is unknown.
    """

    causes: tuple[NamedCause, ...]
    ruled_out: tuple[RuledOutCause, ...]
    not_checked: tuple[str, ...]
    open: tuple[str, ...]
    refuted: tuple[Finding, ...]
    harm: tuple[Finding, ...] = ()
    accounts: tuple[TimeAccount, ...] = ()
    harmed: tuple[TimeAccount, ...] = ()
    unexplained: float | None = None


def rank_causes(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    times: ServiceTimes = _NO_TIMES,
) -> Ranking:
    """Name causes.

    Args:
        findings: The findings of one evaluation.
        rules: All rules by ID.
        causes: All causes by ID.
        times: The time accounts of the same view.
    """
    matched = [finding for finding in findings if finding.state == "matched" and finding.rule in rules]
    dismissed = [item for item in matched if _refuted(item, matched, rules)]
    status = [item for item in matched if item not in dismissed]
    harm = tuple(item for item in status if rules[item.rule].harm)
    harmed = HarmedTime(harm, times)
    declared = build_graph(causes, (), {item.rule for item in status})
    candidates = [
        named
        for cause in causes.values()
        if (named := _candidate(cause, status, rules, harmed, declared)) is not None
    ]
    if not any(_settles(item, causes[item.cause], times) for item in candidates) and (harm or not candidates):
        candidates += _list_default_causes(status, rules, causes, harmed, {item.cause for item in candidates})
    candidates.sort(key=lambda item: item.cause)
    candidates.sort(key=_key, reverse=True)
    graph = build_graph(causes, [item.cause for item in candidates], {item.rule for item in status})
    stored = _absorb(candidates, graph, times)
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
            unsaid = graph.reachable[item.cause] - spoken
            settled |= {item.cause, *item.explains, *unsaid}
    return Ranking(
        tuple(stored),
        tuple(ruled),
        tuple(blank),
        tuple(list_open_hypotheses(findings, rules, causes, settled)),
        tuple(dismissed),
        harm,
        times.accounts,
        tuple(harmed.accounts),
        harmed.compute_unexplained(_list_claims(stored, candidates, causes)),
    )


def _list_claims(
    stored: Sequence[NamedCause], candidates: Sequence[NamedCause], causes: Mapping[str, Cause]
) -> list[TimeClaim]:
    """Return what likely causes claim to explain, each with the mechanisms of the causes that it absorbed."""
    scopes = {item.cause: item.scope for item in candidates}
    claims: list[TimeClaim] = []
    for item in stored:
        if item.confidence == "likely":
            claims.append(build_claim(causes[item.cause], item.scope))
            claims += [
                build_claim(causes[name], scopes[name]) for name in item.explains if causes[name].mechanisms
            ]
    return claims


def _refuted(finding: Finding, matched: Sequence[Finding], rules: Mapping[str, Rule]) -> bool:
    against = rules[finding.rule].refuted_by
    return any(other.rule in against and is_compatible(finding.subject, other.subject) for other in matched)


def _candidate(
    cause: Cause,
    matched: Sequence[Finding],
    rules: Mapping[str, Rule],
    harmed: HarmedTime,
    graph: ExplanationGraph,
) -> NamedCause | None:
    evidence = [
        item
        for item in matched
        if cause.id in rules[item.rule].causes and item.strength is not Strength.CONTEXT
    ]
    if not evidence:
        return None
    services = harmed.times.services

    def is_harmed(subject: Subject) -> bool:
        return harmed.is_harmed(subject, lambda item: _may_harm(cause, rules[item.rule], graph))

    evidence.sort(key=lambda item: (item.rule, item.subject))
    evidence.sort(
        key=lambda item: weigh_evidence(
            item, _find_callee(item.subject, services) is None, is_harmed(item.subject)
        ),
        reverse=True,
    )
    scope = evidence[0].subject
    is_harm = any(rules[item.rule].harm for item in evidence)
    share = harmed.compute_share(build_claim(cause, scope), is_harm=is_harm)
    is_strong = STRENGTH_ORDER[evidence[0].strength] >= STRENGTH_ORDER[Strength.MECHANISM]
    is_symptom = cause.id == _LOCAL_WAIT and _find_callee(scope, services) is not None
    is_evident = is_strong and is_harmed(scope) and not (_is_minor(share) or is_symptom)
    is_vain = cause.needs_room and lacks_room(scope, harmed.times)
    confidence: Confidence = "likely" if is_evident and cause.proven_by and not is_vain else "possible"
    return NamedCause(cause.id, confidence, scope, tuple(evidence), share=share, is_evident=is_evident)


def _settles(item: NamedCause, cause: Cause, times: ServiceTimes) -> bool:
    """Return whether a cause is evident or explains a tenth of the time, and needs no room that is missing.

    That a service of this host answers late explains nothing: its own time shows why.
    """
    if item.cause == _LOCAL_WAIT and _find_callee(item.scope, times.services) is not None:
        return False
    is_known = item.is_evident or (item.share is not None and not _is_minor(item.share))
    return is_known and not (cause.needs_room and lacks_room(item.scope, times))


def _list_default_causes(
    matched: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    harmed: HarmedTime,
    known: Collection[str],
) -> list[NamedCause]:
    """Return the default cause of the finding with the largest number, as possible; empty if none has one.

    Empty where it has support, and where requests only fail: what takes time does not make them fail.
    """
    findings = [item for item in matched if rules[item.rule].default_cause and item.numbers]
    harm = [rules[item.rule].use for item in matched if rules[item.rule].harm]
    if not findings or (harm and all(use == _FAILING_REQUESTS for use in harm)):
        return []
    largest = max(findings, key=lambda item: (item.numbers[0].value, item.rule, item.subject))
    cause = rules[largest.rule].default_cause
    if cause in known or cause not in causes:
        return []
    share = harmed.compute_share(build_claim(causes[cause], largest.subject))
    return [NamedCause(cause, "possible", largest.subject, (largest,), share=share)]


def _may_harm(cause: Cause, rule: Rule, graph: ExplanationGraph) -> bool:
    """Return whether harm that a rule shows may come from a cause: the rule states none, or one that it explains.

    A cause that takes time makes requests slow. That they fail shows no time that it took, and that they are slow is
    no harm of a cause that makes them fail at once.
    """
    if not rule.causes:
        return not cause.mechanisms if rule.use == _FAILING_REQUESTS else not cause.takes_no_time
    return any(name == cause.id or graph.is_explained_by(name, cause.id) for name in rule.causes)


def _find_callee(scope: Subject, services: ServiceMap) -> LocalService | None:
    """Return the service on this host that a cause waits for, or None."""
    target = dict(scope).get("dst")
    return services.find_by_target(target) if target else None


def _list_callees(scope: Subject, times: ServiceTimes) -> list[LocalService]:
    """Return the service on this host that a cause waits for, and those that it waits for in turn."""
    callee = _find_callee(scope, times.services)
    account = times.find(callee) if callee is not None else None
    if account is not None:
        return [item.service for item in times.list_chain(account)]
    return [] if callee is None else [callee]


def _key(named_cause: NamedCause) -> tuple[int, bool, bool, int, int, int, int, float]:
    strength, severity, octaves = weigh_finding(named_cause.evidence[0])
    return (
        int(named_cause.confidence == "likely"),
        named_cause.is_evident,
        strength == STRENGTH_ORDER[Strength.DIRECT] and not _is_minor(named_cause.share),
        _count_tenths(named_cause.share),
        strength,
        severity,
        len({e.rule for e in named_cause.evidence}),
        octaves,
    )


def _is_minor(share: Share | None) -> bool:
    """Return whether less than a tenth of the time of harmed services may be all that a cause explains."""
    return share is not None and share.low < MINOR_SHARE


def _is_surely_minor(share: Share | None) -> bool:
    """Return whether a cause explains less than a tenth of the time of harmed services, with the whole interval."""
    return share is not None and share.high < MINOR_SHARE


def _count_tenths(share: Share | None) -> int:
    """Return a share in tenths; an unknown one is in the middle, because it may be anything."""
    return 5 if share is None else round(10 * share.value)


def _absorb(ordered: Sequence[NamedCause], graph: ExplanationGraph, times: ServiceTimes) -> list[NamedCause]:
    owner = {at: _owner(at, ordered, graph, times) for at in range(len(ordered))}
    explained: dict[int, list[str]] = {}
    for at, item in enumerate(ordered):
        if (root := _root(at, owner)) != at:
            explained.setdefault(root, []).append(item.cause)
    return [
        replace(item, explains=(*item.explains, *explained.get(at, ())))
        for at, item in enumerate(ordered)
        if _root(at, owner) == at
    ]


def _owner(
    at: int, ordered: Sequence[NamedCause], graph: ExplanationGraph, times: ServiceTimes
) -> int | None:
    """Return the first cause that explains this one; of two that explain each other, the earlier one."""
    item = ordered[at]
    callees = _list_callees(item.scope, times) if item.cause == _LOCAL_WAIT else []
    for place, other in enumerate(ordered):
        if place == at or _is_surely_minor(other.share):
            continue
        if callees and (_explains_time(other) or any(_is_named_at(other.scope, it) for it in callees)):
            return place
        is_mutual = graph.is_explained_by(other.cause, item.cause)
        is_certain = other.is_evident or item.confidence == "possible"
        explains = graph.is_explained_by(item.cause, other.cause) and _may_explain(other, item, times)
        if explains and is_certain and (place < at or not is_mutual):
            return place
    return None


def _is_named_at(scope: Subject, service: LocalService) -> bool:
    """Return whether a cause names this very service; a cause about the whole host does not."""
    return has_place(scope) and service.has_place(scope)


def _explains_time(named_cause: NamedCause) -> bool:
    """Return whether a cause about the whole host explains time along the calls of a harmed service."""
    share = named_cause.share
    return share is not None and share.low >= MINOR_SHARE and not has_place(named_cause.scope)


def _root(at: int, owner: Mapping[int, int | None]) -> int:
    """Follow the explanations from a cause upward; a ring ends where it would start again."""
    seen = [at]
    while (above := owner[seen[-1]]) is not None and above not in seen:
        seen.append(above)
    return min(seen[seen.index(above) :]) if above is not None else seen[-1]


def _may_explain(cause: NamedCause, consequence: NamedCause, times: ServiceTimes) -> bool:
    """Return whether a cause may be where its consequence is: they name no different groups or processes, or the
    consequence is at a service that waits for the service of the cause.
    """
    mine, theirs = dict(cause.scope), dict(consequence.scope)
    if all(mine.get(p, theirs.get(p)) == theirs.get(p, mine.get(p)) for p in _PLACES):
        return True
    service = times.services.find_by_pid(theirs.get("pid", ""))
    account = times.find(service) if service is not None else None
    if service is None or account is None:
        return service is not None and _is_named_at(cause.scope, service)
    return any(_is_named_at(cause.scope, item.service) for item in times.list_chain(account))
