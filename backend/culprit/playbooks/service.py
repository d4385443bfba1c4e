"""Decisions about playbooks."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed, policy
from culprit.core.playbooks.contract import Playbook
from culprit.core.playbooks.engine import Answer, Chain, Proposal, Stand, propose, walk
from culprit.core.rules.contract import Finding
from culprit.core.rules.form import finding as as_json
from culprit.core.rules.form import read_finding, sentence
from culprit.core.rules.registry import RULES
from culprit.kit.errors import NotFound
from culprit.playbooks import library, queries
from culprit.playbooks.schemas import (
    AnswerRead,
    ChainRead,
    CheckRead,
    PlaybookRead,
    PlaybookSummary,
    ProblemRead,
    ProposalRead,
    StandRead,
)

STORED = ("rule", "state", "severity", "grade", "subject", "numbers", "reason", "detail")


def summaries(actor: Actor) -> list[PlaybookSummary]:
    """The catalogue, by id."""
    policy(actor, "playbook.read")
    return [_summary(one) for _, one in sorted(library.library().items())]


def read(actor: Actor, playbook_id: str) -> PlaybookRead:
    """One playbook in full. Raises NotFound."""
    policy(actor, "playbook.read")
    return _read(_find(playbook_id))


def check(actor: Actor, text: str) -> CheckRead:
    """What is wrong with a playbook that somebody wrote."""
    policy(actor, "playbook.read")
    found = library.check(text)
    wrong = [ProblemRead(where=one.where, what=_sentence(one.what)) for one in found.problems]
    return CheckRead(problems=wrong, playbook=_read(found.playbook) if found.playbook else None)


def try_on(session: Session, actor: Actor, playbook_id: str, run_id: UUID) -> ChainRead:
    """A playbook over what the rules said about a run. Raises NotFound."""
    policy(actor, "playbook.read")
    playbook = _find(playbook_id)
    if queries.run(session, actor, run_id) is None:
        raise NotFound("run.not_found")
    chain = walk(playbook, _findings(session, run_id), RULES)
    tiers = {tier for tier in Tier if tier is not Tier.PTRACE and allowed(actor, f"capture.{tier}")}
    proposal = propose(playbook, chain, RULES, tiers, queries.tried(session, run_id))
    return _chain(playbook.id, run_id, chain, proposal)


def _find(playbook_id: str) -> Playbook:
    found = library.library().get(playbook_id)
    if found is None:
        raise NotFound("playbook.not_found")
    return found


def _findings(session: Session, run_id: UUID) -> list[Finding]:
    kept = queries.evaluation(session, run_id)
    stored = [{name: getattr(row, name) for name in STORED} for row in queries.findings(session, run_id)]
    rest = [*kept.quiet, *kept.not_evaluated] if kept else []
    return [read_finding(one) for one in (*stored, *rest) if one["rule"] in RULES]


def _sentence(one: Sentence) -> dict[str, object]:
    return {"key": one.key, "params": dict(one.params)}


def _summary(one: Playbook) -> PlaybookSummary:
    named = [step.finding for step in one.steps if step.finding]
    return PlaybookSummary.model_validate(
        asdict(one)
        | {
            "steps": len(one.steps),
            "cards": len(one.cards),
            "findings": sorted({*named, *(name for card in one.cards for name in card.findings)}),
            "causes": sorted({each.cause for each in one.hypotheses if each.cause}),
        }
    )


def _read(one: Playbook) -> PlaybookRead:
    return PlaybookRead.model_validate(asdict(one))


def _chain(playbook_id: str, run_id: UUID, chain: Chain, proposal: Proposal | None) -> ChainRead:
    return ChainRead(
        playbook=playbook_id,
        run_id=run_id,
        path=list(chain.path),
        gaps=list(chain.gaps),
        leads_to=chain.leads_to,
        answers=[_answer(one) for one in chain.answers.values()],
        stands=[_stand(one) for one in chain.stands.values()],
        next=_proposal(proposal) if proposal else None,
    )


def _answer(one: Answer) -> AnswerRead:
    return AnswerRead(
        step=one.step, verdict=one.verdict, by=one.by, grade=str(one.grade), reason=sentence(one.reason),
        findings=[as_json(each) for each in one.findings],
    )  # fmt: skip


def _stand(one: Stand) -> StandRead:
    return StandRead(
        hypothesis=one.hypothesis, standing=one.standing, supports=list(one.supports), refutes=list(one.refutes),
        grade=str(one.grade),
    )  # fmt: skip


def _proposal(one: Proposal) -> ProposalRead:
    return ProposalRead(
        step=one.step, collectors=list(one.collectors), tier=str(one.tier), why=_sentence(one.why)
    )
