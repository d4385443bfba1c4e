"""Tests of checks of decisions in an incident."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from culprit.domain.messages import render_message
from culprit.domain.playbooks.engine import HypothesisState
from culprit.domain.playbooks.refusals import (
    STATES,
    CitedPin,
    FixFact,
    IncidentFacts,
    check_decision,
    check_dismissal,
    check_dismissal_reason,
    check_transition,
    check_verdict,
    check_waiver,
)
from culprit.domain.rules.finding import Strength
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence

SUPPORTED = HypothesisState("h", "supported", ("step",), (), Strength.MECHANISM)
NOTHING = IncidentFacts((), (), ())
PROVEN = FixFact("p/h", "verified")


def key(sentence: Sentence | None) -> str | None:
    """Return the key; check that both languages can render it."""
    if sentence is None:
        return None
    assert all(render_message(sentence.key, sentence.params, locale) for locale in ("en", "zh"))
    return sentence.key


@pytest.mark.parametrize("verdict", ["supports", "refutes", "inconclusive"])
def test_check_verdict_requires_pin(verdict: str) -> None:
    assert key(check_verdict(verdict, [])) == "incident.verdict_needs_pin"
    assert check_verdict(verdict, [CitedPin("1", True)]) is None


@given(st.lists(st.booleans(), min_size=1))
def test_check_verdict_requires_collected_data_to_refute(collected: list[bool]) -> None:
    pins = [CitedPin(str(n), item) for n, item in enumerate(collected)]
    assert (check_verdict("refutes", pins) is None) == any(collected)
    assert check_verdict("supports", pins) is None


@given(st.text())
def test_check_waiver_requires_reason(reason: str) -> None:
    assert (check_waiver(reason) is None) == (len(reason.strip()) >= 3)


@pytest.mark.parametrize("strength", list(Strength))
def test_check_decision_confirmed_requires_strong_evidence(strength: Strength) -> None:
    strong = strength in (Strength.DIRECT, Strength.MECHANISM)
    stand = replace(SUPPORTED, strength=strength)
    assert key(check_decision("confirmed", "p/h", stand, [PROVEN])) == (
        None if strong else "incident.confirm_needs_strength"
    )
    for fix in (FixFact("p/h", "no_conclusion"), FixFact("p/other", "verified"), FixFact(None, "verified")):
        expected = "incident.confirm_needs_comparison" if strong else "incident.confirm_needs_strength"
        assert key(check_decision("confirmed", "p/h", stand, [fix])) == expected


def test_check_decision_requires_step() -> None:
    empty = HypothesisState("h", "open", (), (), Strength.CONTEXT)
    assert key(check_decision("likely", "p/h", empty, [])) == "incident.likely_needs_step"
    assert key(check_decision("refuted", "p/h", SUPPORTED, [])) == "incident.refuted_needs_step"
    assert (
        check_decision("open", "p/h", empty, []) is None
        and check_decision("likely", "p/h", SUPPORTED, []) is None
    )


def test_check_transition_allows_single_state_forward() -> None:
    assert check_transition("open", "investigating", "", NOTHING) is None
    assert (
        key(check_transition("investigating", "identified", "", NOTHING))
        == "incident.identified_needs_hypothesis"
    )
    assert key(check_transition("identified", "mitigated", "", NOTHING)) == "incident.mitigated_needs_fix"
    planned = replace(NOTHING, fixes=(FixFact(None, "planned"), FixFact(None, "reverted")))
    assert key(check_transition("identified", "mitigated", "", planned)) == "incident.mitigated_needs_fix"
    waiting = replace(NOTHING, gaps=tuple(f"p/step-{n}" for n in range(20)))
    assert key(check_transition("mitigated", "resolved", "", waiting)) == "incident.steps_open"
    assert check_transition("mitigated", "resolved", "", NOTHING) is None


@given(st.sampled_from(STATES), st.sampled_from(STATES), st.text(max_size=5), st.booleans())
def test_check_transition_requires_reason_for_reopening(at: str, to: str, reason: str, ready: bool) -> None:
    facts = IncidentFacts(("likely",), (FixFact(None, "applied"),), ()) if ready else NOTHING
    transition = check_transition(at, to, reason, facts)
    step = STATES.index(to) - STATES.index(at)
    if transition is None:
        assert step <= 1 and (step >= 0 or len(reason.strip()) >= 3)
    if step == 1 and ready:
        assert transition is None


def test_check_transition_covers_all_pairs() -> None:
    for at, to in itertools.product(STATES, STATES):
        key(check_transition(at, to, "because", NOTHING))


def test_check_waiver_rejects_several_playbooks() -> None:
    assert check_waiver("no tool", ["p/a", "p/b"]) is None
    assert key(check_waiver("no tool", ["p/a", "q/a"])) == "incident.waive_one_playbook"
    assert key(check_waiver(" ", ["p/a"])) == "incident.waiver_needs_reason"


def test_check_dismissal_rejects_playbook_of_cause() -> None:
    assert check_dismissal(["open", "refuted"]) is None and check_dismissal([]) is None
    assert all(
        key(check_dismissal(["open", item])) == "incident.dismissal_of_cause"
        for item in ("likely", "confirmed")
    )
    assert check_dismissal_reason("not ours") is None
    assert key(check_dismissal_reason(" x ")) == "incident.dismissal_needs_reason"
