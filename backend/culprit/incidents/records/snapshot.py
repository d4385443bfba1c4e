"""Load an incident with everything that its evidence chain needs, in a bounded number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.domain.playbooks.engine import HypothesisState
from culprit.domain.playbooks.merge import (
    Evidence,
    HostOption,
    NextStep,
    PersonVerdict,
    PlaybookWalk,
    list_gaps,
    merge_hosts,
    propose_next_step,
)
from culprit.domain.playbooks.refusals import FixFact
from culprit.domain.playbooks.relevance import PlaybookState, playbook_state
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.registry import RULES
from culprit.incidents.records import playbook_versions, queries
from culprit.incidents.records.queries import Rows
from culprit.incidents.records.run_findings import load_run_findings
from culprit.infra.db.clock import utc_now
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_playbook import IncidentPlaybook
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.step_verdict import StepVerdict
from culprit.infra.models.incidents.step_waiver import StepWaiver
from culprit.infra.models.incidents.verification import Verification

#: Steps are evaluated on these hosts; control hosts are healthy.
INVESTIGATED_ROLES = ("suspect", "dependency")
#: Tiers of step captures. Collectors that stop their target need a manual capture.
STEP_TIERS = (Tier.LIGHT, Tier.STANDARD, Tier.DEEP)
NO_EVIDENCE = HypothesisState("", "open", (), (), Strength.CONTEXT)


@dataclass(frozen=True)
class IncidentSnapshot:
    """An incident as one actor sees it; `actor` None: Culprit, which sees everything."""

    incident: Incident
    actor: Actor | None
    hosts: Sequence[tuple[IncidentHost, Host]]
    playbooks: Sequence[IncidentPlaybook]
    hypotheses: Sequence[Hypothesis]
    verdicts: Sequence[StepVerdict]
    cited_pins: Mapping[UUID, Sequence[UUID]]
    pins: Sequence[Pin]
    waivers: Mapping[str, StepWaiver]
    outcomes: Sequence[CauseOutcome]
    fixes: Sequence[Fix]
    verifications: Sequence[Verification]
    runs: Rows
    evidence: Evidence
    tried_collectors: Mapping[str, frozenset[str]]

    @cached_property
    def playbook_walks(self) -> list[PlaybookWalk]:
        """Every playbook, evaluated over all hosts."""
        hosts = [str(host.id) for _, host in self.hosts]
        counted = [str(host.id) for link, host in self.hosts if link.role in INVESTIGATED_ROLES]
        attached_versions = [
            playbook_versions.get_attached_version(playbook.content, playbook.digest)
            for playbook in self.playbooks
        ]
        own = playbook_versions.build_custom_playbook(self.hypotheses)
        return [
            merge_hosts(attached_version, hosts, counted, self.evidence, RULES)
            for attached_version in [*attached_versions, *([own] if own else [])]
        ]

    @cached_property
    def hypothesis_states(self) -> dict[str, HypothesisState]:
        """The evidence of each hypothesis, by its key; steps are named by their keys."""
        return {
            walked.key(name): HypothesisState(
                walked.key(name),
                item.status,
                tuple(walked.key(step) for step in item.supports),
                tuple(walked.key(step) for step in item.refutes),
                item.strength,
            )
            for walked in self.playbook_walks
            for name, item in walked.chain.hypotheses.items()
        }

    @cached_property
    def playbook_states(self) -> dict[str, PlaybookState]:
        """The state of each playbook, by its ID."""
        decided = {hypothesis.key: hypothesis.state for hypothesis in self.hypotheses}
        playbook_ids = {
            playbook.playbook_id for playbook in self.playbooks if playbook.dismissed_reason is not None
        }
        return {
            walk.playbook.id: playbook_state(walk, decided, dismissed=walk.playbook.id in playbook_ids)
            for walk in self.playbook_walks
        }

    @cached_property
    def active_walks(self) -> list[PlaybookWalk]:
        """The walks of the active playbooks."""
        return [walk for walk in self.playbook_walks if self.playbook_states[walk.playbook.id] == "active"]

    @cached_property
    def open_steps(self) -> list[str]:
        """The open steps on the paths of active playbooks. A resolved incident has none."""
        return [key for walked in self.active_walks for key in list_gaps(walked, self.waivers)]

    @cached_property
    def unanswered_steps(self) -> list[str]:
        """The unanswered steps of all paths, including dismissed playbooks and waived steps."""
        return [key for walked in self.playbook_walks for key in list_gaps(walked, ())]

    @cached_property
    def allowed_tiers(self) -> list[Tier]:
        """The tiers of step captures that the actor can run."""
        return [
            step_tier
            for step_tier in STEP_TIERS
            if self.actor is not None and is_allowed(self.actor, f"capture.{step_tier}")
        ]

    def get_hypothesis_state(self, key: str) -> HypothesisState:
        """Return the evidence of a hypothesis."""
        return self.hypothesis_states.get(key, NO_EVIDENCE)

    def list_fix_facts(self) -> list[FixFact]:
        """Return the fixes in the form that decisions need."""
        keys = {hypothesis.id: hypothesis.key for hypothesis in self.hypotheses}
        return [
            FixFact(keys.get(fix.hypothesis_id) if fix.hypothesis_id else None, fix.state)
            for fix in self.fixes
        ]

    def propose_next_step(
        self, tiers: Sequence[Tier] = STEP_TIERS, leave_out: Collection[str] = ()
    ) -> NextStep | None:
        """Return the next step within these tiers and the actor's permissions, without those of `leave_out`."""
        may = frozenset(tier for tier in tiers if tier in self.allowed_tiers)
        places = [
            HostOption(
                str(host.id),
                may if host.state == "active" else frozenset(),
                self.tried_collectors.get(str(host.id), frozenset()),
            )
            for link, host in self.hosts
            if link.role in INVESTIGATED_ROLES
        ]
        decided = {
            hypothesis.key for hypothesis in self.hypotheses if hypothesis.state in {"refuted", "confirmed"}
        }
        return propose_next_step(self.active_walks, places, decided, {*self.waivers, *leave_out}, RULES)


def load_snapshot(session: Session, actor: Actor | None, incident: Incident) -> IncidentSnapshot:
    """Load the part of an incident that is visible to this actor."""
    hosts = queries.list_hosts(session, actor, incident.id)
    seen = {host.id for _, host in hosts}
    playbooks = queries.list_playbooks(session, incident.id)
    rules = {
        step.finding
        for playbook in playbooks
        for step in playbook_versions.get_attached_version(playbook.content, playbook.digest).steps
        if step.finding in RULES
    }
    runs = [
        run for run in queries.list_runs(session, incident.id) if run.host_id is None or run.host_id in seen
    ]
    reporting = [run for run in runs if run.role == "evidence" and run.host_id is not None]
    verdicts = queries.list_verdicts(session, incident.id)
    cited: dict[UUID, list[UUID]] = defaultdict(list)
    for row in queries.list_verdict_pins(session, incident.id):
        cited[row.verdict_id].append(row.pin_id)
    muted = frozenset(
        (str(active_mute.host_id), active_mute.rule)
        for active_mute in queries.list_active_mutes(session, seen, utc_now())
    )
    return IncidentSnapshot(
        incident=incident,
        actor=actor,
        hosts=hosts,
        playbooks=playbooks,
        hypotheses=queries.list_hypotheses(session, incident.id),
        verdicts=[verdict for verdict in verdicts if verdict.host_id is None or verdict.host_id in seen],
        cited_pins=cited,
        pins=[
            pin
            for pin in queries.list_pins(session, incident.id)
            if {str(host) for host in seen}.issuperset(pin.snapshot.get("hosts", ()))
        ],
        waivers={waiver.step: waiver for waiver in queries.list_waivers(session, incident.id)},
        outcomes=queries.list_outcomes(session, incident.id),
        fixes=queries.list_fixes(session, incident.id),
        verifications=queries.list_verifications(session, incident.id),
        runs=runs,
        evidence=Evidence(
            load_run_findings(session, reporting, rules),
            [_to_person_verdict(verdict) for verdict in verdicts],
            muted,
        ),
        tried_collectors=_tried(session, [run.run_id for run in reporting]),
    )


def _to_person_verdict(step_verdict: StepVerdict) -> PersonVerdict:
    return PersonVerdict(
        str(step_verdict.id),
        step_verdict.step,
        str(step_verdict.host_id) if step_verdict.host_id else None,
        step_verdict.verdict,  # type: ignore[arg-type]  # the column holds nothing else
        str(step_verdict.by),
        step_verdict.created_at.timestamp(),
    )


def _tried(session: Session, run_ids: Sequence[UUID]) -> dict[str, frozenset[str]]:
    result: dict[str, set[str]] = defaultdict(set)
    if run_ids:
        for row in queries.list_tried_collectors(session, run_ids):
            result[str(row.host_id)].add(row.collector)
    return {host: frozenset(names) for host, names in result.items()}
