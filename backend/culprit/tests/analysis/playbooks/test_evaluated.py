"""Tests of both states of every rule in the catalog, on captured text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import pytest
from culprit.analysis.playbooks.library import load_catalog
from culprit.domain.playbooks.engine import answer_step
from culprit.domain.playbooks.model import PlaybookStep
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.registry import RULES
from culprit.json_types import Json
from culprit.tests.domain.rules.test_seeds import STEPS, TEXTS, view

ANSWERED = [
    pytest.param(step, id=f"{book.id}/{step.id}")
    for book in load_catalog().values()
    for step in book.steps
    if step.finding
]


@cache
def _cases() -> dict[tuple[str, str], list[Json]]:
    """Texts by rule and by the state that comes of them."""
    result: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for _, step in STEPS:
        if TEXTS & step.keys():
            result[step["rule"], step["state"]].append(step)
    return result


@cache
def _build_findings(rule: str, state: str) -> Sequence[Finding] | None:
    cases = _cases()[rule, state]
    return evaluate_rules([RULES[rule]], view(cases[0])) if cases else None


@pytest.mark.parametrize("step", ANSWERED)
def test_answer_step_covers_both_states_of_rule(step: PlaybookStep) -> None:
    matched, not_matched = (
        _build_findings(step.finding, "matched"),
        _build_findings(step.finding, "not_matched"),
    )
    assert matched is not None and not_matched is not None, f"{step.finding} has no text for both"
    assert answer_step(step, matched, RULES).verdict == step.matched
    assert answer_step(step, not_matched, RULES).verdict == step.not_matched
    assert answer_step(step, matched, RULES).findings[0].numbers[0].citations, "a verdict cites"
