"""Build the evidence chain of an incident response."""

from __future__ import annotations

from uuid import UUID

from collectors.contract import Text
from collectors.plans import highest_tier
from collectors.registry import COLLECTORS
from culprit.captures.service_collectors import ServiceCollector
from culprit.domain.playbooks.merge import HostAnswer, NextStep
from culprit.domain.playbooks.model import GATES
from culprit.domain.rules import json_form
from culprit.domain.rules.registry import RULES
from culprit.incidents.records.snapshot import IncidentSnapshot
from culprit.incidents.responses.chain_schemas import (
    CaptureCostResponse,
    HostAnswerResponse,
    HypothesisResponse,
    IncidentCauseResponse,
    NextStepResponse,
    PersonRef,
    PersonVerdictResponse,
    StepCommandResponse,
    StepResponse,
    WaiverResponse,
)
from culprit.incidents.responses.step_collectors import get_collector_seconds, select_collectors
from culprit.web.schemas import LocalizedText

Names = dict[UUID, str]
CONFIDENCE = ("likely", "confirmed")


def build_user_ref(user_id: UUID | None, names: Names) -> PersonRef | None:
    """Return a user reference, or None."""
    return PersonRef(id=user_id, name=names[user_id]) if user_id in names and user_id else None


def _to_text(text: Text) -> LocalizedText:
    return LocalizedText(en=text.en, zh=text.zh)


def build_hypotheses(snapshot: IncidentSnapshot) -> list[HypothesisResponse]:
    """Build all hypotheses with the status of their evidence."""
    results = []
    for hypothesis in snapshot.hypotheses:
        evidence = snapshot.get_hypothesis_state(hypothesis.key)
        results.append(
            HypothesisResponse(
                id=hypothesis.id,
                key=hypothesis.key,
                summary=hypothesis.summary,
                cause=hypothesis.cause,
                state=hypothesis.state,
                status=evidence.status,
                strength=str(evidence.strength),
                primary=hypothesis.primary,
                supports=list(evidence.supports),
                refutes=list(evidence.refutes),
            )
        )
    return results


def build_steps(snapshot: IncidentSnapshot, names: Names) -> list[StepResponse]:
    """Build all steps of all playbooks with the answer of each host."""
    return [
        StepResponse(
            key=key,
            playbook=walked.playbook.id,
            step=step.id,
            question=_to_text(step.question),
            instructions=_to_text(step.instructions) if step.instructions else None,
            about=step.about if step.about in GATES else walked.key(step.about),
            finding=step.finding,
            on_path=step.id in walked.chain.path,
            verdict=walked.chain.answers[step.id].verdict,
            waived=_build_waiver(snapshot, key, names),
            hosts=[_build_host_answer(snapshot, item, names) for item in walked.hosts[step.id]],
        )
        for walked in snapshot.playbook_walks
        for step in walked.playbook.steps
        for key in [walked.key(step.id)]
    ]


def _build_waiver(snapshot: IncidentSnapshot, key: str, names: Names) -> WaiverResponse | None:
    waiver = snapshot.waivers.get(key)
    return WaiverResponse(reason=waiver.reason, by=build_user_ref(waiver.by, names)) if waiver else None


def _build_host_answer(
    snapshot: IncidentSnapshot, host_answer: HostAnswer, names: Names
) -> HostAnswerResponse:
    person_verdict = None
    if host_answer.person is not None:
        row = next(each for each in snapshot.verdicts if str(each.id) == host_answer.person.id)
        person_verdict = PersonVerdictResponse(
            id=row.id,
            verdict=row.verdict,
            by=build_user_ref(row.by, names),
            note=row.note,
            at=row.created_at,
            pins=list(snapshot.cited_pins.get(row.id, ())),
        )
    return HostAnswerResponse(
        host_id=UUID(host_answer.host),
        run_id=UUID(host_answer.run) if host_answer.run else None,
        verdict=host_answer.answer.verdict,
        by=host_answer.answer.by,
        rule_verdict=host_answer.rule.verdict,
        person=person_verdict,
        strength=str(host_answer.answer.strength),
        reason=json_form.sentence_to_json(host_answer.answer.reason),
        findings=[json_form.finding_to_json(each) for each in host_answer.rule.findings],
        muted=[json_form.finding_to_json(each) for each in host_answer.muted],
        pins=person_verdict.pins if person_verdict else [],
        disagrees=host_answer.disagrees,
    )


def build_next_step(
    snapshot: IncidentSnapshot, next_step: NextStep | None, service_collector: ServiceCollector | None = None
) -> NextStepResponse | None:
    """Build the next step with its commands and cost; `service_collector` runs with a capture."""
    if next_step is None:
        return None
    step = next(
        walked.playbook.get_step(next_step.proposal.step)
        for walked in snapshot.playbook_walks
        if walked.playbook.id == next_step.playbook
    )
    names = (
        select_collectors(
            RULES[step.finding], snapshot.tried_collectors.get(next_step.host, ()), snapshot.allowed_tiers
        )
        if step.finding
        else []
    )
    whys = (
        {service_collector.collector: json_form.sentence_to_json(service_collector.why)}
        if names and service_collector and service_collector.collector not in names
        else {}
    )
    names = [*names, *whys]
    seconds = {name: get_collector_seconds(name) for name in names}
    size = sum(COLLECTORS[name].cost.bytes_per_s * seconds[name] for name in names)
    return NextStepResponse(
        step=f"{next_step.playbook}/{step.id}",
        host_id=UUID(next_step.host),
        collectors=names,
        tier=str(highest_tier(names)),
        cost=CaptureCostResponse(
            cpu_pct=round(sum(COLLECTORS[name].cost.cpu_pct for name in names), 2),
            seconds=max(seconds.values(), default=0),
            bytes=round(size) or None,
        ),
        commands=[
            StepCommandResponse(
                collector=name,
                text=COLLECTORS[name].methods[0].command_line.replace("{seconds}", str(seconds[name])),
                why=whys.get(name),
            )
            for name in names
        ],
        why={"key": next_step.proposal.why.key, "params": dict(next_step.proposal.why.params)},
    )


def build_causes(snapshot: IncidentSnapshot) -> list[IncidentCauseResponse]:
    """Build the likely and confirmed causes, the confirmed ones first."""
    hypotheses = [hypothesis for hypothesis in snapshot.hypotheses if hypothesis.state in CONFIDENCE]
    return [
        IncidentCauseResponse(hypothesis=hypothesis.key, cause=hypothesis.cause, confidence=hypothesis.state)
        for hypothesis in sorted(hypotheses, key=lambda hypothesis: hypothesis.state != "confirmed")
    ]
