"""Request bodies of incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from culprit.analysis.diagnoses.schemas import DEFAULT_SECONDS
from culprit.captures.schemas import OptionValues, ScopeRequest
from culprit.domain.playbooks.model import Better
from culprit.domain.verification.offers import VerificationKind

MAX_HOSTS = 50
MAX_PLAYBOOKS = 20
MAX_PINS = 50
#: No playbook has more steps.
MAX_STEPS = 100

OptionalLine = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=300, strip_whitespace=True)]
RequiredLine = Annotated[str, StringConstraints(pattern=r"^[^\x00]+$", max_length=300, strip_whitespace=True)]
LongText = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=8000)]
StepKey = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}/[a-z0-9-]{1,100}$")]
PlaybookId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}$")]
IncidentHostRole = Literal["suspect", "control", "dependency"]
IncidentState = Literal["open", "investigating", "identified", "mitigated", "resolved"]
RunRole = Literal["evidence", "before", "after", "control"]


def validate_time_range(at: datetime) -> datetime:
    if not 1970 <= at.year <= 2200:
        raise ValueError("expected a time between 1970 and 2200")
    return at


PlausibleTime = Annotated[AwareDatetime, AfterValidator(validate_time_range)]


class StrictRequest(BaseModel):
    """Refuse unknown fields."""

    model_config = ConfigDict(extra="forbid")


class VersionedRequest(StrictRequest):
    """A change of an incident, with the version that the user saw."""

    version: Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


class SymptomNumber(StrictRequest):
    """A number of the symptom, before and now. `unit` is free text: `ms`, `req/s`, `%`."""

    before: Annotated[float | None, Field(allow_inf_nan=False)] = None
    after: Annotated[float | None, Field(allow_inf_nan=False)] = None
    unit: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=20)] = ""


class Symptom(StrictRequest):
    """What users notice: the service, a description, and rate, errors and latency where known."""

    service: OptionalLine = ""
    description: LongText = ""
    rate: SymptomNumber | None = None
    errors: SymptomNumber | None = None
    latency: SymptomNumber | None = None
    since: PlausibleTime | None = None


class IncidentHostRequest(StrictRequest):
    """A host of the incident with its scope and role."""

    host_id: UUID
    scope: ScopeRequest = ScopeRequest()
    role: IncidentHostRole = "suspect"


class IncidentCreate(StrictRequest):
    """An incident. Everything except the title can be added later.

    `diagnosis_id` and `run_ids` add their hosts, runs and causes, and the playbooks that explain those causes.
    """

    title: RequiredLine
    symptom: Symptom = Symptom()
    severity: Annotated[int, Field(ge=1, le=4)] = 3
    window_from: PlausibleTime | None = None
    window_to: PlausibleTime | None = None
    hosts: Annotated[list[IncidentHostRequest], Field(max_length=MAX_HOSTS)] = []
    playbooks: Annotated[list[PlaybookId], Field(max_length=MAX_PLAYBOOKS)] = []
    diagnosis_id: UUID | None = None
    run_ids: Annotated[list[UUID], Field(max_length=MAX_HOSTS)] = []

    @model_validator(mode="after")
    def _validate_window(self) -> IncidentCreate:
        _require_order(self.window_from, self.window_to)
        return self


class IncidentUpdate(VersionedRequest):
    """Changed fields. `window_to` null: the incident continues. `reason` is required to return to an earlier state.

    `owner_id` null: the incident has no owner.
    """

    title: RequiredLine | None = None
    symptom: Symptom | None = None
    severity: Annotated[int | None, Field(ge=1, le=4)] = None
    state: IncidentState | None = None
    reason: LongText = ""
    owner_id: UUID | None = None
    window_from: PlausibleTime | None = None
    window_to: PlausibleTime | None = None

    @model_validator(mode="after")
    def _validate_window(self) -> IncidentUpdate:
        _require_order(self.window_from, self.window_to)
        return self


def _require_order(begin: datetime | None, end: datetime | None) -> None:
    if begin is not None and end is not None and end < begin:
        raise ValueError("the window ends before it begins")


class IncidentHostsCreate(VersionedRequest):
    """Hosts to add. For a host that the incident already has, scope and role change."""

    hosts: Annotated[list[IncidentHostRequest], Field(min_length=1, max_length=MAX_HOSTS)]


class IncidentPlaybooksCreate(VersionedRequest):
    """Playbooks to attach in their current version. An attached playbook is updated to it."""

    playbooks: Annotated[list[PlaybookId], Field(min_length=1, max_length=MAX_PLAYBOOKS)]


class IncidentPlaybookUpdate(VersionedRequest):
    """Dismiss a playbook with a reason for all its open steps, or restore it."""

    dismissed: bool
    reason: LongText = ""


class PrimaryNumberRequest(StrictRequest):
    """The number by which a fix is judged, and which direction is better."""

    read: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]{1,200}$")]
    better: Better


class HypothesisCreate(VersionedRequest):
    """A hypothesis of a user. `summary` is used for both languages."""

    summary: RequiredLine
    cause: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.-]{0,100}$")] = ""
    primary: PrimaryNumberRequest | None = None


class HypothesisUpdate(VersionedRequest):
    """The decision about a hypothesis."""

    state: Literal["open", "refuted", "likely", "confirmed"]
    note: LongText = ""


class VerdictCreate(VersionedRequest):
    """A verdict of a user for a step, with its pins. Without a host it applies to all hosts."""

    step: StepKey
    host_id: UUID | None = None
    verdict: Literal["supports", "refutes", "inconclusive"]
    pins: Annotated[list[UUID], Field(max_length=MAX_PINS)] = []
    note: LongText = ""


class VerdictWithdrawRequest(VersionedRequest):
    """Why the verdict is withdrawn."""

    note: LongText = ""


class WaiverCreate(VersionedRequest):
    """Steps of one playbook to waive, with the reason."""

    steps: Annotated[list[StepKey], Field(min_length=1, max_length=MAX_STEPS)]
    reason: LongText


class NoteCreate(VersionedRequest):
    """A note for the journal."""

    note: Annotated[str, StringConstraints(pattern=r"^[^\x00]+$", max_length=8000, strip_whitespace=True)]


class IncidentRunsCreate(VersionedRequest):
    """Runs to add to the incident."""

    run_ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_HOSTS)]
    role: RunRole = "evidence"
    step: StepKey | None = None


class IncidentDiagnosisCreate(StrictRequest):
    """A diagnosis of a host of the incident. `seconds`: the length of its first stage."""

    host_id: UUID
    seconds: Annotated[int, Field(ge=5, le=60)] = DEFAULT_SECONDS


class CauseConfirmation(VersionedRequest):
    """A user agrees with a cause that a diagnosis of the incident names."""

    diagnosis_id: UUID
    cause: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}$")]


class CauseRejectionCreate(VersionedRequest):
    """A cause that was wrong, and the correct one if it is known."""

    cause: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.-]{1,100}$")]
    true_cause: Annotated[str | None, StringConstraints(pattern=r"^[a-z0-9_.-]{1,100}$")] = None
    pins: Annotated[list[UUID], Field(max_length=MAX_PINS)] = []
    note: LongText = ""


class FixCreate(VersionedRequest):
    """A fix, on its own or after a remediation (`playbook/remediation`), whose texts fill empty fields."""

    hypothesis_id: UUID | None = None
    remediation: Annotated[str, StringConstraints(pattern=r"^([a-z0-9-]{1,100}/[a-z0-9-]{1,100})?$")] = ""
    what: LongText = ""
    host_ids: Annotated[list[UUID], Field(max_length=MAX_HOSTS)] = []
    command: LongText = ""
    risk: LongText = ""
    rollback: LongText = ""


class FixUpdate(VersionedRequest):
    """Mark a fix as applied or rolled back, or edit its texts. Its outcome comes from verifications only."""

    state: Literal["applied", "reverted"] | None = None
    applied_at: PlausibleTime | None = None
    what: LongText | None = None
    command: LongText | None = None
    risk: LongText | None = None
    rollback: LongText | None = None


class VerificationCreate(VersionedRequest):
    """How to judge a fix. `minimum_change` is the smallest relevant change, as a share of the value before."""

    kind: VerificationKind = "plain"
    control_host_id: UUID | None = None
    minimum_change: Annotated[float | None, Field(gt=0, le=100)] = None


class StepRunRequest(VersionedRequest):
    """Capture the data that a step needs on a host. `options` as in a capture; `confirm` if the tier requires it.

    `full_triage`: also run the triage collectors, which can reveal another cause after a fix.
    """

    step: StepKey
    host_id: UUID
    full_triage: bool = False
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = {}
    confirm: Annotated[str | None, Field(max_length=253)] = None


class AutopilotStartRequest(VersionedRequest):
    """Start the autopilot, up to this tier."""

    tier: Literal["light", "standard", "deep"] = "standard"


class MuteCreate(StrictRequest):
    """A rule to mute on a host, with the reason and the end."""

    host_id: UUID
    rule: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,60}$")]
    reason: LongText
    expires_at: PlausibleTime
