"""Tests of the state of playbooks in an incident."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.playbooks.merge import Evidence, PersonVerdict, PlaybookWalk, merge_hosts
from culprit.domain.playbooks.model import Playbook, PlaybookHypothesis, PlaybookStep, Verdict
from culprit.domain.playbooks.relevance import playbook_state
from culprit.domain.rules.registry import RULES

from collectors.contract import Text

T = Text("it", "它")
BOOK = Playbook(
    "ports", "case", T, T, (T,), (T,),
    (PlaybookHypothesis("search", T), PlaybookHypothesis("peer", T)),
    (
        PlaybookStep("quality", T, "quality", {"otherwise": "stacks"}, instructions=T),
        PlaybookStep("stacks", T, "search", {"otherwise": "slow"}, instructions=T),
        PlaybookStep("slow", T, "peer", {"otherwise": "end"}, instructions=T),
    ),
)  # fmt: skip


def walked(book: Playbook = BOOK, **verdict: Verdict) -> PlaybookWalk:
    spoken = [
        PersonVerdict(step, f"ports/{step}", None, verdict, "ada", 1) for step, verdict in verdict.items()
    ]
    return merge_hosts(book, ("a",), ("a",), Evidence({}, spoken), RULES)


@pytest.mark.parametrize("verdicts", [{}, {"stacks": "refutes"}, {"stacks": "refutes", "slow": "supports"}])
def test_playbook_state_is_active_with_open_hypothesis(verdicts: dict[str, Verdict]) -> None:
    assert playbook_state(walked(quality="supports", **verdicts), {}) == "active"


def test_playbook_state_is_refuted_without_open_hypotheses() -> None:
    assert playbook_state(walked(quality="supports", stacks="refutes", slow="refutes"), {}) == "refuted"
    half = walked(quality="supports", stacks="refutes")
    assert playbook_state(half, {"ports/peer": "refuted"}) == "refuted"
    assert playbook_state(half, {"other/peer": "refuted"}) == "active"


def test_playbook_state_ignores_evidence_after_open_gate() -> None:
    doubtful = walked(stacks="refutes", slow="refutes")
    assert playbook_state(doubtful, {}) == "active"
    assert playbook_state(doubtful, {"ports/search": "refuted", "ports/peer": "refuted"}) == "refuted"


def test_playbook_state_is_dismissed_without_cause() -> None:
    assert playbook_state(walked(), {}, dismissed=True) == "dismissed"
    for state in ("likely", "confirmed"):
        result = walked(quality="supports", stacks="refutes", slow="refutes")
        assert playbook_state(result, {"ports/search": state}, dismissed=True) == "active"


def test_playbook_state_is_active_without_hypotheses() -> None:
    bare = replace(BOOK, hypotheses=(), steps=BOOK.steps[:1])
    bare = replace(bare, steps=(replace(bare.steps[0], branches={"otherwise": "end"}),))
    assert playbook_state(walked(bare), {}) == "active"
