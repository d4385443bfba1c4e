"""Which playbooks are still asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.core.playbooks.contract import Hypothesis, Playbook, Step, Verdict
from culprit.core.playbooks.merge import Evidence, Spoken, Walked, over
from culprit.core.playbooks.play import play
from culprit.core.rules.registry import RULES

from collectors.contract import Text

T = Text("it", "它")
BOOK = Playbook(
    "ports", "case", T, T, (T,), (T,),
    (Hypothesis("search", T), Hypothesis("peer", T)),
    (
        Step("quality", T, "quality", {"otherwise": "stacks"}, look=T),
        Step("stacks", T, "search", {"otherwise": "slow"}, look=T),
        Step("slow", T, "peer", {"otherwise": "end"}, look=T),
    ),
)  # fmt: skip


def walked(book: Playbook = BOOK, **said: Verdict) -> Walked:
    spoken = [Spoken(step, f"ports/{step}", None, verdict, "ada", 1) for step, verdict in said.items()]
    return over(book, ("a",), ("a",), Evidence({}, spoken), RULES)


@pytest.mark.parametrize("said", [{}, {"stacks": "refutes"}, {"stacks": "refutes", "slow": "supports"}])
def test_while_a_hypothesis_is_left_a_playbook_is_asked(said: dict[str, Verdict]) -> None:
    assert play(walked(quality="supports", **said), {}) == "asked"


def test_nothing_is_left_of_a_playbook_whose_hypotheses_are_all_refuted() -> None:
    assert play(walked(quality="supports", stacks="refutes", slow="refutes"), {}) == "refuted"
    half = walked(quality="supports", stacks="refutes")
    assert play(half, {"ports/peer": "refuted"}) == "refuted"
    assert play(half, {"other/peer": "refuted"}) == "asked"


def test_evidence_behind_an_open_gate_refutes_no_playbook_but_a_person_does() -> None:
    doubtful = walked(stacks="refutes", slow="refutes")
    assert play(doubtful, {}) == "asked"
    assert play(doubtful, {"ports/search": "refuted", "ports/peer": "refuted"}) == "refuted"


def test_what_somebody_set_aside_is_out_unless_a_cause_comes_from_it() -> None:
    assert play(walked(), {}, aside=True) == "aside"
    for state in ("likely", "confirmed"):
        found = walked(quality="supports", stacks="refutes", slow="refutes")
        assert play(found, {"ports/search": state}, aside=True) == "asked"


def test_a_playbook_without_hypotheses_cannot_be_refuted() -> None:
    bare = replace(BOOK, hypotheses=(), steps=BOOK.steps[:1])
    bare = replace(bare, steps=(replace(bare.steps[0], then={"otherwise": "end"}),))
    assert play(walked(bare), {}) == "asked"
