"""Evaluation of a playbook over several hosts and captures: one answer per step and host.

For each step the newest run of a host that answers it counts, so a later capture for another step removes no answer.
The verdict of a person overrides that of the rule; both are stored if they differ. Over all hosts, VERDICT_PRIORITY
decides: a hypothesis is refuted only if every host refutes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.contract import Sentence, Tier
from culprit.domain.playbooks.engine import (
    PlaybookChain,
    StepAnswer,
    StepProposal,
    answer_step,
    build_chain,
    propose_step,
)
from culprit.domain.playbooks.model import Playbook, PlaybookStep, Verdict
from culprit.domain.rules.finding import STRENGTH_ORDER, Finding, Strength
from culprit.domain.rules.rule import Rule

#: Order of verdicts over several hosts: the first one of any host counts.
VERDICT_PRIORITY: tuple[Verdict, ...] = ("supports", "not_collected", "inconclusive", "refutes")
DECISIVE_VERDICTS = ("supports", "refutes")


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """Findings of one run by rule."""

    run: str
    findings: Mapping[str, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class PersonVerdict:
    """Verdict of a person that is not withdrawn; without a host it covers all hosts."""

    id: str
    step: str
    host: str | None
    verdict: Verdict
    who: str
    at: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of the evaluation: runs by host (the newest first), verdicts of people, and muted (host, rule) pairs."""

    runs: Mapping[str, Sequence[RunEvaluation]]
    verdicts: Sequence[PersonVerdict] = ()
    muted: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """Answer of a step on one host: the effective `answer`, that of the rule, a person's verdict, muted findings."""

    host: str
    run: str | None
    answer: StepAnswer
    rule: StepAnswer
    person: PersonVerdict | None = None
    muted: tuple[Finding, ...] = ()
    disagrees: bool = False


@dataclass(frozen=True, slots=True)
class PlaybookWalk:
    """Playbook evaluated over all hosts. `hosts` maps each step id to the answers of the hosts."""

    playbook: Playbook
    chain: PlaybookChain
    hosts: Mapping[str, tuple[HostAnswer, ...]]

    def key(self, name: str) -> str:
        """Return the key of a step or hypothesis of this playbook within an incident."""
        return f"{self.playbook.id}/{name}"


@dataclass(frozen=True, slots=True)
class HostOption:
    """Host on which a step can run: its allowed tiers and the collectors tried there."""

    host: str
    allowed: frozenset[Tier]
    tried: frozenset[str]


@dataclass(frozen=True, slots=True)
class NextStep:
    """Next step and its host."""

    playbook: str
    host: str
    proposal: StepProposal


def combine_verdicts(verdicts: Iterable[Verdict]) -> Verdict:
    """Return one verdict for several hosts."""
    unique_verdicts = set(verdicts)
    return next((verdict for verdict in VERDICT_PRIORITY if verdict in unique_verdicts), "not_collected")


def merge_hosts(
    playbook: Playbook,
    hosts: Sequence[str],
    counted: Collection[str],
    evidence: Evidence,
    rules: Mapping[str, Rule],
) -> PlaybookWalk:
    """Evaluate a playbook for every host, and build the chain from the `counted` hosts."""
    by_host: dict[str, tuple[HostAnswer, ...]] = {}
    for step in playbook.steps:
        verdicts = [verdict for verdict in evidence.verdicts if verdict.step == f"{playbook.id}/{step.id}"]
        by_host[step.id] = tuple(_answer_on_host(step, host, verdicts, evidence, rules) for host in hosts)
    answers = {
        step.id: _merge_answers(step, [item for item in by_host[step.id] if item.host in counted], rules)
        for step in playbook.steps
    }
    return PlaybookWalk(playbook, build_chain(playbook, answers), by_host)


def _answer_on_host(
    step: PlaybookStep,
    host: str,
    person_verdicts: Sequence[PersonVerdict],
    evidence: Evidence,
    rules: Mapping[str, Rule],
) -> HostAnswer:
    run = _select_run(step, evidence.runs.get(host, ()))
    findings = run.findings.get(step.finding, ()) if run else ()
    rule = _answer_by_rule(step, findings, rules)
    muted: tuple[Finding, ...] = ()
    if (host, step.finding) in evidence.muted:
        muted = tuple(finding for finding in findings if finding.state == "matched")
    if muted:
        reason = Sentence("playbook.muted", {"rule": step.finding})
        rule = StepAnswer(step.id, "inconclusive", "rule", (), rule.strength, reason)
    # A verdict about this host overrides a verdict about all hosts.
    mine = sorted(
        (person_verdict for person_verdict in person_verdicts if person_verdict.host in {None, host}),
        key=lambda person_verdict: (person_verdict.host is None, -person_verdict.at),
    )
    person = mine[0] if mine else None
    counts = (
        StepAnswer(step.id, person.verdict, "person", (), _person_strength(step, rules)) if person else rule
    )
    return HostAnswer(
        host, run.run if run else None, counts, rule, person, muted, _has_disagreement(person, mine, rule)
    )


def _has_disagreement(
    person: PersonVerdict | None, person_verdicts: Sequence[PersonVerdict], rule: StepAnswer
) -> bool:
    """Return whether people disagree with the rule or with each other. Only the newest verdict of a person counts."""
    if person is None:
        return False
    by_person = {person_verdict.who: person_verdict.verdict for person_verdict in reversed(person_verdicts)}
    return len(set(by_person.values())) > 1 or (
        rule.verdict in DECISIVE_VERDICTS and rule.verdict != person.verdict
    )


def _answer_by_rule(step: PlaybookStep, findings: Sequence[Finding], rules: Mapping[str, Rule]) -> StepAnswer:
    """Answer a step by its rule. A rule that this version does not contain gives no answer."""
    if step.finding and step.finding not in rules:
        return StepAnswer(
            step.id, "not_collected", "none", reason=Sentence("playbook.rule_removed", {"rule": step.finding})
        )
    return answer_step(step, findings, rules)


def _person_strength(step: PlaybookStep, rules: Mapping[str, Rule]) -> Strength:
    """Return the strength of a person's verdict: that of the rule, or `mechanism` for a step without a rule."""
    if not step.finding:
        return Strength.MECHANISM
    return rules[step.finding].strength if step.finding in rules else Strength.CONTEXT


def _select_run(step: PlaybookStep, runs: Sequence[RunEvaluation]) -> RunEvaluation | None:
    """Return the newest run that answers the step, else the newest one with a reason."""
    unanswered = None
    for run in runs:
        finding = run.findings.get(step.finding, ())
        if any(item.state != "not_evaluated" or (item.numbers and item.reason) for item in finding):
            return run
        if finding and unanswered is None:
            unanswered = run
    return unanswered


def _merge_answers(step: PlaybookStep, hosts: Sequence[HostAnswer], rules: Mapping[str, Rule]) -> StepAnswer:
    if not hosts:
        return _answer_by_rule(step, (), rules)
    verdict = combine_verdicts(host.answer.verdict for host in hosts)
    decisive = [host.answer for host in hosts if host.answer.verdict == verdict]
    strength = max((item.strength for item in decisive), key=STRENGTH_ORDER.__getitem__)
    by = next((item.by for item in decisive if item.by != "none"), decisive[0].by)
    reason = next((item.reason for item in decisive if item.reason), None)
    return StepAnswer(
        step.id, verdict, by, tuple(each for item in decisive for each in item.findings), strength, reason
    )


def list_gaps(walk: PlaybookWalk, waived: Collection[str]) -> tuple[str, ...]:
    """Return the keys of the steps on the path that have no verdict and no waiver."""
    return tuple(key for name in walk.chain.gaps if (key := walk.key(name)) not in waived)


def propose_next_step(
    walks: Sequence[PlaybookWalk],
    hosts: Sequence[HostOption],
    decided: Collection[str],
    waived: Collection[str],
    rules: Mapping[str, Rule],
) -> NextStep | None:
    """Return the step with the highest gain per cost and its host, or None.

    `decided` are hypotheses that people refuted or confirmed; their steps are skipped. If no step can distinguish open
    hypotheses, a gap on a path is proposed.
    """
    return _propose_most_useful(walks, hosts, decided, waived, rules) or _propose_missing(
        walks, hosts, waived, rules
    )


def _propose_most_useful(
    walks: Sequence[PlaybookWalk],
    hosts: Sequence[HostOption],
    decided: Collection[str],
    waived: Collection[str],
    rules: Mapping[str, Rule],
) -> NextStep | None:
    best: NextStep | None = None
    for walk in walks:
        status = {name: item for name, item in walk.chain.hypotheses.items() if walk.key(name) not in decided}
        steps = {step.id for step in walk.playbook.steps if walk.key(step.id) not in waived}
        for option in hosts:
            view = replace(_chain_for_host(walk, option.host, steps, rules), hypotheses=status)
            step = propose_step(walk.playbook, view, rules, option.allowed, option.tried)
            if step is not None and (best is None or step.gain > best.proposal.gain + 1e-9):
                best = NextStep(walk.playbook.id, option.host, step)
    return best


def _propose_missing(
    walks: Sequence[PlaybookWalk],
    hosts: Sequence[HostOption],
    waived: Collection[str],
    rules: Mapping[str, Rule],
) -> NextStep | None:
    for walk in walks:
        gaps = {name for name in walk.chain.gaps if walk.key(name) not in waived}
        status = {name: replace(item, status="open") for name, item in walk.chain.hypotheses.items()}
        for option in hosts:
            view = replace(_chain_for_host(walk, option.host, gaps, rules), hypotheses=status)
            step = propose_step(walk.playbook, view, rules, option.allowed, option.tried)
            if step is not None:
                why = Sentence("next.gap", {"tier": step.tier.name.lower()})
                return NextStep(walk.playbook.id, option.host, replace(step, why=why))
    return None


def _chain_for_host(
    walk: PlaybookWalk, host: str, requested: Collection[str], rules: Mapping[str, Rule]
) -> PlaybookChain:
    """Return the chain for a proposal on one host: only steps that this host can still answer are unanswered."""
    on_host = {
        name: next((item.answer.verdict for item in result if item.host == host), "inconclusive")
        for name, result in walk.hosts.items()
    }
    answers = {}
    for step in walk.playbook.steps:
        answer = walk.chain.answers[step.id]
        is_open = (
            answer.verdict == on_host[step.id] == "not_collected"
            and step.id in requested
            and (not step.finding or step.finding in rules)
        )
        answers[step.id] = (
            answer
            if is_open or answer.verdict != "not_collected"
            else replace(answer, verdict="inconclusive")
        )
    return replace(walk.chain, answers=answers)
