"""What an incident does not let anybody do, and why: each refusal is a sentence that says what to do instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.core.playbooks.engine import Stand
from culprit.core.rules.contract import STRENGTH, Grade

STATES = ("open", "investigating", "identified", "mitigated", "resolved")
#: Shorter is no reason.
MIN_REASON = 3
#: So many steps are named in a sentence; the others are counted.
MAX_NAMED = 8
APPLIED = ("applied", "verified", "no_effect", "worse", "no_conclusion")


@dataclass(frozen=True, slots=True)
class Cited:
    """A pin as far as a verdict is concerned: whether what it shows was collected at all."""

    id: str
    collected: bool


@dataclass(frozen=True, slots=True)
class FixFact:
    """A fix as far as decisions are concerned."""

    hypothesis: str | None
    state: str


def verdict(said: str, pins: Sequence[Cited]) -> Sentence | None:
    """A verdict rests on evidence, and what was not collected refutes nothing."""
    if not pins:
        return Sentence("incident.verdict_needs_pin")
    if said == "refutes" and not any(one.collected for one in pins):
        return Sentence("incident.refutes_needs_data")
    return None


def waiver(reason: str, steps: Sequence[str] = ()) -> Sentence | None:
    """Nobody leaves a question open without saying why, and one reason cannot answer for several playbooks."""
    if len({one.partition("/")[0] for one in steps}) > 1:
        return Sentence("incident.waive_one_playbook")
    return Sentence("incident.waiver_needs_reason") if len(reason.strip()) < MIN_REASON else None


def aside(hypotheses: Iterable[str]) -> Sentence | None:
    """What a playbook still asks about a cause that somebody stands by is not set aside as a whole."""
    named = next((one for one in hypotheses if one in {"likely", "confirmed"}), None)
    return Sentence("incident.aside_of_cause") if named else None


def aside_reason(reason: str) -> Sentence | None:
    """Nobody sets a playbook aside without saying why."""
    return Sentence("incident.aside_needs_reason") if len(reason.strip()) < MIN_REASON else None


def decision(to: str, key: str, stand: Stand, fixes: Iterable[FixFact]) -> Sentence | None:
    """What a hypothesis needs to be called `to`. Taking a decision back needs nothing."""
    if to == "refuted" and not stand.refutes:
        return Sentence("incident.refuted_needs_step")
    if to in ("likely", "confirmed") and not stand.supports:
        return Sentence("incident.likely_needs_step")
    if to != "confirmed":
        return None
    if STRENGTH[stand.grade] < STRENGTH[Grade.MECHANISM]:
        return Sentence("incident.confirm_needs_grade", {"grade": str(stand.grade)})
    if not any(one.state == "verified" and one.hypothesis == key for one in fixes):
        return Sentence("incident.confirm_needs_comparison")
    return None


@dataclass(frozen=True, slots=True)
class Facts:
    """An incident as far as its state is concerned: states of its hypotheses, its fixes, its unanswered steps."""

    hypotheses: Collection[str]
    fixes: Sequence[FixFact]
    gaps: Sequence[str]


def change(at: str, to: str, reason: str, facts: Facts) -> Sentence | None:
    """Whether an incident may go from one state to another: forward one at a time, back to any with a reason."""
    step = STATES.index(to) - STATES.index(at)
    if step < 0:
        return None if len(reason.strip()) >= MIN_REASON else Sentence("incident.reopen_needs_reason")
    if step > 1:
        return Sentence("incident.one_state_at_a_time", {"at": at, "next": STATES[STATES.index(at) + 1]})
    if step == 0:
        return None
    if to == "identified" and not {"likely", "confirmed"}.intersection(facts.hypotheses):
        return Sentence("incident.identified_needs_hypothesis")
    if to == "mitigated" and not any(one.state in APPLIED for one in facts.fixes):
        return Sentence("incident.mitigated_needs_fix")
    if to == "resolved" and facts.gaps:
        named = ", ".join(facts.gaps[:MAX_NAMED])
        return Sentence("incident.steps_open", {"count": len(facts.gaps), "steps": named})
    return None
