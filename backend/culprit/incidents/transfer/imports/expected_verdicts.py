"""Collect the original verdicts of a bundle with local IDs, for a later comparison."""

from __future__ import annotations

from culprit.incidents.transfer import verdicts
from culprit.incidents.transfer.bundle.document import BundleDocument
from culprit.incidents.transfer.imports.id_map import IdMap
from culprit.json_types import Json


def build_expected(document: BundleDocument, ids: IdMap) -> Json:
    """Build the value of `IncidentOrigin.expected`."""
    verdict_records = [
        verdicts.VerdictRecord("rule", item.rule, str(ids[run.id]), f"{item.state} {item.subjects}")
        for run in document.runs
        for item in run.rule_verdicts or ()
    ]
    verdict_records += [
        verdicts.VerdictRecord("step", step.step, str(ids[step.host]), step.verdict)
        for step in document.steps
    ]
    verdict_records += [
        verdicts.VerdictRecord("hypothesis", hypothesis.key, "", hypothesis.status)
        for hypothesis in document.hypotheses
    ]
    return verdicts.build_expected(verdict_records, _collect_reasons(document, ids), document.origin.rules)


def _collect_reasons(document: BundleDocument, ids: IdMap) -> dict[str, str]:
    """Return reasons for different verdicts: omitted bytes of a run or host, and muted rules."""
    why: dict[str, str] = {}
    host_of = {run.id: run.host for run in document.runs}
    for artifact in document.artifacts:
        if artifact.left_out is not None:
            places = (artifact.run, host_of[artifact.run])
            why.update({str(ids[place]): "left_out" for place in places if place is not None})
            why[""] = "left_out"
    for step in document.steps:
        if step.muted:
            why[f"{step.step} {ids[step.host]}"] = "muted"
            why.setdefault("", "muted")
    return why
