"""The chain of an incident as a report tells it: what holds and by which numbers, what was ruled out, what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from culprit.incidents.schemas import IncidentRead, PinRead
from culprit.incidents.schemas_chain import HostAnswerRead, HypothesisRead, StepRead
from culprit.reports import naming
from culprit.reports.sources import WIDTH, Sources

Json = dict[str, Any]
NUMBERS = 6
"""Numbers that one answer tells; the rest is in Culprit."""


class Chain:
    """Tells the chain of one incident in one language; every number brings its source along."""

    def __init__(self, incident: IncidentRead, sources: Sources, language: str) -> None:
        self.incident, self.sources, self.language = incident, sources, language
        self._hosts = {one.id: one.name for one in incident.hosts}
        self._steps = {one.key: one for one in incident.steps}
        self._pins = {one.id: one for one in incident.pins}

    def hypotheses(self) -> list[Json]:
        """Every hypothesis that was not ruled out, with the steps that speak about it."""
        return [self._hypothesis(one) for one in self.incident.hypotheses if not _out(one)]

    def ruled_out(self) -> list[Json]:
        """What was ruled out, and by what."""
        return [
            {
                "says": self._says(one),
                "cause": naming.cause(one.cause, self.language),
                "state": one.state,
                "steps": [self.step(self._steps[key]) for key in one.refutes if key in self._steps],
            }
            for one in self.incident.hypotheses
            if _out(one)
        ]

    def not_looked_at(self) -> list[Json]:
        """The questions that nothing answers, and why they may stay so."""
        return [
            {
                "asks": self._text(one.asks),
                "verdict": one.verdict,
                "reason": "; ".join(dict.fromkeys(filter(None, map(self._reason, one.hosts)))),
                "waived": one.waived.reason if one.waived else None,
            }
            for one in self.incident.steps
            if one.waived or (one.verdict in {"not_collected", "inconclusive"})
        ]

    def _hypothesis(self, one: HypothesisRead) -> Json:
        keys = dict.fromkeys((*one.supports, *one.refutes))
        about = [key for key, step in self._steps.items() if step.about == one.key and key not in keys]
        told = [*keys, *(key for key in about if self._steps[key].verdict in {"supports", "refutes"})]
        return {
            "key": one.key,
            "says": self._says(one),
            "cause": naming.cause(one.cause, self.language),
            "state": one.state,
            "standing": one.standing,
            "grade": one.grade,
            "steps": [self.step(self._steps[key]) for key in told if key in self._steps],
        }

    def gates(self) -> list[Json]:
        """The answered steps on the path that are about no single hypothesis."""
        known = {one.key for one in self.incident.hypotheses}
        return [
            self.step(one)
            for one in self.incident.steps
            if one.on_path and one.about not in known and one.verdict in {"supports", "refutes"}
        ]

    def step(self, one: StepRead) -> Json:
        """One question and its answers on each host."""
        return {
            "key": one.key,
            "asks": self._text(one.asks),
            "verdict": one.verdict,
            "answers": [self._answer(each) for each in one.hosts],
        }

    def _answer(self, one: HostAnswerRead) -> Json:
        spoken = one.person if one.by == "person" else None
        return {
            "host": self._hosts.get(one.host_id, ""),
            "verdict": one.verdict,
            "by": one.by,
            "who": spoken.by.name if spoken and spoken.by else "",
            "note": spoken.note if spoken else "",
            "reason": self._reason(one),
            "numbers": self.numbers(one.findings),
            "pins": [self.pin(self._pins[pin]) for pin in one.pins if pin in self._pins],
        }

    def _reason(self, one: HostAnswerRead) -> str:
        return naming.sentence(one.reason, self.language)

    def numbers(self, findings: Iterable[Mapping[str, Any]]) -> list[Json]:
        """The numbers of findings with the ids of their excerpts, those that were compared first."""
        found = []
        for finding in findings:
            for one in finding["numbers"]:
                cited = [self.sources.cite(each) for each in one["citations"][:3]]
                found.append(
                    {
                        "rule": finding["rule"],
                        "rule_title": naming.rule(finding["rule"], self.language),
                        "measure": one["measure"],
                        "measure_title": naming.measure(finding["rule"], one["measure"], self.language),
                        "value": one["value"],
                        "unit": one["unit"],
                        "op": one["op"],
                        "threshold": one["threshold"],
                        "baseline": one["baseline"],
                        "n": one["n"],
                        "subject": finding["subject"] if one.get("subject") is None else one["subject"],
                        "cites": list(dict.fromkeys(filter(None, cited))),
                    }
                )
        return sorted(found, key=lambda one: one["op"] is None)[:NUMBERS]

    def pins(self) -> list[Json]:
        """Everything that was pinned."""
        return [self.pin(one) for one in self.incident.pins]

    def pin(self, one: PinRead) -> Json:
        """A pin as words, and the excerpt that it is."""
        return {"kind": one.kind, "step": one.step, "cites": [self.sources.pin(one, _shown(one))]}

    def _says(self, one: HypothesisRead) -> str:
        return self._text(one.says)

    def _text(self, one: Any) -> str:
        return str(one.zh if self.language == "zh" and one.zh else one.en)


def _out(one: HypothesisRead) -> bool:
    return one.state == "refuted" or (one.state == "open" and one.standing == "refuted")


def _shown(one: PinRead) -> list[Json]:
    """What a pin showed, as lines."""
    said = one.said
    match one.kind:
        case "line":
            rows = [(each["n"], each["text"]) for each in said.get("lines", [])]
        case "row":
            line = said.get("line")
            rows = [
                (line, f"{each['id']} = {each['value']} {each['unit']}".strip())
                for each in said.get("cells", [])
            ]
        case "frame":
            share = said.get("share")
            part = f"{100 * share:.1f} %" if share is not None else "–"
            text = f"{part} ({said.get('weight')} / {said.get('total')})"
            return [{"n": None, "frames": [said.get("frame", "")], "text": text, "cut": False, "cited": True}]
        case "range":
            rows = [(None, _lane(said.get("metric", ""), each)) for each in said.get("lanes", [])]
        case _:
            rows = [(None, f"{side}: {_flat(said.get(side) or {})}") for side in ("left", "right")]
    return [
        {"n": n, "text": str(text)[:WIDTH], "cut": len(str(text)) > WIDTH, "cited": True} for n, text in rows
    ]


def _lane(metric: str, lane: Mapping[str, Any]) -> str:
    where = _flat({**lane["labels"], **({"": lane["axis"]} if lane["axis"] else {})})
    return (
        f"{metric} {where} n={lane['n']} min={lane['min']:.6g} mean={lane['mean']:.6g} max={lane['max']:.6g}"
    )


def _flat(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" if name else str(value) for name, value in values.items())
