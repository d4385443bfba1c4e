"""An incident out of the database, with all that its chain is made of. The number of queries is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.core.playbooks.engine import Stand
from culprit.core.playbooks.merge import Evidence, Next, Place, Spoken, Walked, gaps, next_step, over
from culprit.core.playbooks.play import Play, play
from culprit.core.playbooks.refusals import FixFact
from culprit.core.rules.contract import Grade
from culprit.core.rules.registry import RULES
from culprit.incidents import books, queries
from culprit.incidents.heard import heard
from culprit.incidents.queries import Rows
from culprit.kit.clock import now
from culprit.models import (
    CauseOutcome,
    Fix,
    Host,
    Hypothesis,
    Incident,
    IncidentHost,
    IncidentPlaybook,
    Pin,
    StepVerdict,
    StepWaiver,
    Verification,
)

#: Hosts that are well say nothing about what ails the others.
COUNTED = ("suspect", "dependency")
#: What an autopilot or a button may collect; what stops its target is asked for by hand.
TIERS = (Tier.LIGHT, Tier.STANDARD, Tier.DEEP)
NO_STAND = Stand("", "open", (), (), Grade.CONTEXT)


@dataclass(frozen=True)
class Loaded:
    """An incident as one actor sees it (`actor` None: Culprit itself, which sees all)."""

    incident: Incident
    actor: Actor | None
    hosts: Sequence[tuple[IncidentHost, Host]]
    playbooks: Sequence[IncidentPlaybook]
    hypotheses: Sequence[Hypothesis]
    verdicts: Sequence[StepVerdict]
    cited: Mapping[UUID, Sequence[UUID]]
    pins: Sequence[Pin]
    waivers: Mapping[str, StepWaiver]
    outcomes: Sequence[CauseOutcome]
    fixes: Sequence[Fix]
    verifications: Sequence[Verification]
    runs: Rows
    evidence: Evidence
    tried: Mapping[str, frozenset[str]]

    @cached_property
    def walks(self) -> list[Walked]:
        """Every playbook, walked over all hosts."""
        hosts = [str(host.id) for _, host in self.hosts]
        counted = [str(host.id) for link, host in self.hosts if link.role in COUNTED]
        found = [books.kept(one.content, one.digest) for one in self.playbooks]
        own = books.own(self.hypotheses)
        return [over(one, hosts, counted, self.evidence, RULES) for one in [*found, *([own] if own else [])]]

    @cached_property
    def stands(self) -> dict[str, Stand]:
        """Where the evidence stands on each hypothesis, by its key; steps are named by theirs."""
        return {
            walked.key(name): Stand(
                walked.key(name),
                one.standing,
                tuple(walked.key(step) for step in one.supports),
                tuple(walked.key(step) for step in one.refutes),
                one.grade,
            )
            for walked in self.walks
            for name, one in walked.chain.stands.items()
        }

    @cached_property
    def plays(self) -> dict[str, Play]:
        """Whether each playbook is still asked, by its id."""
        decided = {one.key: one.state for one in self.hypotheses}
        aside = {one.playbook_id for one in self.playbooks if one.aside_reason is not None}
        return {one.playbook.id: play(one, decided, aside=one.playbook.id in aside) for one in self.walks}

    @cached_property
    def asked(self) -> list[Walked]:
        """The walks of the playbooks that are in play."""
        return [one for one in self.walks if self.plays[one.playbook.id] == "asked"]

    @cached_property
    def gaps(self) -> list[str]:
        """The unanswered steps of the paths that are in play: what a resolved incident must not have."""
        return [key for walked in self.asked for key in gaps(walked, self.waivers)]

    @cached_property
    def unanswered(self) -> list[str]:
        """The unanswered steps of all paths, in play or not, waived or not."""
        return [key for walked in self.walks for key in gaps(walked, ())]

    @cached_property
    def tiers(self) -> list[Tier]:
        """What the actor may collect by a button."""
        return [one for one in TIERS if self.actor is not None and allowed(self.actor, f"capture.{one}")]

    def stand(self, key: str) -> Stand:
        """Where a hypothesis stands."""
        return self.stands.get(key, NO_STAND)

    def fix_facts(self) -> list[FixFact]:
        """The fixes as decisions need them."""
        keys = {one.id: one.key for one in self.hypotheses}
        return [
            FixFact(keys.get(one.hypothesis_id) if one.hypothesis_id else None, one.state)
            for one in self.fixes
        ]

    def next(self, tiers: Sequence[Tier] = TIERS, leave_out: Collection[str] = ()) -> Next | None:
        """The step to take next, within these tiers and what the actor may; none of `leave_out`."""
        may = frozenset(one for one in tiers if one in self.tiers)
        places = [
            Place(
                str(host.id),
                may if host.state == "active" else frozenset(),
                self.tried.get(str(host.id), frozenset()),
            )
            for link, host in self.hosts
            if link.role in COUNTED
        ]
        decided = {one.key for one in self.hypotheses if one.state in {"refuted", "confirmed"}}
        return next_step(self.asked, places, decided, {*self.waivers, *leave_out}, RULES)


def load(session: Session, actor: Actor | None, incident: Incident) -> Loaded:
    """All of an incident that exists for this actor."""
    hosts = queries.hosts(session, actor, incident.id)
    seen = {host.id for _, host in hosts}
    playbooks = queries.playbooks(session, incident.id)
    rules = {
        step.finding
        for one in playbooks
        for step in books.kept(one.content, one.digest).steps
        if step.finding in RULES
    }
    runs = [one for one in queries.runs(session, incident.id) if one.host_id is None or one.host_id in seen]
    telling = [one for one in runs if one.role == "evidence" and one.host_id is not None]
    verdicts = queries.verdicts(session, incident.id)
    cited: dict[UUID, list[UUID]] = defaultdict(list)
    for row in queries.cited(session, incident.id):
        cited[row.verdict_id].append(row.pin_id)
    muted = frozenset((str(one.host_id), one.rule) for one in queries.active_mutes(session, seen, now()))
    return Loaded(
        incident=incident,
        actor=actor,
        hosts=hosts,
        playbooks=playbooks,
        hypotheses=queries.hypotheses(session, incident.id),
        verdicts=[one for one in verdicts if one.host_id is None or one.host_id in seen],
        cited=cited,
        pins=[
            one
            for one in queries.pins(session, incident.id)
            if {str(host) for host in seen}.issuperset(one.said.get("hosts", ()))
        ],
        waivers={one.step: one for one in queries.waivers(session, incident.id)},
        outcomes=queries.outcomes(session, incident.id),
        fixes=queries.fixes(session, incident.id),
        verifications=queries.verifications(session, incident.id),
        runs=runs,
        evidence=Evidence(heard(session, telling, rules), [_spoken(one) for one in verdicts], muted),
        tried=_tried(session, [one.run_id for one in telling]),
    )


def _spoken(one: StepVerdict) -> Spoken:
    return Spoken(
        str(one.id),
        one.step,
        str(one.host_id) if one.host_id else None,
        one.verdict,  # type: ignore[arg-type]  # the column holds nothing else
        str(one.by),
        one.created_at.timestamp(),
    )


def _tried(session: Session, run_ids: Sequence[UUID]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    if run_ids:
        for row in queries.tried(session, run_ids):
            found[str(row.host_id)].add(row.collector)
    return {host: frozenset(names) for host, names in found.items()}
