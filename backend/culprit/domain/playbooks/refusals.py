"""Checks of decisions in an incident. Each check returns the message of its refusal, or None."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.domain.playbooks.engine import HypothesisState
from culprit.domain.rules.finding import STRENGTH_ORDER, Strength

STATES = ("open", "investigating", "identified", "mitigated", "resolved")
#: Minimum length of a reason.
MIN_REASON = 3
#: Number of steps listed in a message; the others are only counted.
MAX_NAMED = 8
APPLIED_STATES = ("applied", "verified", "no_effect", "worse", "no_conclusion")


@dataclass(frozen=True, slots=True)
class CitedPin:
    """Pin of a verdict: whether it shows collected data."""

    id: str
    collected: bool


@dataclass(frozen=True, slots=True)
class FixFact:
    """Fix as far as decisions depend on it."""

    hypothesis: str | None
    state: str


def check_verdict(verdict: str, pins: Sequence[CitedPin]) -> Sentence | None:
    """Require a pin, and for `refutes` a pin of collected data."""
    if not pins:
        return Sentence("incident.verdict_needs_pin")
    if verdict == "refutes" and not any(pin.collected for pin in pins):
        return Sentence("incident.refutes_needs_data")
    return None


def check_waiver(reason: str, steps: Sequence[str] = ()) -> Sentence | None:
    """Require a reason, and steps of a single playbook."""
    if len({step.partition("/")[0] for step in steps}) > 1:
        return Sentence("incident.waive_one_playbook")
    return Sentence("incident.waiver_needs_reason") if len(reason.strip()) < MIN_REASON else None


def check_dismissal(hypotheses: Iterable[str]) -> Sentence | None:
    """Refuse to dismiss a playbook with a likely or confirmed hypothesis."""
    named = next((hypothesis for hypothesis in hypotheses if hypothesis in {"likely", "confirmed"}), None)
    return Sentence("incident.dismissal_of_cause") if named else None


def check_dismissal_reason(reason: str) -> Sentence | None:
    """Require a reason for the dismissal of a playbook."""
    return Sentence("incident.dismissal_needs_reason") if len(reason.strip()) < MIN_REASON else None


def check_decision(to: str, key: str, state: HypothesisState, fixes: Iterable[FixFact]) -> Sentence | None:
    """Check whether the evidence allows the decision `to`. Withdrawing a decision is always allowed."""
    if to == "refuted" and not state.refutes:
        return Sentence("incident.refuted_needs_step")
    if to in ("likely", "confirmed") and not state.supports:
        return Sentence("incident.likely_needs_step")
    if to != "confirmed":
        return None
    if STRENGTH_ORDER[state.strength] < STRENGTH_ORDER[Strength.MECHANISM]:
        return Sentence("incident.confirm_needs_strength", {"strength": str(state.strength)})
    if not any(fix.state == "verified" and fix.hypothesis == key for fix in fixes):
        return Sentence("incident.confirm_needs_comparison")
    return None


@dataclass(frozen=True, slots=True)
class IncidentFacts:
    """Parts of an incident that limit its state: states of hypotheses, fixes, unanswered steps."""

    hypotheses: Collection[str]
    fixes: Sequence[FixFact]
    gaps: Sequence[str]


def check_transition(at: str, to: str, reason: str, facts: IncidentFacts) -> Sentence | None:
    """Check a change of state: one state forward, or back to any state with a reason."""
    step = STATES.index(to) - STATES.index(at)
    if step < 0:
        return None if len(reason.strip()) >= MIN_REASON else Sentence("incident.reopen_needs_reason")
    if step > 1:
        return Sentence("incident.one_state_at_a_time", {"at": at, "next": STATES[STATES.index(at) + 1]})
    if step == 0:
        return None
    if to == "identified" and not {"likely", "confirmed"}.intersection(facts.hypotheses):
        return Sentence("incident.identified_needs_hypothesis")
    if to == "mitigated" and not any(fix.state in APPLIED_STATES for fix in facts.fixes):
        return Sentence("incident.mitigated_needs_fix")
    if to == "resolved" and facts.gaps:
        named = ", ".join(facts.gaps[:MAX_NAMED])
        return Sentence("incident.steps_open", {"count": len(facts.gaps), "steps": named})
    return None
