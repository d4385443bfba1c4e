"""JSON form of findings and rankings, as stored, sent and printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from collectors.contract import Sentence
from culprit.domain.rules.finding import Citation, Finding, Number, Strength, Subject
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.service_time.accounts import TimeAccount
from culprit.domain.rules.measures.service_time.amounts import Amount, Share
from culprit.domain.rules.ranking.rank import NamedCause, Ranking
from culprit.domain.rules.ranking.weights import weigh_severity
from culprit.json_types import Json

#: Numbers per cause at most; the findings of its runs have the rest.
MAX_EVIDENCE = 5
#: Time accounts per answer, shares per account, and citations per share.
MAX_ACCOUNTS = 8
MAX_SHARES = 12
MAX_CITATIONS = 40


def sentence_to_json(sentence: Sentence | None) -> Json | None:
    """Return the JSON of a message."""
    return None if sentence is None else {"key": sentence.key, "params": dict(sentence.params)}


def citation_to_json(citation: Citation) -> Json:
    """Return the JSON of a source. Empty names are omitted."""
    pairs: Json = {name: getattr(citation, name) for name in Citation.__dataclass_fields__}
    return {name: list(value) if name == "lines" else value for name, value in pairs.items() if value}


def number_to_json(number: Number) -> Json:
    """Return the JSON of a number; `op` and `threshold` are None for related numbers."""
    return {
        "measure": number.measure,
        "value": number.value,
        "unit": number.unit,
        "op": number.op,
        "threshold": number.threshold,
        "baseline": number.baseline,
        **_interval_to_json(number),
        "subject": None if number.subject is None else dict(number.subject),
        "citations": [citation_to_json(each) for each in number.citations],
    }


def _interval_to_json(number: Number) -> Json:
    """Return how the number was obtained. An end that nothing limits is None."""
    interval = number.interval or Interval("exact", number.value, number.value)
    low, high = (end if math.isfinite(end) else None for end in (interval.low, interval.high))
    return {"sample_count": number.sample_count, "kind": interval.kind, "low": low, "high": high}


def _interval_from_json(stored: Mapping[str, Any]) -> Interval | None:
    """Return the interval of a stored number; None if it is exact or was stored before there were intervals."""
    if stored.get("kind", "exact") == "exact":
        return None
    low, high = stored["low"], stored["high"]
    return Interval(stored["kind"], -math.inf if low is None else low, math.inf if high is None else high)


def finding_to_json(finding: Finding) -> Json:
    """Return the JSON of a finding."""
    return {
        "rule": finding.rule,
        "state": finding.state,
        "severity": finding.severity,
        "strength": str(finding.strength),
        "subject": dict(finding.subject),
        "numbers": [number_to_json(each) for each in finding.numbers],
        "reason": sentence_to_json(finding.reason),
        "detail": dict(finding.detail),
    }


def finding_from_json(stored: Mapping[str, Any]) -> Finding:
    """Parse a finding. Raises KeyError or TypeError for other JSON."""
    reason = stored["reason"]
    return Finding(
        stored["rule"],
        stored["state"],
        stored["severity"],
        Strength(stored["strength"]),
        tuple(sorted(stored["subject"].items())),
        tuple(_number_from_json(number) for number in stored["numbers"]),
        Sentence(reason["key"], reason["params"]) if reason else None,
        stored["detail"],
    )


def _number_from_json(stored: Mapping[str, Any]) -> Number:
    subject = stored.get("subject")
    return Number(
        measure=stored["measure"],
        value=stored["value"],
        unit=stored["unit"],
        op=stored["op"],
        threshold=stored["threshold"],
        citations=tuple(_citation_from_json(citation) for citation in stored["citations"]),
        baseline=stored["baseline"],
        sample_count=stored["sample_count"],
        subject=None if subject is None else tuple(sorted(subject.items())),
        interval=_interval_from_json(stored),
    )


def _citation_from_json(stored: Mapping[str, Any]) -> Citation:
    names = ("run", "collector", "artifact", "part")
    places = {name: str(stored.get(name, "")) for name in (*names, "profile", "frame")}
    return Citation(**places, lines=tuple(stored.get("lines", ())))


def evidence_to_json(findings: Iterable[Finding]) -> list[Json]:
    """Return the distinct numbers of findings, the strongest first, related numbers last."""
    reported_findings = [(finding, each) for finding in findings for each in finding.numbers]
    results: dict[tuple[str, Subject], Json] = {}
    for item, each in sorted(reported_findings, key=lambda pair: not pair[1].is_compared):
        about = item.subject if each.subject is None else each.subject
        if (each.measure, about) not in results:
            results[each.measure, about] = _evidence(item, each, about)
    return list(results.values())[:MAX_EVIDENCE]


def _evidence(finding: Finding, each: Number, about: Subject) -> Json:
    first = citation_to_json(each.citations[0]) if each.citations else {}
    return {
        "finding": finding.rule,
        "strength": str(finding.strength),
        "severity": finding.severity,
        "subject": dict(about),
        "metric": each.measure,
        "value": each.value,
        "unit": each.unit,
        "op": each.op,
        "threshold": each.threshold,
        "baseline": each.baseline,
        **_interval_to_json(each),
        "artifact": first.get("artifact"),
        "locator": {name: value for name, value in first.items() if name != "artifact"},
        "detail": dict(finding.detail),
    }


def cause_to_json(named_cause: NamedCause) -> Json:
    """Return the JSON of a named cause."""
    return {
        "id": named_cause.cause,
        "scope": dict(named_cause.scope),
        "confidence": named_cause.confidence,
        "evidence": evidence_to_json(named_cause.evidence),
        "explains": list(named_cause.explains),
        "share": share_to_json(named_cause.share),
    }


def share_to_json(share: Share | None) -> Json | None:
    """Return the JSON of a share in percent, with its bounds."""
    if share is None:
        return None
    return {"pct": 100 * share.value, "low_pct": 100 * share.low, "high_pct": 100 * share.high}


def account_to_json(account: TimeAccount, *, is_harmed: bool) -> Json:
    """Return the JSON of a time account: what its threads and requests are busy with, then its idle threads."""
    busy = sorted(account.amounts.items(), key=lambda item: (-item[1].number, item[0]))
    idle = sorted(account.idle.items(), key=lambda item: (-item[1].number, item[0]))
    every = account.total + sum(amount.number for _, amount in idle)
    return {
        "service": account.service.name,
        "subject": dict(account.service.subject),
        "process_count": len(account.service.pids),
        "is_harmed": is_harmed,
        "waiting": account.waiting,
        "queued": account.queued,
        "oldest_ms": account.oldest_ms,
        "sample_count": account.samples,
        "busy_pct": 100 * account.total / every if every else 0.0,
        "citations": [citation_to_json(item) for item in account.citations[:MAX_CITATIONS]],
        "shares": [_amount_to_json(account, key, amount, every) for key, amount in busy[:MAX_SHARES]],
        "idle": [_amount_to_json(account, key, amount, every) for key, amount in idle[:MAX_SHARES]],
        "ran_instead": [
            {"name": item.name, "pid": item.pid, "pct": 100 * item.share} for item in account.ran_instead
        ],
    }


def _amount_to_json(account: TimeAccount, key: tuple[str, str], amount: Amount, every: float) -> Json:
    share = account.share_of(*key) if key in account.amounts else None
    callee = account.callees.get(key[1])
    return {
        "activity": key[0],
        "target": key[1],
        "operation": amount.operation,
        "callee": None if callee is None else {"service": callee.name, "subject": dict(callee.subject)},
        "wall_pct": 100 * amount.number / every if every else 0.0,
        "share": share_to_json(share),
        "longest_ms": amount.longest_ms,
        "sample_count": amount.samples,
        "citations": [citation_to_json(item) for item in amount.citations[:MAX_CITATIONS]],
    }


def _list_atypical(ranking: Ranking, findings: Iterable[Finding]) -> list[Finding]:
    """Return the matched findings that support no named cause, the gravest first: none of them is lost."""
    evidence = {(item.rule, item.subject) for cause in ranking.causes for item in cause.evidence}
    dismissed = {(item.rule, item.subject) for item in ranking.refuted}
    atypical = [
        item
        for item in findings
        if item.state == "matched" and (item.rule, item.subject) not in evidence | dismissed
    ]
    return sorted(
        atypical, key=lambda item: (*(-part for part in weigh_severity(item)), item.rule, item.subject)
    )


def ranking_to_json(ranking: Ranking, findings: Iterable[Finding]) -> Json:
    """Return the JSON of a ranking, without data of its runs."""
    matching_findings = list(findings)
    return {
        "causes": [cause_to_json(cause) for cause in ranking.causes],
        "ruled_out": [{"id": item.cause, "by": evidence_to_json(item.by[:2])} for item in ranking.ruled_out],
        "not_checked": list(ranking.not_checked),
        "open": list(ranking.open),
        "not_collected": [
            {"finding": finding.rule, "reason": sentence_to_json(finding.reason)}
            for finding in matching_findings
            if finding.state == "not_evaluated"
        ],
        "inconclusive": [
            finding_to_json(finding) for finding in matching_findings if finding.state == "inconclusive"
        ],
        "refuted": [finding_to_json(item) for item in ranking.refuted],
        "harm": [finding_to_json(item) for item in ranking.harm],
        "time_accounts": [
            account_to_json(account, is_harmed=account in ranking.harmed)
            for account in ranking.accounts[:MAX_ACCOUNTS]
        ],
        "unexplained_pct": None if ranking.unexplained is None else 100 * ranking.unexplained,
        "context": [finding_to_json(item) for item in _list_atypical(ranking, matching_findings)],
    }
