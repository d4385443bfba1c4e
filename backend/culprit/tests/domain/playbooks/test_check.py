"""Every mistake in a playbook is told, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.core.playbooks.check import Known, problems
from culprit.core.playbooks.contract import Card, Hypothesis, Playbook, Primary, Step

from collectors.contract import Text

T = Text("it", "它")
KNOWN = Known(
    {"F-ONE", "F-CTX"}, {"F-ONE": ["memory-leak"], "F-CTX": []}, {"F-ONE": [], "F-CTX": []},
    {"memory-leak"}, {"cpu.busy"}, {"other"},
)  # fmt: skip
FIRST = Step("first", T, "leak", {"supports": "second", "otherwise": "end"}, finding="F-ONE")
SECOND = Step("second", T, "leak", {"otherwise": "playbook:other"}, look=T)
SOUND = Playbook(
    "a-case", "case", T, T, (T,), (T,),
    (Hypothesis("leak", T, "memory-leak", Primary("cpu.busy", "lower")),),
    (FIRST, SECOND),
    cards=(Card("restart", T, T, "systemctl restart x", T, T, "cpu.busy", findings=("F-ONE",), causes=("memory-leak",)),),
)  # fmt: skip


def with_first(**changes: object) -> Playbook:
    return replace(SOUND, steps=(replace(FIRST, **changes), SECOND))  # type: ignore[arg-type]


def test_a_sound_one_has_none() -> None:
    assert problems(SOUND, KNOWN) == []


@pytest.mark.parametrize(
    ("playbook", "where", "key"),
    [
        (replace(SOUND, id="A Case"), "id", "bad_id"),
        (replace(SOUND, steps=(FIRST, SECOND, SECOND)), "steps", "twice"),
        (replace(SOUND, steps=()), "steps", "no_steps"),
        (replace(SOUND, kind="reference"), "cards", "reference_is_cards"),
        (replace(SOUND, not_covered=()), "not_covered", "covers_all"),
        (with_first(about="nobody"), "steps.first.about", "no_hypothesis"),
        (with_first(finding=""), "steps.first", "finding_or_look"),
        (with_first(look=T), "steps.first", "finding_or_look"),
        (with_first(finding="F-THREE"), "steps.first.finding", "no_rule"),
        (with_first(finding="F-CTX"), "steps.first.fired", "no_evidence"),
        (with_first(quiet="refutes"), "steps.first.quiet", "no_refutal"),
        (with_first(quiet="supports"), "steps.first", "same_either_way"),
        (with_first(then={"supports": "second"}), "steps.first.then", "no_otherwise"),
        (with_first(then={"maybe": "second", "otherwise": "end"}), "steps.first.then", "no_way"),
        (with_first(then={"supports": "third", "otherwise": "second"}), "steps.first.then.supports", "no_step"),
        (
            with_first(then={"supports": "playbook:none", "otherwise": "second"}),
            "steps.first.then.supports",
            "no_playbook",
        ),
        (with_first(then={"otherwise": "end"}), "steps.second", "not_reached"),
        (replace(SOUND, steps=(FIRST, replace(SECOND, then={"otherwise": "second"}))), "steps.second", "no_way_out"),
        (replace(SOUND, hypotheses=(Hypothesis("leak", T, "gremlins"),)), "hypotheses.leak.cause", "no_cause"),
        (
            replace(SOUND, hypotheses=(Hypothesis("leak", T, "", Primary("cpu.moon", "lower")),)),
            "hypotheses.leak.primary",
            "no_number",
        ),
        (replace(SOUND, hypotheses=(*SOUND.hypotheses, Hypothesis("idle", T))), "hypotheses.idle", "never_asked"),
        (replace(SOUND, cards=(Card("c", T, T, "rm -rf", T),)), "cards.c", "no_way_back"),
        (replace(SOUND, cards=(Card("c", T, T, findings=("F-THREE",)),)), "cards.c.findings", "no_rule"),
        (replace(SOUND, cards=(Card("c", T, T, causes=("gremlins",)),)), "cards.c.causes", "no_cause"),
        (replace(SOUND, cards=(Card("c", T, T, verifies="cpu.moon"),)), "cards.c.verifies", "no_number"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place(playbook: Playbook, where: str, key: str) -> None:
    assert (where, f"playbook.{key}") in [(one.where, one.what.key) for one in problems(playbook, KNOWN)]


def test_context_may_open_a_gate_and_say_what_it_says() -> None:
    gate = replace(FIRST, id="busy", about="symptom", finding="F-CTX", then={"otherwise": "first"})
    assert problems(replace(SOUND, steps=(gate, FIRST, SECOND)), KNOWN) == []
