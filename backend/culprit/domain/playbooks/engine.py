"""What a playbook says of a host: a verdict for each step, where the chain stands, and what to look at next.

A verdict is always about one hypothesis. What was not collected refutes nothing, a doubtful number is inconclusive, and
a person's verdict stands where a person gave one. The chain is walked to its end whatever is missing on the way: a gap
is shown as one, and the steps behind it are answered all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence, Tier
from collectors.registry import COLLECTORS
from culprit.core.playbooks.contract import ELSEWHERE, END, GATES, Playbook, Step, Verdict
from culprit.core.rules.contract import STRENGTH, Finding, Grade, Rule
from culprit.core.rules.read import needs_of

Standing = Literal["open", "supported", "refuted", "contested"]

#: What a collector of a tier is worth sparing a sick host, and what a minute of a person is: only their order matters.
PRICE: Mapping[Tier, float] = {Tier.LIGHT: 1.0, Tier.STANDARD: 4.0, Tier.DEEP: 16.0, Tier.PTRACE: 64.0}
PERSON_PRICE = 6.0
#: A gate that is open makes all that follows doubtful.
GATE_WORTH = 4.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict of one step, and what it rests on. `reason` says why where nothing was settled."""

    step: str
    verdict: Verdict
    by: Literal["rule", "person", "nobody"]
    findings: tuple[Finding, ...] = ()
    grade: Grade = Grade.CONTEXT
    reason: Sentence | None = None


@dataclass(frozen=True, slots=True)
class Stand:
    """Where one hypothesis stands: the steps that speak for and against it, and the strongest grade of the former."""

    hypothesis: str
    standing: Standing
    supports: tuple[str, ...]
    refutes: tuple[str, ...]
    grade: Grade


@dataclass(frozen=True, slots=True)
class Chain:
    """A playbook, walked. `path` are the steps in the order of their going, `gaps` those on it that nothing settled.

    `leads_to` is the playbook that the walk ends in, "" where it ends here.
    """

    path: tuple[str, ...]
    gaps: tuple[str, ...]
    leads_to: str
    answers: Mapping[str, Answer]
    stands: Mapping[str, Stand]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The step to take next: what it takes, why this one, and how much it can tell for its price."""

    step: str
    collectors: tuple[str, ...]
    tier: Tier
    why: Sentence
    gain: float = 0.0


def answer(step: Step, findings: Sequence[Finding], rules: Mapping[str, Rule]) -> Answer:
    """What the rule of a step says. Of several subjects, one that fired counts, then a doubt, then silence."""
    if not step.finding:
        return Answer(step.id, "not_collected", "nobody", reason=Sentence("playbook.for_a_person"))
    rule = rules[step.finding]
    mine = [one for one in findings if one.rule == step.finding]
    fired = tuple(one for one in mine if one.state == "fired")
    if fired:
        return Answer(step.id, step.fired, "rule", fired, rule.grade)
    doubted = tuple(one for one in mine if one.state == "inconclusive" or (one.numbers and one.reason))
    if doubted:
        return Answer(step.id, "inconclusive", "rule", doubted, rule.grade, doubted[0].reason)
    quiet = tuple(one for one in mine if one.state == "quiet")
    if quiet:
        return Answer(step.id, step.quiet, "rule", quiet, rule.grade)
    reason = next((one.reason for one in mine if one.reason), None)
    if reason is None:
        reason = Sentence("missing.not_collected", {"collector": " | ".join(_collectors(rule)[:1])})
    return Answer(step.id, "not_collected", "nobody", (), rule.grade, reason)


def walk(
    playbook: Playbook,
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    said: Mapping[str, Verdict] | None = None,
) -> Chain:
    """The chain of a playbook over findings. `said` are verdicts of people, by step; they stand above a rule's."""
    said = said or {}
    answers = {
        one.id: Answer(one.id, said[one.id], "person", grade=Grade.MECHANISM)
        if one.id in said
        else answer(one, findings, rules)
        for one in playbook.steps
    }
    return chain(playbook, answers)


def chain(playbook: Playbook, answers: Mapping[str, Answer]) -> Chain:
    """The chain of a playbook whose every step has an answer."""
    path: list[str] = []
    at = playbook.steps[0].id if playbook.steps else END
    while at != END and not at.startswith(ELSEWHERE) and at not in path:
        path.append(at)
        then = playbook.step(at).then
        at = then.get(answers[at].verdict, then["otherwise"])
    gaps = tuple(name for name in path if answers[name].verdict in ("inconclusive", "not_collected"))
    leads_to = at.removeprefix(ELSEWHERE) if at.startswith(ELSEWHERE) else ""
    return Chain(tuple(path), gaps, leads_to, answers, _stands(playbook, answers))


def _stands(playbook: Playbook, answers: Mapping[str, Answer]) -> dict[str, Stand]:
    found = {}
    for one in playbook.hypotheses:
        mine = [answers[step.id] for step in playbook.steps if step.about == one.id]
        supports = [each for each in mine if each.verdict == "supports"]
        refutes = [each for each in mine if each.verdict == "refutes"]
        standing: Standing = "open"
        if supports or refutes:
            standing = "contested" if supports and refutes else "supported" if supports else "refuted"
        grade = max((each.grade for each in supports), key=STRENGTH.__getitem__, default=Grade.CONTEXT)
        names = tuple(each.step for each in supports), tuple(each.step for each in refutes)
        found[one.id] = Stand(one.id, standing, *names, grade)
    return found


def propose(
    playbook: Playbook,
    chain: Chain,
    rules: Mapping[str, Rule],
    allowed: Collection[Tier],
    tried: Collection[str] = (),
) -> Proposal | None:
    """The unanswered step that tells open hypotheses apart best for what it costs the host; None where none is left.

    `tried` are collectors that were asked already, whatever became of them. Steps whose collectors may not run are left
    out. Of equals the one that stands first in the playbook is taken.
    """
    best: Proposal | None = None
    undecided = {
        name
        for name, one in chain.stands.items()
        if one.standing in ("open", "contested")
        or (one.standing == "supported" and STRENGTH[one.grade] < STRENGTH[Grade.MECHANISM])
    }
    for step in playbook.steps:
        if chain.answers[step.id].verdict != "not_collected":
            continue
        if step.about not in GATES and step.about not in undecided:
            continue
        found = _take(step, rules, allowed, tried)
        if found is None:
            continue
        collectors, tier, price = found
        worth = _worth(step, rules, len(undecided))
        params: dict[str, str | int | float] = {
            "about": step.about,
            "open": len(undecided),
            "tier": tier.name.lower(),
        }
        key = "person" if not step.finding else "gate" if step.about in GATES else "settles"
        proposal = Proposal(step.id, collectors, tier, Sentence(f"next.{key}", params), worth / price)
        if best is None or proposal.gain > best.gain + 1e-9:
            best = proposal
    return best


def _take(
    step: Step, rules: Mapping[str, Rule], allowed: Collection[Tier], tried: Collection[str]
) -> tuple[tuple[str, ...], Tier, float] | None:
    """The cheapest collectors that answer a step, their highest tier, and what they cost together."""
    if not step.finding:
        return (), Tier.LIGHT, PERSON_PRICE
    wanted: list[str] = []
    for any_of in needs_of(rules[step.finding].measure):
        possible = [one for one in any_of if one in COLLECTORS and COLLECTORS[one].tier in allowed]
        if not possible:
            return None
        fresh = [one for one in possible if one not in tried]
        # One that was tried and came home is there; one that did not will not come home the next time either.
        if fresh:
            wanted.append(min(fresh, key=lambda one: PRICE[COLLECTORS[one].tier]))
    if not wanted:
        return None
    tier = max((COLLECTORS[one].tier for one in wanted), key=PRICE.__getitem__)
    return tuple(dict.fromkeys(wanted)), tier, sum(PRICE[COLLECTORS[one].tier] for one in set(wanted))


def _worth(step: Step, rules: Mapping[str, Rule], undecided: int) -> float:
    """How much a step can tell: a step that settles its hypothesis either way, by strong evidence, among many."""
    if step.about in GATES:
        return GATE_WORTH
    ways = {step.fired, step.quiet} & {"supports", "refutes"} if step.finding else {"supports", "refutes"}
    strength = STRENGTH[rules[step.finding].grade] if step.finding else STRENGTH[Grade.MECHANISM]
    return len(ways) * (0.5 + strength) * (1.0 + 0.25 * max(0, undecided - 1))


def _collectors(rule: Rule) -> tuple[str, ...]:
    return tuple(one for any_of in needs_of(rule.measure) for one in any_of)
