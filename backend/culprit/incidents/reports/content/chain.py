"""Content of a report about the evidence chain: hypotheses with their numbers, excluded hypotheses and open steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from culprit.incidents.reports.content import names
from culprit.incidents.reports.content.sources import MAX_LINE_WIDTH, Sources
from culprit.incidents.responses.chain_schemas import HostAnswerResponse, HypothesisResponse, StepResponse
from culprit.incidents.responses.schemas import IncidentResponse, PinResponse
from culprit.json_types import Json

NUMBERS = 6
"""Most numbers of one answer; the others are in Culprit."""
KEY_NUMBERS = 3
"""Most numbers of a named cause at the top of the report."""


class Chain:
    """Builds the evidence chain of one incident in one language; every number has its source."""

    def __init__(self, incident: IncidentResponse, sources: Sources, language: str) -> None:
        self.incident, self.sources, self.language = incident, sources, language
        self._hosts = {host.id: host.name for host in incident.hosts}
        self._steps = {step.key: step for step in incident.steps}
        self._pins = {pin.id: pin for pin in incident.pins}

    def causes(self) -> list[Json]:
        """Return each named cause with its suggested fix and the numbers that support it, compared numbers first.

        Rejected causes are left out. A hypothesis without a cause is named by its summary.
        """
        rejected = {item.cause for item in self.incident.rejected_causes}
        summaries = {item.key: self._render_summary(item) for item in self.incident.hypotheses}
        return [
            {
                "cause": names.get_cause_title(cause.cause, self.language)
                or summaries.get(cause.hypothesis, ""),
                "confidence": cause.confidence,
                "numbers": self.numbers(self._list_supporting_findings(cause.hypothesis))[:KEY_NUMBERS],
                "fix": names.get_cause_fix(cause.cause, self.language),
            }
            for cause in self.incident.causes
            if not cause.cause or cause.cause not in rejected
        ]

    def _list_supporting_findings(self, hypothesis_key: str) -> list[Mapping[str, Any]]:
        return [
            finding
            for hypothesis in self.incident.hypotheses
            if hypothesis.key == hypothesis_key
            for key in hypothesis.supports
            if key in self._steps
            for answer in self._steps[key].hosts
            if answer.verdict == "supports"
            for finding in answer.findings
        ]

    def hypotheses(self) -> list[Json]:
        """Return all hypotheses that are not excluded, with their steps."""
        return [
            self._hypothesis_to_json(hypothesis)
            for hypothesis in self.incident.hypotheses
            if not _is_refuted(hypothesis)
        ]

    def ruled_out(self) -> list[Json]:
        """Return excluded hypotheses with the steps that refute them."""
        return [
            {
                "summary": self._render_summary(hypothesis),
                "cause": names.get_cause_title(hypothesis.cause, self.language),
                "state": hypothesis.state,
                "steps": [self.step(self._steps[key]) for key in hypothesis.refutes if key in self._steps],
            }
            for hypothesis in self.incident.hypotheses
            if _is_refuted(hypothesis)
        ]

    def not_checked(self) -> list[Json]:
        """Return unanswered steps with the reason or waiver."""
        return [
            {
                "question": self._select_text(step.question),
                "verdict": step.verdict,
                "reason": "; ".join(dict.fromkeys(filter(None, map(self._render_reason, step.hosts)))),
                "waived": step.waived.reason if step.waived else None,
            }
            for step in self.incident.steps
            if step.waived or (step.verdict in {"not_collected", "inconclusive"})
        ]

    def _hypothesis_to_json(self, hypothesis_response: HypothesisResponse) -> Json:
        keys = dict.fromkeys((*hypothesis_response.supports, *hypothesis_response.refutes))
        about = [
            key
            for key, step in self._steps.items()
            if step.about == hypothesis_response.key and key not in keys
        ]
        step_keys = [
            *keys,
            *(key for key in about if self._steps[key].verdict in {"supports", "refutes"}),
        ]
        return {
            "key": hypothesis_response.key,
            "summary": self._render_summary(hypothesis_response),
            "cause": names.get_cause_title(hypothesis_response.cause, self.language),
            "state": hypothesis_response.state,
            "status": hypothesis_response.status,
            "strength": hypothesis_response.strength,
            "steps": [self.step(self._steps[key]) for key in step_keys if key in self._steps],
        }

    def gates(self) -> list[Json]:
        """Return answered steps on the path that belong to no hypothesis."""
        known = {hypothesis.key for hypothesis in self.incident.hypotheses}
        return [
            self.step(step)
            for step in self.incident.steps
            if step.on_path and step.about not in known and step.verdict in {"supports", "refutes"}
        ]

    def step(self, step_response: StepResponse) -> Json:
        """Return a step with its answers per host."""
        return {
            "key": step_response.key,
            "question": self._select_text(step_response.question),
            "verdict": step_response.verdict,
            "answers": [self._answer_to_json(each) for each in step_response.hosts],
        }

    def _answer_to_json(self, host_answer_response: HostAnswerResponse) -> Json:
        verdict = host_answer_response.person if host_answer_response.by == "person" else None
        return {
            "host": self._hosts.get(host_answer_response.host_id, ""),
            "verdict": host_answer_response.verdict,
            "by": host_answer_response.by,
            "who": verdict.by.name if verdict and verdict.by else "",
            "note": verdict.note if verdict else "",
            "reason": self._render_reason(host_answer_response),
            "numbers": self.numbers(host_answer_response.findings),
            "pins": [self.pin(self._pins[pin]) for pin in host_answer_response.pins if pin in self._pins],
        }

    def _render_reason(self, host_answer_response: HostAnswerResponse) -> str:
        return names.render_stored_message(host_answer_response.reason, self.language)

    def numbers(self, findings: Iterable[Mapping[str, Any]]) -> list[Json]:
        """Return the numbers of findings with the ids of their excerpts, compared numbers first."""
        results = []
        for finding in findings:
            for number in finding["numbers"]:
                cited = [self.sources.citation(each) for each in number["citations"][:3]]
                results.append(
                    {
                        "rule": finding["rule"],
                        "rule_title": names.get_rule_title(finding["rule"], self.language),
                        "measure": number["measure"],
                        "measure_title": names.get_measure_title(
                            finding["rule"], number["measure"], self.language
                        ),
                        "value": number["value"],
                        "unit": number["unit"],
                        "op": number["op"],
                        "threshold": number["threshold"],
                        "baseline": number["baseline"],
                        "n": number["sample_count"],
                        "subject": finding["subject"] if number.get("subject") is None else number["subject"],
                        "cites": list(dict.fromkeys(filter(None, cited))),
                    }
                )
        return sorted(results, key=lambda item: item["op"] is None)[:NUMBERS]

    def pins(self) -> list[Json]:
        """Return all pins."""
        return [self.pin(pin) for pin in self.incident.pins]

    def pin(self, pin_response: PinResponse) -> Json:
        """Return a pin as text with its excerpt."""
        return {
            "kind": pin_response.kind,
            "step": pin_response.step,
            "cites": [self.sources.pin(pin_response, _snapshot_lines(pin_response))],
        }

    def _render_summary(self, hypothesis_response: HypothesisResponse) -> str:
        return self._select_text(hypothesis_response.summary)

    def _select_text(self, item: Any) -> str:
        return str(item.zh if self.language == "zh" and item.zh else item.en)


def _is_refuted(hypothesis_response: HypothesisResponse) -> bool:
    return hypothesis_response.state == "refuted" or (
        hypothesis_response.state == "open" and hypothesis_response.status == "refuted"
    )


def _snapshot_lines(pin_response: PinResponse) -> list[Json]:
    """Return the snapshot of a pin as lines."""
    snapshot = pin_response.snapshot
    match pin_response.kind:
        case "line":
            rows = [(each["number"], each["text"]) for each in snapshot.get("lines", [])]
        case "row":
            line = snapshot.get("line")
            rows = [
                (line, f"{each['id']} = {each['value']} {each['unit']}".strip())
                for each in snapshot.get("cells", [])
            ]
        case "frame":
            share = snapshot.get("share")
            part = f"{100 * share:.1f} %" if share is not None else "–"
            text = f"{part} ({snapshot.get('weight')} / {snapshot.get('total')})"
            return [
                {"n": None, "frames": [snapshot.get("frame", "")], "text": text, "cut": False, "cited": True}
            ]
        case "range":
            rows = [
                (None, _describe_series(snapshot.get("metric", ""), each))
                for each in snapshot.get("series", [])
            ]
        case _:
            rows = [(None, f"{side}: {_join_values(snapshot.get(side) or {})}") for side in ("left", "right")]
    return [
        {"n": n, "text": str(text)[:MAX_LINE_WIDTH], "cut": len(str(text)) > MAX_LINE_WIDTH, "cited": True}
        for n, text in rows
    ]


def _describe_series(metric: str, series: Mapping[str, Any]) -> str:
    where = _join_values({**series["labels"], **({"": series["axis"]} if series["axis"] else {})})
    figures = " ".join(f"{name}={series[name]:.6g}" for name in ("min", "mean", "max"))
    return f"{metric} {where} n={series['sample_count']} {figures}"


def _join_values(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" if name else str(value) for name, value in values.items())
