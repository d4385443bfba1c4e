"""Evaluation of a playbook on one host: a verdict per step, the state of each hypothesis, and the next step.

A verdict is about one hypothesis. Missing data refutes nothing, and a number of doubtful quality is inconclusive. The
verdict of a person overrides that of a rule. The path is followed to its end: a step without an answer is a gap, and
the steps after it are answered too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence, Tier
from collectors.registry import COLLECTORS
from culprit.domain.playbooks.model import END, GATES, PLAYBOOK_PREFIX, Playbook, PlaybookStep, Verdict
from culprit.domain.rules.finding import STRENGTH_ORDER, Finding, Strength
from culprit.domain.rules.readings import get_required_collectors
from culprit.domain.rules.rule import Rule

HypothesisStatus = Literal["open", "supported", "refuted", "contested"]

#: Relative cost of a collector by tier, and of a minute of a person. Only the order matters.
TIER_COST: Mapping[Tier, float] = {Tier.LIGHT: 1.0, Tier.STANDARD: 4.0, Tier.DEEP: 16.0, Tier.PTRACE: 64.0}
PERSON_COST = 6.0
#: Gain of a gate: an open gate makes all later answers doubtful.
GATE_GAIN = 4.0


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """Verdict of one step with the findings behind it. `reason` explains why a step has no verdict."""

    step: str
    verdict: Verdict
    by: Literal["rule", "person", "none"]
    findings: tuple[Finding, ...] = ()
    strength: Strength = Strength.CONTEXT
    reason: Sentence | None = None


@dataclass(frozen=True, slots=True)
class HypothesisState:
    """State of one hypothesis: the steps for and against it, and the highest strength of the supporting steps."""

    hypothesis: str
    status: HypothesisStatus
    supports: tuple[str, ...]
    refutes: tuple[str, ...]
    strength: Strength


@dataclass(frozen=True, slots=True)
class PlaybookChain:
    """Evaluated playbook. `path` lists the visited steps in order, `gaps` those of them without a verdict.

    `next_playbook` is the playbook that the path continues in, or "".
    """

    path: tuple[str, ...]
    gaps: tuple[str, ...]
    next_playbook: str
    answers: Mapping[str, StepAnswer]
    hypotheses: Mapping[str, HypothesisState]


@dataclass(frozen=True, slots=True)
class StepProposal:
    """Next step with its collectors, the reason for it, and its expected gain per cost."""

    step: str
    collectors: tuple[str, ...]
    tier: Tier
    why: Sentence
    gain: float = 0.0


def answer_step(step: PlaybookStep, findings: Sequence[Finding], rules: Mapping[str, Rule]) -> StepAnswer:
    """Answer a step by its rule. Of several subjects, a match has priority, then doubt, then no match."""
    if not step.finding:
        return StepAnswer(step.id, "not_collected", "none", reason=Sentence("playbook.needs_person"))
    rule = rules[step.finding]
    mine = [finding for finding in findings if finding.rule == step.finding]
    matched = tuple(item for item in mine if item.state == "matched")
    if matched:
        return StepAnswer(step.id, step.matched, "rule", matched, rule.strength)
    doubted = tuple(item for item in mine if item.state == "inconclusive" or (item.numbers and item.reason))
    if doubted:
        return StepAnswer(step.id, "inconclusive", "rule", doubted, rule.strength, doubted[0].reason)
    not_matched = tuple(item for item in mine if item.state == "not_matched")
    if not_matched:
        return StepAnswer(step.id, step.not_matched, "rule", not_matched, rule.strength)
    reason = next((item.reason for item in mine if item.reason), None)
    if reason is None:
        reason = Sentence("missing.not_collected", {"collector": " | ".join(_list_collectors(rule)[:1])})
    return StepAnswer(step.id, "not_collected", "none", (), rule.strength, reason)


def evaluate_playbook(
    playbook: Playbook,
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    verdicts: Mapping[str, Verdict] | None = None,
) -> PlaybookChain:
    """Evaluate a playbook over findings. `verdicts` are verdicts of people by step; they override the rules."""
    verdicts = verdicts or {}
    answers = {
        step.id: StepAnswer(step.id, verdicts[step.id], "person", strength=Strength.MECHANISM)
        if step.id in verdicts
        else answer_step(step, findings, rules)
        for step in playbook.steps
    }
    return build_chain(playbook, answers)


def build_chain(playbook: Playbook, answers: Mapping[str, StepAnswer]) -> PlaybookChain:
    """Follow the branches of a playbook with an answer for every step."""
    path: list[str] = []
    at = playbook.steps[0].id if playbook.steps else END
    while at != END and not at.startswith(PLAYBOOK_PREFIX) and at not in path:
        path.append(at)
        branches = playbook.get_step(at).branches
        at = branches.get(answers[at].verdict, branches["otherwise"])
    gaps = tuple(name for name in path if answers[name].verdict in ("inconclusive", "not_collected"))
    next_playbook = at.removeprefix(PLAYBOOK_PREFIX) if at.startswith(PLAYBOOK_PREFIX) else ""
    return PlaybookChain(
        tuple(path), gaps, next_playbook, answers, _build_hypothesis_states(playbook, answers)
    )


def _build_hypothesis_states(
    playbook: Playbook, answers: Mapping[str, StepAnswer]
) -> dict[str, HypothesisState]:
    results = {}
    for hypothesis in playbook.hypotheses:
        mine = [answers[step.id] for step in playbook.steps if step.about == hypothesis.id]
        supports = [each for each in mine if each.verdict == "supports"]
        refutes = [each for each in mine if each.verdict == "refutes"]
        hypothesis_status: HypothesisStatus = "open"
        if supports or refutes:
            hypothesis_status = (
                "contested" if supports and refutes else "supported" if supports else "refuted"
            )
        strength = max(
            (each.strength for each in supports), key=STRENGTH_ORDER.__getitem__, default=Strength.CONTEXT
        )
        names = tuple(each.step for each in supports), tuple(each.step for each in refutes)
        results[hypothesis.id] = HypothesisState(hypothesis.id, hypothesis_status, *names, strength)
    return results


def propose_step(
    playbook: Playbook,
    chain: PlaybookChain,
    rules: Mapping[str, Rule],
    allowed: Collection[Tier],
    tried: Collection[str] = (),
) -> StepProposal | None:
    """Return the unanswered step with the highest gain per cost, or None.

    `tried` are collectors that were requested before, with any result. A step whose collectors are not allowed is
    skipped. If two steps are equal, the first one in the playbook is returned.
    """
    best: StepProposal | None = None
    undecided = {
        name
        for name, item in chain.hypotheses.items()
        if item.status in ("open", "contested")
        or (item.status == "supported" and STRENGTH_ORDER[item.strength] < STRENGTH_ORDER[Strength.MECHANISM])
    }
    for step in playbook.steps:
        if chain.answers[step.id].verdict != "not_collected":
            continue
        if step.about not in GATES and step.about not in undecided:
            continue
        selected = _select_collectors(step, rules, allowed, tried)
        if selected is None:
            continue
        collectors, tier, price = selected
        worth = _compute_gain(step, rules, len(undecided))
        params: dict[str, str | int | float] = {
            "about": step.about,
            "open": len(undecided),
            "tier": tier.name.lower(),
        }
        key = "person" if not step.finding else "gate" if step.about in GATES else "settles"
        proposal = StepProposal(step.id, collectors, tier, Sentence(f"next.{key}", params), worth / price)
        if best is None or proposal.gain > best.gain + 1e-9:
            best = proposal
    return best


def _select_collectors(
    step: PlaybookStep, rules: Mapping[str, Rule], allowed: Collection[Tier], tried: Collection[str]
) -> tuple[tuple[str, ...], Tier, float] | None:
    """Return the cheapest collectors for a step, their highest tier and their total cost, or None."""
    if not step.finding:
        return (), Tier.LIGHT, PERSON_COST
    requested: list[str] = []
    for any_of in get_required_collectors(rules[step.finding].measure):
        possible = [item for item in any_of if item in COLLECTORS and COLLECTORS[item].tier in allowed]
        if not possible:
            return None
        fresh = [item for item in possible if item not in tried]
        # A collector with output needs no second run, and one that failed would fail again.
        if fresh:
            requested.append(min(fresh, key=lambda item: TIER_COST[COLLECTORS[item].tier]))
    if not requested:
        return None
    tier = max((COLLECTORS[item].tier for item in requested), key=TIER_COST.__getitem__)
    return (
        tuple(dict.fromkeys(requested)),
        tier,
        sum(TIER_COST[COLLECTORS[item].tier] for item in set(requested)),
    )


def _compute_gain(step: PlaybookStep, rules: Mapping[str, Rule], undecided: int) -> float:
    """Estimate the gain: high for strong evidence that can both support and refute, with many open hypotheses."""
    if step.about in GATES:
        return GATE_GAIN
    outcomes = (
        {step.matched, step.not_matched} & {"supports", "refutes"}
        if step.finding
        else {"supports", "refutes"}
    )
    strength = (
        STRENGTH_ORDER[rules[step.finding].strength] if step.finding else STRENGTH_ORDER[Strength.MECHANISM]
    )
    return len(outcomes) * (0.5 + strength) * (1.0 + 0.25 * max(0, undecided - 1))


def _list_collectors(rule: Rule) -> tuple[str, ...]:
    return tuple(item for any_of in get_required_collectors(rule.measure) for item in any_of)
