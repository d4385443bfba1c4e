"""Playbook catalog, validation and dry runs."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, is_allowed
from culprit.analysis.playbooks import library, queries
from culprit.analysis.playbooks.schemas import (
    DryRunResponse,
    HypothesisStateResponse,
    PlaybookCheckResponse,
    PlaybookProblemResponse,
    PlaybookResponse,
    PlaybookSummary,
    StepAnswerResponse,
    StepProposalResponse,
)
from culprit.domain.playbooks.engine import (
    HypothesisState,
    PlaybookChain,
    StepAnswer,
    StepProposal,
    evaluate_playbook,
    propose_step,
)
from culprit.domain.playbooks.model import Playbook
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.json_form import finding_from_json, sentence_to_json
from culprit.domain.rules.json_form import finding_to_json as as_json
from culprit.domain.rules.registry import RULES
from culprit.web.errors import NotFoundError

STORED_FIELDS = ("rule", "state", "severity", "strength", "subject", "numbers", "reason", "detail")


def list_playbooks(actor: Actor) -> list[PlaybookSummary]:
    """Return the catalog, sorted by id."""
    authorize(actor, "playbook.read")
    return [_build_summary(playbook) for _, playbook in sorted(library.load_catalog().items())]


def get_playbook(actor: Actor, playbook_id: str) -> PlaybookResponse:
    """Return one playbook, or raise NotFoundError."""
    authorize(actor, "playbook.read")
    return _build_response(_get_playbook(playbook_id))


def check_playbook(actor: Actor, text: str) -> PlaybookCheckResponse:
    """Validate a custom playbook."""
    authorize(actor, "playbook.read")
    result = library.check_text(text)
    problems = [
        PlaybookProblemResponse(location=problem.location, what=_message_ref(problem.what))
        for problem in result.problems
    ]
    return PlaybookCheckResponse(
        problems=problems, playbook=_build_response(result.playbook) if result.playbook else None
    )


def dry_run(session: Session, actor: Actor, playbook_id: str, run_id: UUID) -> DryRunResponse:
    """Evaluate a playbook on the findings of a run, or raise NotFoundError."""
    authorize(actor, "playbook.read")
    playbook = _get_playbook(playbook_id)
    if queries.find_run(session, actor, run_id) is None:
        raise NotFoundError("run.not_found")
    chain = evaluate_playbook(playbook, _load_findings(session, run_id), RULES)
    tiers = {tier for tier in Tier if tier is not Tier.PTRACE and is_allowed(actor, f"capture.{tier}")}
    proposal = propose_step(playbook, chain, RULES, tiers, queries.list_collectors(session, run_id))
    return _build_dry_run(playbook.id, run_id, chain, proposal)


def _get_playbook(playbook_id: str) -> Playbook:
    playbook = library.load_catalog().get(playbook_id)
    if playbook is None:
        raise NotFoundError("playbook.not_found")
    return playbook


def _load_findings(session: Session, run_id: UUID) -> list[Finding]:
    evaluation = queries.find_evaluation(session, run_id)
    stored = [
        {name: getattr(row, name) for name in STORED_FIELDS} for row in queries.list_findings(session, run_id)
    ]
    rest = [*evaluation.not_matched, *evaluation.not_evaluated] if evaluation else []
    return [finding_from_json(item) for item in (*stored, *rest) if item["rule"] in RULES]


def _message_ref(sentence: Sentence) -> dict[str, object]:
    return {"key": sentence.key, "params": dict(sentence.params)}


def _build_summary(playbook: Playbook) -> PlaybookSummary:
    rules = {step.finding for step in playbook.steps if step.finding}
    rules.update(rule for remediation in playbook.remediations for rule in remediation.findings)
    return PlaybookSummary.model_validate(
        asdict(playbook)
        | {
            "steps": len(playbook.steps),
            "remediations": len(playbook.remediations),
            "findings": sorted(rules),
            "causes": sorted({hypothesis.cause for hypothesis in playbook.hypotheses if hypothesis.cause}),
        }
    )


def _build_response(playbook: Playbook) -> PlaybookResponse:
    return PlaybookResponse.model_validate(asdict(playbook))


def _build_dry_run(
    playbook_id: str, run_id: UUID, chain: PlaybookChain, proposal: StepProposal | None
) -> DryRunResponse:
    return DryRunResponse(
        playbook=playbook_id,
        run_id=run_id,
        path=list(chain.path),
        gaps=list(chain.gaps),
        next_playbook=chain.next_playbook,
        answers=[_build_answer(answer) for answer in chain.answers.values()],
        hypotheses=[_build_hypothesis_state(state) for state in chain.hypotheses.values()],
        next=_build_proposal(proposal) if proposal else None,
    )


def _build_answer(step_answer: StepAnswer) -> StepAnswerResponse:
    return StepAnswerResponse(
        step=step_answer.step, verdict=step_answer.verdict,
        by=step_answer.by, strength=str(step_answer.strength),
        reason=sentence_to_json(step_answer.reason),
        findings=[as_json(each) for each in step_answer.findings],
    )  # fmt: skip


def _build_hypothesis_state(hypothesis_state: HypothesisState) -> HypothesisStateResponse:
    return HypothesisStateResponse(
        hypothesis=hypothesis_state.hypothesis, status=hypothesis_state.status,
        supports=list(hypothesis_state.supports), refutes=list(hypothesis_state.refutes),
        strength=str(hypothesis_state.strength),
    )  # fmt: skip


def _build_proposal(step_proposal: StepProposal) -> StepProposalResponse:
    return StepProposalResponse(
        step=step_proposal.step,
        collectors=list(step_proposal.collectors),
        tier=str(step_proposal.tier),
        why=_message_ref(step_proposal.why),
    )
