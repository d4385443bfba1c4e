"""What a bundle says that rules, steps and hypotheses showed, by the ids of here, to be compared later."""

from __future__ import annotations

from typing import Any

from culprit.carried import verdicts
from culprit.carried.form import Document
from culprit.carried.ids import Ids

Json = dict[str, Any]


def expected(document: Document, ids: Ids) -> Json:
    """As `IncidentOrigin.expected` keeps it."""
    found = [
        verdicts.Saying("rule", one.rule, str(ids[run.id]), f"{one.state} {one.subjects}")
        for run in document.runs
        for one in run.spoke or ()
    ]
    found += [verdicts.Saying("step", one.step, str(ids[one.host]), one.verdict) for one in document.steps]
    found += [verdicts.Saying("hypothesis", one.key, "", one.standing) for one in document.hypotheses]
    return verdicts.expected(found, _why(document, ids), document.origin.rules)


def _why(document: Document, ids: Ids) -> dict[str, str]:
    """What could make a verdict another one here: bytes that were left out, of a run and of the host it is of."""
    why: dict[str, str] = {}
    host_of = {run.id: run.host for run in document.runs}
    for one in document.artifacts:
        if one.left_out is not None:
            places = (one.run, host_of[one.run])
            why.update({str(ids[place]): "left_out" for place in places if place is not None})
            why[""] = "left_out"
    for step in document.steps:
        if step.muted:
            why[f"{step.step} {ids[step.host]}"] = "muted"
            why.setdefault("", "muted")
    return why
