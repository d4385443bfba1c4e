"""Every step of the catalogue that a rule answers, answered: by captured text on which the rule fires or stays quiet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import pytest
from culprit.core.playbooks.contract import Step
from culprit.core.playbooks.engine import answer
from culprit.core.rules.contract import Finding
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.registry import RULES
from culprit.playbooks.library import library
from culprit.tests.core.rules.test_seeds import STEPS, TEXTS, Json, view

ANSWERED = [
    pytest.param(step, id=f"{book.id}/{step.id}")
    for book in library().values()
    for step in book.steps
    if step.finding
]


@cache
def _cases() -> dict[tuple[str, str], list[Json]]:
    """Texts by rule and by the state that comes of them."""
    found: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for _, step in STEPS:
        if TEXTS & step.keys():
            found[step["rule"], step["state"]].append(step)
    return found


@cache
def _said(rule: str, state: str) -> Sequence[Finding] | None:
    cases = _cases()[rule, state]
    return evaluate([RULES[rule]], view(cases[0])) if cases else None


@pytest.mark.parametrize("step", ANSWERED)
def test_both_verdicts_of_a_step_come_of_text(step: Step) -> None:
    fired, quiet = _said(step.finding, "fired"), _said(step.finding, "quiet")
    assert fired is not None and quiet is not None, f"{step.finding} has no text for both"
    assert answer(step, fired, RULES).verdict == step.fired
    assert answer(step, quiet, RULES).verdict == step.quiet
    assert answer(step, fired, RULES).findings[0].numbers[0].citations, "a verdict cites"
