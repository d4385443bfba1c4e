"""Responses about incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, RootModel

from collectors.contract import TierName
from culprit.analysis.playbooks.schemas import PrimaryNumberResponse
from culprit.domain.playbooks.relevance import PlaybookState
from culprit.domain.runs.states import RunState
from culprit.domain.verification.offers import VerificationKind
from culprit.incidents.records.requests import IncidentHostRole, IncidentState, RunRole, Symptom
from culprit.incidents.responses.chain_schemas import (
    HypothesisResponse,
    IncidentCauseResponse,
    NextStepResponse,
    PersonRef,
    StepResponse,
    WaiverResponse,
)
from culprit.incidents.responses.verification_schemas import VerificationResult
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, LocalizedText, Message, MessageRef

PinState = Literal["intact", "altered", "gone"]
FixState = Literal["planned", "applied", "verified", "no_effect", "worse", "no_conclusion", "reverted"]


class ParticipantResponse(PersonRef):
    """A user who takes part; `is_present`: has the incident open now."""

    is_present: bool


class IncidentWindowResponse(BaseModel):
    """Start and end of the problem; `to` null: it continues."""

    from_: datetime
    to: datetime | None

    model_config = {"populate_by_name": True, "alias_generator": lambda name: name.rstrip("_")}


class IncidentHostResponse(BaseModel):
    """A host of the incident. `can_capture` is false for an imported or removed host."""

    id: UUID
    name: str
    scope: dict[str, str]
    role: IncidentHostRole
    can_capture: bool


class IncidentPlaybookResponse(BaseModel):
    """A playbook of the incident; `current`: the catalog still has this version.

    `state`: the steps of an `active` playbook must be answered before the incident can be resolved. `refuted`: none
    of its hypotheses is open. `dismissed`: a user dismissed it; this has no effect while a likely or confirmed cause
    comes from it.
    """

    id: str
    digest: str
    title: LocalizedText
    current: bool
    state: PlaybookState
    dismissed: WaiverResponse | None


class VerificationResponse(BaseModel):
    """One comparison of before and after. `before` are runs; `captures_before` and `after` are its own captures."""

    id: UUID
    kind: VerificationKind
    primary: PrimaryNumberResponse | None
    minimum_change: float | None
    before: list[UUID]
    captures_before: list[UUID]
    after: list[UUID]
    control_host_id: UUID | None
    state: Literal["before", "waiting", "collecting", "judging", "done", "failed", "canceled"]
    result: Annotated[Json, DocumentedAs(VerificationResult)] | None
    failure: MessageRef | None
    requested_by: PersonRef | None
    created_at: datetime
    ended_at: datetime | None


class VerificationOfferResponse(BaseModel):
    """A way to verify a fix, why it is reliable, and what is missing for it (null if it is possible)."""

    kind: VerificationKind
    reason: MessageRef
    refusal: MessageRef | None


class FixResponse(BaseModel):
    """A planned or applied change."""

    id: UUID
    hypothesis_id: UUID | None
    remediation: str
    what: str
    hosts: list[UUID]
    command: str
    risk: str
    rollback: str
    applied_at: datetime | None
    state: FixState
    by: PersonRef | None
    created_at: datetime
    verifications: list[VerificationResponse]
    offers: list[VerificationOfferResponse]


class PinResponse(BaseModel):
    """Evidence with a snapshot of its content at the time of pinning."""

    id: UUID
    kind: Literal["range", "frame", "row", "line", "comparison"]
    ref: Json
    view: str
    snapshot: Json
    artifact: str | None
    step: str | None
    by: PersonRef | None
    created_at: datetime


class PinCheckResponse(PinResponse):
    """A pin and the state of the artifacts that it cites; null if it cites none."""

    state: PinState | None


class IncidentRunResponse(BaseModel):
    """A run of the incident. `from` and `to` are its time of measurement."""

    run_id: UUID
    capture_id: UUID
    number: int
    host_id: UUID | None
    role: RunRole
    step: str | None
    fix_id: UUID | None
    plan: str
    from_: datetime | None
    to: datetime | None
    state: RunState

    model_config = {"populate_by_name": True, "alias_generator": lambda name: name.removesuffix("_")}


class CauseRejectionResponse(BaseModel):
    """A rejected cause: the correct cause if known, the reason, and the pins that show it."""

    cause: str
    true_cause: str | None
    note: str
    pins: list[UUID]
    by: PersonRef | None


class IncidentPermissions(BaseModel):
    """Permissions of the actor on this incident."""

    edit: bool
    comment: bool
    resolve: bool
    capture: bool
    tiers: list[str]
    mute: bool
    autopilot: bool
    bundle: bool


class AutopilotResponse(BaseModel):
    """State of the autopilot: its number of captures, the last capture with its step, and why it stopped."""

    state: Literal["running", "stopped"]
    tier: TierName
    capture_count: int
    by: PersonRef | None
    capture_id: UUID | None
    step: str | None
    reason: MessageRef | None


class VerdictCountResponse(BaseModel):
    """How many verdicts of a kind are equal to the original ones."""

    equal: int
    total: int


class VerdictDifferenceResponse(BaseModel):
    """A verdict that differs from the original one; null: no verdict. `why` is the most likely reason.

    `on` is a run for a rule, a host for a step.
    """

    kind: Literal["rule", "step", "hypothesis"]
    about: str
    on: str
    original: str | None
    local: str | None
    why: Literal["left_out", "muted", "rules", "unknown"]


class ImportComparisonResponse(BaseModel):
    """Original and local verdicts of rules, steps and hypotheses; `differences` has at most 200."""

    rule: VerdictCountResponse
    step: VerdictCountResponse
    hypothesis: VerdictCountResponse
    differences: list[VerdictDifferenceResponse]
    difference_count: int


class IncidentOriginResponse(BaseModel):
    """Where an imported incident is from. `compared` is null until its runs are parsed and evaluated here.

    `authors` has the names of its original authors, who have no account here, by the ID of the item that they created.
    The key of a waiver is its step, that of a dismissed playbook `playbook <id>`.
    """

    culprit: str
    number: int
    redacted: bool
    written_at: datetime
    imported_at: datetime
    imported_by: PersonRef | None
    compared: ImportComparisonResponse | None
    authors: dict[str, str]


class StateTimeResponse(BaseModel):
    """When the incident reached a state."""

    state: IncidentState
    at: datetime


class IncidentDiagnosisResponse(BaseModel):
    """A diagnosis that was started for the incident; `GET /diagnoses/{id}` has its stages and its answer."""

    id: UUID
    number: int
    host_id: UUID
    state: Literal["running", "done", "failed", "canceled"]
    created_at: datetime


class IncidentResponse(BaseModel):
    """An incident. `created_id` is the ID of the object that this request created.

    `gaps` are the open steps on the paths of active playbooks: neither answered nor waived.
    `owner` leads the investigation: by default the user who first moves the incident to another state.
    `times` has the states up to the current one, with the time at which each was reached last.
    `diagnoses` are the newest ones of this incident, the newest first.
    `needs_symptom_check`: a fix was verified and the incident is not resolved; check whether the symptom is gone.
    """

    id: UUID
    number: int
    title: str
    state: IncidentState
    severity: Literal[1, 2, 3, 4]
    version: int
    created_by: PersonRef | None
    owner: PersonRef | None
    created_at: datetime
    updated_at: datetime
    resolved_at: datetime | None
    times: list[StateTimeResponse]
    symptom: Symptom
    window: IncidentWindowResponse
    hosts: list[IncidentHostResponse]
    people: list[ParticipantResponse]
    playbooks: list[IncidentPlaybookResponse]
    hypotheses: list[HypothesisResponse]
    steps: list[StepResponse]
    gaps: list[str]
    next_playbooks: list[str]
    next: NextStepResponse | None
    causes: list[IncidentCauseResponse]
    rejected_causes: list[CauseRejectionResponse]
    fixes: list[FixResponse]
    pins: list[PinResponse]
    runs: list[IncidentRunResponse]
    diagnoses: list[IncidentDiagnosisResponse]
    permissions: IncidentPermissions
    autopilot: AutopilotResponse | None
    needs_symptom_check: bool
    origin: IncidentOriginResponse | None = None
    created_id: UUID | None = None


class IncidentSummary(BaseModel):
    """An incident in a list."""

    id: UUID
    number: int
    title: str
    state: IncidentState
    severity: Literal[1, 2, 3, 4]
    version: int
    symptom: Symptom
    window: IncidentWindowResponse
    hosts: list[str]
    people: int
    owner: PersonRef | None
    causes: list[IncidentCauseResponse]
    fixes: list[FixState]
    created_at: datetime
    updated_at: datetime
    resolved_at: datetime | None


class JournalParams(RootModel[dict[str, str | float | Message]]):
    """Parameters of a journal entry: text, numbers, and the message that explains a refusal."""


class JournalEntryResponse(BaseModel):
    """One entry of the journal. `kind` is the key of its message (`journal.*`); `by` null: Culprit."""

    id: UUID
    version: int
    kind: str
    params: Annotated[Json, DocumentedAs(JournalParams)]
    note: str
    by: PersonRef | None
    at: datetime


class MuteResponse(BaseModel):
    """A muted rule on a host."""

    id: UUID
    host_id: UUID
    host: str
    rule: str
    reason: str
    expires_at: datetime
    by: PersonRef | None
    created_at: datetime
    active: bool


class CauseOutcomeResponse(BaseModel):
    """How often a cause was right and wrong; `instead` counts the correct causes."""

    cause: str
    right: int
    wrong: int
    instead: dict[str, int]
