"""Findings and diagnoses as JSON: what is stored, sent and printed, in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from collectors.contract import Sentence
from culprit.core.rules.contract import Citation, Finding, Grade, Number, Subject
from culprit.core.rules.rank import Named, Ranking

Json = dict[str, Any]
#: A cause is told with at most this many numbers; the rest stands in the findings of its runs.
MAX_EVIDENCE = 5


def sentence(one: Sentence | None) -> Json | None:
    """A sentence as it is stored."""
    return None if one is None else {"key": one.key, "params": dict(one.params)}


def citation(one: Citation) -> Json:
    """A place in an artifact. Names that are empty are left out."""
    pairs: Json = {name: getattr(one, name) for name in Citation.__dataclass_fields__}
    return {name: list(value) if name == "lines" else value for name, value in pairs.items() if value}


def number(one: Number) -> Json:
    """One number; `op` and `threshold` are None where it was compared with nothing."""
    return {
        "measure": one.measure,
        "value": one.value,
        "unit": one.unit,
        "op": one.op,
        "threshold": one.threshold,
        "baseline": one.baseline,
        "n": one.n,
        "subject": None if one.subject is None else dict(one.subject),
        "citations": [citation(each) for each in one.citations],
    }


def finding(one: Finding) -> Json:
    """One finding."""
    return {
        "rule": one.rule,
        "state": one.state,
        "severity": one.severity,
        "grade": str(one.grade),
        "subject": dict(one.subject),
        "numbers": [number(each) for each in one.numbers],
        "reason": sentence(one.reason),
        "detail": dict(one.detail),
    }


def read_finding(kept: Mapping[str, Any]) -> Finding:
    """A finding out of its JSON. Raises KeyError or TypeError for anything else."""
    reason = kept["reason"]
    return Finding(
        kept["rule"],
        kept["state"],
        kept["severity"],
        Grade(kept["grade"]),
        tuple(sorted(kept["subject"].items())),
        tuple(_read_number(one) for one in kept["numbers"]),
        Sentence(reason["key"], reason["params"]) if reason else None,
        kept["detail"],
    )


def _read_number(kept: Mapping[str, Any]) -> Number:
    subject = kept.get("subject")
    return Number(
        measure=kept["measure"],
        value=kept["value"],
        unit=kept["unit"],
        op=kept["op"],
        threshold=kept["threshold"],
        citations=tuple(_read_citation(one) for one in kept["citations"]),
        baseline=kept["baseline"],
        n=kept["n"],
        subject=None if subject is None else tuple(sorted(subject.items())),
    )


def _read_citation(kept: Mapping[str, Any]) -> Citation:
    names = ("run", "collector", "artifact", "part")
    places = {name: str(kept.get(name, "")) for name in (*names, "profile", "frame")}
    return Citation(**places, lines=tuple(kept.get("lines", ())))


def evidence(findings: Iterable[Finding]) -> list[Json]:
    """The numbers of findings, the strongest first, those that were compared before the others; none twice."""
    told = [(one, each) for one in findings for each in one.numbers]
    found: dict[tuple[str, Subject], Json] = {}
    for one, each in sorted(told, key=lambda pair: not pair[1].compared):
        about = one.subject if each.subject is None else each.subject
        if (each.measure, about) not in found:
            found[each.measure, about] = _evidence(one, each, about)
    return list(found.values())[:MAX_EVIDENCE]


def _evidence(one: Finding, each: Number, about: Subject) -> Json:
    first = citation(each.citations[0]) if each.citations else {}
    return {
        "finding": one.rule,
        "grade": str(one.grade),
        "severity": one.severity,
        "subject": dict(about),
        "metric": each.measure,
        "value": each.value,
        "unit": each.unit,
        "op": each.op,
        "threshold": each.threshold,
        "baseline": each.baseline,
        "n": each.n,
        "artifact": first.get("artifact"),
        "locator": {name: value for name, value in first.items() if name != "artifact"},
        "detail": dict(one.detail),
    }


def named(one: Named) -> Json:
    """One cause."""
    return {
        "id": one.cause,
        "scope": dict(one.scope),
        "confidence": one.confidence,
        "evidence": evidence(one.evidence),
        "explains": list(one.explains),
    }


def answer(ranking: Ranking, findings: Iterable[Finding]) -> Json:
    """What a ranking says, without what belongs to the runs it was made of."""
    found = list(findings)
    return {
        "causes": [named(one) for one in ranking.causes],
        "ruled_out": [{"id": one.cause, "by": evidence(one.by[:2])} for one in ranking.ruled_out],
        "not_looked_at": list(ranking.not_looked_at),
        "open": list(ranking.open),
        "not_collected": [
            {"finding": one.rule, "reason": sentence(one.reason)}
            for one in found
            if one.state == "not_evaluated"
        ],
        "inconclusive": [finding(one) for one in found if one.state == "inconclusive"],
        "set_aside": [finding(one) for one in ranking.set_aside],
        "context": [finding(one) for one in found if one.state == "fired" and one.grade is Grade.CONTEXT],
    }
