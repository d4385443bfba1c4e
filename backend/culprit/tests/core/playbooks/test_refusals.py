"""What an incident refuses, and that each refusal can be said."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from culprit.core.playbooks.engine import Stand
from culprit.core.playbooks.refusals import (
    STATES,
    Cited,
    Facts,
    FixFact,
    aside,
    aside_reason,
    change,
    decision,
    verdict,
    waiver,
)
from culprit.core.rules.contract import Grade
from culprit.kit.sentences import say
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence

SUPPORTED = Stand("h", "supported", ("step",), (), Grade.MECHANISM)
NOTHING = Facts((), (), ())
PROVEN = FixFact("p/h", "verified")


def key(found: Sentence | None) -> str | None:
    """The key, and that both languages can say it."""
    if found is None:
        return None
    assert all(say(found.key, found.params, locale) for locale in ("en", "zh"))
    return found.key


@pytest.mark.parametrize("said", ["supports", "refutes", "inconclusive"])
def test_a_verdict_needs_a_pin(said: str) -> None:
    assert key(verdict(said, [])) == "incident.verdict_needs_pin"
    assert verdict(said, [Cited("1", True)]) is None


@given(st.lists(st.booleans(), min_size=1))
def test_what_was_not_collected_refutes_nothing(collected: list[bool]) -> None:
    pins = [Cited(str(n), one) for n, one in enumerate(collected)]
    assert (verdict("refutes", pins) is None) == any(collected)
    assert verdict("supports", pins) is None


@given(st.text())
def test_a_waiver_says_why(reason: str) -> None:
    assert (waiver(reason) is None) == (len(reason.strip()) >= 3)


@pytest.mark.parametrize("grade", list(Grade))
def test_confirmed_needs_strong_evidence_and_a_comparison(grade: Grade) -> None:
    strong = grade in (Grade.DIRECT, Grade.MECHANISM)
    stand = replace(SUPPORTED, grade=grade)
    assert key(decision("confirmed", "p/h", stand, [PROVEN])) == (
        None if strong else "incident.confirm_needs_grade"
    )
    for fix in (FixFact("p/h", "no_conclusion"), FixFact("p/other", "verified"), FixFact(None, "verified")):
        expected = "incident.confirm_needs_comparison" if strong else "incident.confirm_needs_grade"
        assert key(decision("confirmed", "p/h", stand, [fix])) == expected


def test_a_decision_rests_on_a_step_and_can_be_taken_back() -> None:
    empty = Stand("h", "open", (), (), Grade.CONTEXT)
    assert key(decision("likely", "p/h", empty, [])) == "incident.likely_needs_step"
    assert key(decision("refuted", "p/h", SUPPORTED, [])) == "incident.refuted_needs_step"
    assert decision("open", "p/h", empty, []) is None and decision("likely", "p/h", SUPPORTED, []) is None


def test_states_go_one_at_a_time_and_each_needs_what_it_says() -> None:
    assert change("open", "investigating", "", NOTHING) is None
    assert key(change("investigating", "identified", "", NOTHING)) == "incident.identified_needs_hypothesis"
    assert key(change("identified", "mitigated", "", NOTHING)) == "incident.mitigated_needs_fix"
    planned = replace(NOTHING, fixes=(FixFact(None, "planned"), FixFact(None, "reverted")))
    assert key(change("identified", "mitigated", "", planned)) == "incident.mitigated_needs_fix"
    waiting = replace(NOTHING, gaps=tuple(f"p/step-{n}" for n in range(20)))
    assert key(change("mitigated", "resolved", "", waiting)) == "incident.steps_open"
    assert change("mitigated", "resolved", "", NOTHING) is None


@given(st.sampled_from(STATES), st.sampled_from(STATES), st.text(max_size=5), st.booleans())
def test_no_way_forward_skips_a_state_and_no_way_back_is_without_a_reason(
    at: str, to: str, reason: str, ready: bool
) -> None:
    facts = Facts(("likely",), (FixFact(None, "applied"),), ()) if ready else NOTHING
    found = change(at, to, reason, facts)
    step = STATES.index(to) - STATES.index(at)
    if found is None:
        assert step <= 1 and (step >= 0 or len(reason.strip()) >= 3)
    if step == 1 and ready:
        assert found is None


def test_every_pair_of_states_is_decided() -> None:
    for at, to in itertools.product(STATES, STATES):
        key(change(at, to, "because", NOTHING))


def test_one_reason_waives_steps_of_one_playbook_only() -> None:
    assert waiver("no tool", ["p/a", "p/b"]) is None
    assert key(waiver("no tool", ["p/a", "q/a"])) == "incident.waive_one_playbook"
    assert key(waiver(" ", ["p/a"])) == "incident.waiver_needs_reason"


def test_a_playbook_of_a_cause_is_not_set_aside() -> None:
    assert aside(["open", "refuted"]) is None and aside([]) is None
    assert all(key(aside(["open", one])) == "incident.aside_of_cause" for one in ("likely", "confirmed"))
    assert aside_reason("not ours") is None
    assert key(aside_reason(" x ")) == "incident.aside_needs_reason"
