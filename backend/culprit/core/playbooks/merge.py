"""What a playbook says of several hosts that were captured several times: one answer for each step and host.

Of the runs of a host the newest one that answers a step counts for that step, so that a capture that was made for one
question takes no other answer away. A person's verdict stands above the rule's, and where the two disagree both are
kept. Over all hosts a step is answered as its loudest host answers it; silence speaks against a hypothesis only where
every host was asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.contract import Sentence, Tier
from culprit.core.playbooks.contract import Playbook, Step, Verdict
from culprit.core.playbooks.engine import Answer, Chain, Proposal, answer, chain, propose
from culprit.core.rules.contract import STRENGTH, Finding, Grade, Rule

#: The first of these that any host says is what the step says.
LOUDEST: tuple[Verdict, ...] = ("supports", "not_collected", "inconclusive", "refutes")
SETTLED = ("supports", "refutes")


@dataclass(frozen=True, slots=True)
class Heard:
    """What the rules said about one run, by rule."""

    run: str
    findings: Mapping[str, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A verdict that somebody gave and did not withdraw; without a host it is about all of them."""

    id: str
    step: str
    host: str | None
    verdict: Verdict
    who: str
    at: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that verdicts are made of: runs by host, the newest first; what people said; and which rules on which hosts
    are muted, as pairs of host and rule.
    """

    heard: Mapping[str, Sequence[Heard]]
    spoken: Sequence[Spoken] = ()
    muted: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """What a step shows on one host: what counts (`answer`), what the rule alone says, who spoke, what is muted."""

    host: str
    run: str | None
    answer: Answer
    rule: Answer
    person: Spoken | None = None
    muted: tuple[Finding, ...] = ()
    disagrees: bool = False


@dataclass(frozen=True, slots=True)
class Walked:
    """A playbook over all hosts. `hosts` has for each step (its id within the playbook) the answer of each host."""

    playbook: Playbook
    chain: Chain
    hosts: Mapping[str, tuple[HostAnswer, ...]]

    def key(self, name: str) -> str:
        """How a step or hypothesis of this playbook is called in an incident."""
        return f"{self.playbook.id}/{name}"


@dataclass(frozen=True, slots=True)
class Place:
    """A host on which a step could be taken: which tiers may run there, and what was tried."""

    host: str
    allowed: frozenset[Tier]
    tried: frozenset[str]


@dataclass(frozen=True, slots=True)
class Next:
    """The step to take next and where."""

    playbook: str
    host: str
    proposal: Proposal


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict over several hosts."""
    said = set(verdicts)
    return next((one for one in LOUDEST if one in said), "not_collected")


def over(
    playbook: Playbook,
    hosts: Sequence[str],
    counted: Collection[str],
    evidence: Evidence,
    rules: Mapping[str, Rule],
) -> Walked:
    """Walks a playbook. Every host is answered for; the chain is made of those that are `counted`."""
    by_host: dict[str, tuple[HostAnswer, ...]] = {}
    for step in playbook.steps:
        said = [one for one in evidence.spoken if one.step == f"{playbook.id}/{step.id}"]
        by_host[step.id] = tuple(_on_host(step, host, said, evidence, rules) for host in hosts)
    answers = {
        step.id: _merged(step, [one for one in by_host[step.id] if one.host in counted], rules)
        for step in playbook.steps
    }
    return Walked(playbook, chain(playbook, answers), by_host)


def _on_host(
    step: Step, host: str, said: Sequence[Spoken], evidence: Evidence, rules: Mapping[str, Rule]
) -> HostAnswer:
    run = _telling(step, evidence.heard.get(host, ()))
    findings = run.findings.get(step.finding, ()) if run else ()
    rule = _by_rule(step, findings, rules)
    muted: tuple[Finding, ...] = ()
    if (host, step.finding) in evidence.muted:
        muted = tuple(one for one in findings if one.state == "fired")
    if muted:
        reason = Sentence("playbook.muted", {"rule": step.finding})
        rule = Answer(step.id, "inconclusive", "rule", (), rule.grade, reason)
    # What somebody said of this host stands above what was said of all.
    mine = sorted(
        (one for one in said if one.host in {None, host}), key=lambda one: (one.host is None, -one.at)
    )
    person = mine[0] if mine else None
    counts = Answer(step.id, person.verdict, "person", (), _grade(step, rules)) if person else rule
    return HostAnswer(
        host, run.run if run else None, counts, rule, person, muted, _disagree(person, mine, rule)
    )


def _disagree(person: Spoken | None, said: Sequence[Spoken], rule: Answer) -> bool:
    """Whether people say otherwise than the rule, or than each other. Of one person the newest word is theirs."""
    if person is None:
        return False
    voices = {one.who: one.verdict for one in reversed(said)}
    return len(set(voices.values())) > 1 or (rule.verdict in SETTLED and rule.verdict != person.verdict)


def _by_rule(step: Step, findings: Sequence[Finding], rules: Mapping[str, Rule]) -> Answer:
    """What the rule says; a rule that this version does not have any more says nothing."""
    if step.finding and step.finding not in rules:
        return Answer(
            step.id, "not_collected", "nobody", reason=Sentence("playbook.rule_gone", {"rule": step.finding})
        )
    return answer(step, findings, rules)


def _grade(step: Step, rules: Mapping[str, Rule]) -> Grade:
    """How strong somebody's verdict can be: what they saw themselves, or what the rule's numbers can carry."""
    if not step.finding:
        return Grade.MECHANISM
    return rules[step.finding].grade if step.finding in rules else Grade.CONTEXT


def _telling(step: Step, runs: Sequence[Heard]) -> Heard | None:
    """The newest run that answers the step, else the newest that says why it does not."""
    silent = None
    for run in runs:
        found = run.findings.get(step.finding, ())
        if any(one.state != "not_evaluated" or (one.numbers and one.reason) for one in found):
            return run
        if found and silent is None:
            silent = run
    return silent


def _merged(step: Step, hosts: Sequence[HostAnswer], rules: Mapping[str, Rule]) -> Answer:
    if not hosts:
        return _by_rule(step, (), rules)
    verdict = together(one.answer.verdict for one in hosts)
    loud = [one.answer for one in hosts if one.answer.verdict == verdict]
    grade = max((one.grade for one in loud), key=STRENGTH.__getitem__)
    by = next((one.by for one in loud if one.by != "nobody"), loud[0].by)
    reason = next((one.reason for one in loud if one.reason), None)
    return Answer(step.id, verdict, by, tuple(each for one in loud for each in one.findings), grade, reason)


def gaps(walked: Walked, waived: Collection[str]) -> tuple[str, ...]:
    """The steps on the path that nothing settled and nobody waived, by key."""
    return tuple(key for name in walked.chain.gaps if (key := walked.key(name)) not in waived)


def next_step(
    walks: Sequence[Walked],
    places: Sequence[Place],
    decided: Collection[str],
    waived: Collection[str],
    rules: Mapping[str, Rule],
) -> Next | None:
    """The step that tells most for its price, and where; None where nothing is left to ask.

    `decided` are hypotheses that somebody refuted or confirmed: nothing more is asked about them. Where nothing tells
    open hypotheses apart any more, what is still missing on the paths is proposed.
    """
    return _best(walks, places, decided, waived, rules) or _missing(walks, places, waived, rules)


def _best(
    walks: Sequence[Walked],
    places: Sequence[Place],
    decided: Collection[str],
    waived: Collection[str],
    rules: Mapping[str, Rule],
) -> Next | None:
    best: Next | None = None
    for walked in walks:
        stands = {name: one for name, one in walked.chain.stands.items() if walked.key(name) not in decided}
        asked = {step.id for step in walked.playbook.steps if walked.key(step.id) not in waived}
        for place in places:
            view = replace(_asking(walked, place.host, asked, rules), stands=stands)
            found = propose(walked.playbook, view, rules, place.allowed, place.tried)
            if found is not None and (best is None or found.gain > best.proposal.gain + 1e-9):
                best = Next(walked.playbook.id, place.host, found)
    return best


def _missing(
    walks: Sequence[Walked], places: Sequence[Place], waived: Collection[str], rules: Mapping[str, Rule]
) -> Next | None:
    for walked in walks:
        asked = {name for name in walked.chain.gaps if walked.key(name) not in waived}
        stands = {name: replace(one, standing="open") for name, one in walked.chain.stands.items()}
        for place in places:
            view = replace(_asking(walked, place.host, asked, rules), stands=stands)
            found = propose(walked.playbook, view, rules, place.allowed, place.tried)
            if found is not None:
                why = Sentence("next.gap", {"tier": found.tier.name.lower()})
                return Next(walked.playbook.id, place.host, replace(found, why=why))
    return None


def _asking(walked: Walked, host: str, asked: Collection[str], rules: Mapping[str, Rule]) -> Chain:
    """The chain as it looks to a proposal for one host: only what it can still answer is unanswered."""
    on_host = {
        name: next((one.answer.verdict for one in found if one.host == host), "inconclusive")
        for name, found in walked.hosts.items()
    }
    answers = {}
    for step in walked.playbook.steps:
        said = walked.chain.answers[step.id]
        is_open = (
            said.verdict == on_host[step.id] == "not_collected"
            and step.id in asked
            and (not step.finding or step.finding in rules)
        )
        answers[step.id] = (
            said if is_open or said.verdict != "not_collected" else replace(said, verdict="inconclusive")
        )
    return replace(walked.chain, answers=answers)
