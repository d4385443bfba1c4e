"""Responses about the evidence chain: hypotheses, steps with their answers, the next step."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel

from collectors.contract import TierName
from culprit.analysis.findings.schemas import FindingResponse
from culprit.analysis.playbooks.schemas import PrimaryNumberResponse
from culprit.domain.playbooks.model import Verdict
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, LocalizedText, MessageRef

By = Literal["rule", "person", "none"]


class PersonRef(BaseModel):
    """A user by name."""

    id: UUID
    name: str


class HypothesisResponse(BaseModel):
    """A hypothesis: the decision (`state`) and the status of its evidence. Steps are named by their keys."""

    id: UUID
    key: str
    summary: LocalizedText
    cause: str
    state: Literal["open", "refuted", "likely", "confirmed"]
    status: Literal["open", "supported", "refuted", "contested"]
    strength: str
    primary: PrimaryNumberResponse | None
    supports: list[str]
    refutes: list[str]


class PersonVerdictResponse(BaseModel):
    """A verdict of a user."""

    id: UUID
    verdict: Verdict
    by: PersonRef | None
    note: str
    at: datetime
    pins: list[UUID]


class HostAnswerResponse(BaseModel):
    """The answer of a step on one host.

    `verdict` is the effective one, `rule_verdict` that of the rule alone. `disagrees`: the user and the rule, or two
    users, disagree. `muted` findings do not count. `pins` are cited by the verdict of the user.
    """

    host_id: UUID
    run_id: UUID | None
    verdict: Verdict
    by: By
    rule_verdict: Verdict
    person: PersonVerdictResponse | None
    strength: str
    reason: MessageRef | None
    findings: list[Annotated[Json, DocumentedAs(FindingResponse)]]
    muted: list[Annotated[Json, DocumentedAs(FindingResponse)]]
    pins: list[UUID]
    disagrees: bool


class WaiverResponse(BaseModel):
    """A waiver or dismissal: the reason and the user."""

    reason: str
    by: PersonRef | None


class StepResponse(BaseModel):
    """A step and its answer on each host. `about` is the key of a hypothesis, or a gate; `verdict` is for all hosts."""

    key: str
    playbook: str
    step: str
    question: LocalizedText
    instructions: LocalizedText | None
    about: str
    finding: str
    on_path: bool
    verdict: Verdict
    waived: WaiverResponse | None
    hosts: list[HostAnswerResponse]


class CaptureCostResponse(BaseModel):
    """Estimated cost on the host: percent of one core, seconds, and collected bytes if known."""

    cpu_pct: float
    seconds: int
    bytes: int | None


class StepCommandResponse(BaseModel):
    """A command that will run. `why` is set if the step itself does not need it."""

    collector: str
    text: str
    why: MessageRef | None = None


class NextStepResponse(BaseModel):
    """The next step; without collectors a person must answer it."""

    step: str
    host_id: UUID
    collectors: list[str]
    tier: TierName
    cost: CaptureCostResponse
    commands: list[StepCommandResponse]
    why: MessageRef


class IncidentCauseResponse(BaseModel):
    """A likely or confirmed cause."""

    hypothesis: str
    cause: str
    confidence: Literal["likely", "confirmed"]
