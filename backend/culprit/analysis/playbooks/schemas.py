"""Requests and responses of the playbook API."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from collectors.contract import TierName
from culprit.analysis.findings.schemas import FindingResponse
from culprit.domain.playbooks.model import Better, Kind, SettledVerdict, Verdict
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, LocalizedText, MessageRef


class PrimaryNumberResponse(BaseModel):
    """Number that decides whether a fix worked."""

    read: str
    better: Better


class PlaybookHypothesisResponse(BaseModel):
    """Possible explanation."""

    id: str
    summary: LocalizedText
    cause: str
    primary: PrimaryNumberResponse | None


class PlaybookStepResponse(BaseModel):
    """Question that a rule (`finding`) or a person (following `instructions`) answers."""

    id: str
    question: LocalizedText
    about: str
    branches: dict[str, str]
    finding: str
    matched: SettledVerdict
    not_matched: SettledVerdict
    instructions: LocalizedText | None
    caveat: LocalizedText | None
    example: LocalizedText | None


class RemediationResponse(BaseModel):
    """Instructions for a fix, with risk and rollback."""

    id: str
    title: LocalizedText
    when: LocalizedText
    command: str
    risk: LocalizedText | None
    rollback: LocalizedText | None
    verifies: str
    correction: LocalizedText | None
    findings: list[str]
    causes: list[str]


class PlaybookReferenceResponse(BaseModel):
    """Source of a statement."""

    title: str
    url: str


class PlaybookSummary(BaseModel):
    """Playbook in a list. `findings` are the rules of its steps and remediations, `causes` those of its hypotheses."""

    id: str
    kind: Kind
    title: LocalizedText
    symptom: LocalizedText
    steps: int
    remediations: int
    findings: list[str]
    causes: list[str]


class PlaybookResponse(BaseModel):
    """Complete playbook."""

    id: str
    kind: Kind
    title: LocalizedText
    symptom: LocalizedText
    covered: list[LocalizedText]
    not_covered: list[LocalizedText]
    hypotheses: list[PlaybookHypothesisResponse]
    steps: list[PlaybookStepResponse]
    dead_ends: list[LocalizedText]
    remediations: list[RemediationResponse]
    verify: LocalizedText | None
    references: list[PlaybookReferenceResponse]


class PlaybookCheckRequest(BaseModel):
    """Playbook to validate, as YAML."""

    text: str = Field(max_length=256 * 1024)


class PlaybookProblemResponse(BaseModel):
    """One error and its location, such as `steps.slow-connect.branches`."""

    location: str
    what: MessageRef


class PlaybookCheckResponse(BaseModel):
    """Errors of a playbook, or the playbook if it is valid."""

    problems: list[PlaybookProblemResponse]
    playbook: PlaybookResponse | None


class StepAnswerResponse(BaseModel):
    """Verdict of one step, its origin, and the findings behind it."""

    step: str
    verdict: Verdict
    by: Literal["rule", "person", "none"]
    strength: str
    reason: MessageRef | None
    findings: list[Annotated[Json, DocumentedAs(FindingResponse)]]


class HypothesisStateResponse(BaseModel):
    """Status of a hypothesis and the steps that determine it."""

    hypothesis: str
    status: Literal["open", "supported", "refuted", "contested"]
    supports: list[str]
    refutes: list[str]
    strength: str


class StepProposalResponse(BaseModel):
    """Next step, its collectors, and the reason for it."""

    step: str
    collectors: list[str]
    tier: TierName
    why: MessageRef


class DryRunResponse(BaseModel):
    """Result of a dry run: the path, its gaps, the verdicts and the proposed next step."""

    playbook: str
    run_id: UUID
    path: list[str]
    gaps: list[str]
    next_playbook: str
    answers: list[StepAnswerResponse]
    hypotheses: list[HypothesisStateResponse]
    next: StepProposalResponse | None
