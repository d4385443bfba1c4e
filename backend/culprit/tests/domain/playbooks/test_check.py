"""Tests of the validation of playbooks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.playbooks.check import KnownIds, find_problems
from culprit.domain.playbooks.model import (
    Playbook,
    PlaybookHypothesis,
    PlaybookStep,
    PrimaryNumber,
    Remediation,
)

from collectors.contract import Text

T = Text("it", "它")
KNOWN = KnownIds(
    {"F-ONE", "F-CTX"}, {"F-ONE": ["memory-leak"], "F-CTX": []}, {"F-ONE": [], "F-CTX": []},
    {"memory-leak"}, {"cpu.busy"}, {"other"},
)  # fmt: skip
FIRST = PlaybookStep("first", T, "leak", {"supports": "second", "otherwise": "end"}, finding="F-ONE")
SECOND = PlaybookStep("second", T, "leak", {"otherwise": "playbook:other"}, instructions=T)
SOUND = Playbook(
    "a-case", "case", T, T, (T,), (T,),
    (PlaybookHypothesis("leak", T, "memory-leak", PrimaryNumber("cpu.busy", "lower")),),
    (FIRST, SECOND),
    remediations=(Remediation("restart", T, T, "systemctl restart x", T, T, "cpu.busy", findings=("F-ONE",), causes=("memory-leak",)),),
)  # fmt: skip


def with_first(**changes: object) -> Playbook:
    return replace(SOUND, steps=(replace(FIRST, **changes), SECOND))  # type: ignore[arg-type]


def test_find_problems_accepts_valid_playbook() -> None:
    assert find_problems(SOUND, KNOWN) == []


@pytest.mark.parametrize(
    ("playbook", "location", "key"),
    [
        (replace(SOUND, id="A Case"), "id", "bad_id"),
        (replace(SOUND, steps=(FIRST, SECOND, SECOND)), "steps", "duplicate_id"),
        (replace(SOUND, steps=()), "steps", "no_steps"),
        (replace(SOUND, kind="reference"), "remediations", "reference_needs_remediations"),
        (replace(SOUND, not_covered=()), "not_covered", "no_limits"),
        (with_first(about="nobody"), "steps.first.about", "no_hypothesis"),
        (with_first(finding=""), "steps.first", "finding_or_instructions"),
        (with_first(instructions=T), "steps.first", "finding_or_instructions"),
        (with_first(finding="F-THREE"), "steps.first.finding", "no_rule"),
        (with_first(finding="F-CTX"), "steps.first.matched", "not_supported"),
        (with_first(not_matched="refutes"), "steps.first.not_matched", "not_refuted"),
        (with_first(not_matched="supports"), "steps.first", "same_verdict"),
        (with_first(branches={"supports": "second"}), "steps.first.branches", "no_otherwise"),
        (with_first(branches={"maybe": "second", "otherwise": "end"}), "steps.first.branches", "unknown_branch"),
        (with_first(branches={"supports": "third", "otherwise": "second"}), "steps.first.branches.supports", "no_step"),
        (
            with_first(branches={"supports": "playbook:none", "otherwise": "second"}),
            "steps.first.branches.supports",
            "no_playbook",
        ),
        (with_first(branches={"otherwise": "end"}), "steps.second", "not_reached"),
        (replace(SOUND, steps=(FIRST, replace(SECOND, branches={"otherwise": "second"}))), "steps.second", "no_end"),
        (replace(SOUND, hypotheses=(PlaybookHypothesis("leak", T, "gremlins"),)), "hypotheses.leak.cause", "no_cause"),
        (
            replace(SOUND, hypotheses=(PlaybookHypothesis("leak", T, "", PrimaryNumber("cpu.moon", "lower")),)),
            "hypotheses.leak.primary",
            "no_number",
        ),
        (replace(SOUND, hypotheses=(*SOUND.hypotheses, PlaybookHypothesis("idle", T))), "hypotheses.idle", "hypothesis_not_tested"),
        (replace(SOUND, remediations=(Remediation("c", T, T, "rm -rf", T),)), "remediations.c", "no_rollback"),
        (replace(SOUND, remediations=(Remediation("c", T, T, findings=("F-THREE",)),)), "remediations.c.findings", "no_rule"),
        (replace(SOUND, remediations=(Remediation("c", T, T, causes=("gremlins",)),)), "remediations.c.causes", "no_cause"),
        (replace(SOUND, remediations=(Remediation("c", T, T, verifies="cpu.moon"),)), "remediations.c.verifies", "no_number"),
    ],
)  # fmt: skip
def test_find_problems_reports_error_with_location(playbook: Playbook, location: str, key: str) -> None:
    assert (location, f"playbook.{key}") in [
        (problem.location, problem.what.key) for problem in find_problems(playbook, KNOWN)
    ]


def test_find_problems_accepts_context_rule_for_gate() -> None:
    gate = replace(FIRST, id="busy", about="symptom", finding="F-CTX", branches={"otherwise": "first"})
    assert find_problems(replace(SOUND, steps=(gate, FIRST, SECOND)), KNOWN) == []
