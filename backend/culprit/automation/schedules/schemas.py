"""Requests and responses of schedules and maintenance windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    StringConstraints,
    model_validator,
)

from collectors.contract import TierName
from culprit.accounts.schemas import LabelName, LabelValue, Name
from culprit.captures.schemas import MAX_HOSTS, OptionValues, ScopeRequest
from culprit.web.schemas import HostRef, MessageRef, RequestModel, UserRef

#: A shorter tolerance would miss times when the scheduler is busy; for a longer one, use `catch_up`.
MIN_TOLERANCE_S, MAX_TOLERANCE_S = 30, 86_400
#: For a longer time, retire the host or pause the schedule.
MAX_WINDOW = timedelta(days=90)

Labels = Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=10)]
CronFields = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$", strip_whitespace=True)]
ZoneName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,63}$")]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=400, strip_whitespace=True)]
RequiredReason = Annotated[
    str, StringConstraints(pattern=r"^[^\x00]+$", min_length=3, max_length=400, strip_whitespace=True)
]
Version = Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


def _validate_time_range(at: datetime) -> datetime:
    if not 1970 <= at.year <= 2200:
        raise ValueError("not a time of a schedule")
    return at


Timestamp = Annotated[AwareDatetime, AfterValidator(_validate_time_range)]
LocalTime = Annotated[NaiveDatetime, AfterValidator(_validate_time_range)]


class OnceCadence(RequestModel):
    """Once, at a local time of a zone."""

    kind: Literal["once"]
    local_time: LocalTime
    zone: ZoneName


class CronCadence(RequestModel):
    """Five fields in the local time of a zone: minute, hour, day of month, month, day of week."""

    kind: Literal["cron"]
    cron: CronFields
    zone: ZoneName


Cadence = Annotated[OnceCadence | CronCadence, Field(discriminator="kind")]


class ScheduledCapture(RequestModel):
    """The capture that is started each time."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    plan: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,40}$")]
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    collectors: Annotated[list[Annotated[str, Field(max_length=40)]] | None, Field(max_length=60)] = None
    scope: ScopeRequest = ScopeRequest()
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = (
        Field(default_factory=dict)
    )


class ScheduleTarget(RequestModel):
    """Hosts by ID, or all that have these labels at the due time."""

    host_ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_HOSTS)] = None
    labels: Labels | None = None

    @model_validator(mode="after")
    def require_single_target(self) -> ScheduleTarget:
        """Require exactly one of the two."""
        if (self.host_ids is None) == (self.labels is None):
            raise ValueError("either host_ids or labels")
        return self


class ScheduleCreate(RequestModel):
    """A schedule. With `catch_up` `one`, one capture replaces all that were missed while the platform was down."""

    name: Name
    cadence: Cadence
    capture: ScheduledCapture
    target: ScheduleTarget
    reason: Reason = ""
    catch_up: Literal["one", "none"] = "none"
    tolerance_s: Annotated[int, Field(ge=MIN_TOLERANCE_S, le=MAX_TOLERANCE_S)] = 300
    allow_deep: bool = False


class ScheduleUpdate(RequestModel):
    """A change; fields that are absent are kept. `version` is the version that the user has read."""

    version: Version
    name: Name | None = None
    cadence: Cadence | None = None
    capture: ScheduledCapture | None = None
    target: ScheduleTarget | None = None
    reason: Reason | None = None
    catch_up: Literal["one", "none"] | None = None
    tolerance_s: Annotated[int | None, Field(ge=MIN_TOLERANCE_S, le=MAX_TOLERANCE_S)] = None
    allow_deep: bool | None = None
    paused: bool | None = None


class CadencePreviewRequest(RequestModel):
    """A cadence whose due times are previewed."""

    cadence: Cadence
    count: Annotated[int, Field(ge=1, le=50)] = 10
    target: ScheduleTarget | None = None


class MaintenanceWindowRef(BaseModel):
    """A maintenance window that prevents a capture."""

    id: UUID
    reason: str
    ends_at: datetime


class UpcomingTime(BaseModel):
    """A due time. `local_time` is the local time in the zone, with its offset.

    `kind` is `gap` if the requested local time `requested_local_time` does not exist that day, `overlap` if it occurs
    twice. `window` is set if maintenance covers all hosts.
    """

    at: datetime
    local_time: datetime
    requested_local_time: str
    kind: Literal["plain", "gap", "overlap"]
    window: MaintenanceWindowRef | None = None


class CadencePreviewResponse(BaseModel):
    """The due times of a cadence, and its normalized fields."""

    cron: str | None
    zone: str
    upcoming: list[UpcomingTime]


class StartedCapture(BaseModel):
    """A capture that a schedule started."""

    id: UUID
    number: int
    state: str


class ScheduleFiringResponse(BaseModel):
    """Result of a due time, or of `count` missed ones from `due_at` to `last_due_at`."""

    id: UUID
    due_at: datetime
    last_due_at: datetime
    count: int
    state: Literal["started", "missed", "skipped", "refused"]
    reason: MessageRef | None
    capture: StartedCapture | None
    at: datetime


class ScheduleResponse(BaseModel):
    """A schedule with its next due times and latest results.

    `refusal` is the reason why it could not start a capture now, for example because its owner lost a permission.
    `hosts` are those listed by ID; `matching` is the number of hosts that it would capture now.
    """

    id: UUID
    name: str
    cadence: Cadence
    capture: ScheduledCapture
    tier: TierName
    hosts: list[HostRef]
    labels: dict[str, str] | None
    matching: int
    reason: str
    catch_up: Literal["one", "none"]
    tolerance_s: int
    deep_allowed: bool
    state: Literal["active", "paused", "done"]
    next_due: datetime | None
    upcoming: list[UpcomingTime]
    recent: list[ScheduleFiringResponse]
    counts: dict[str, int]
    owner: UserRef
    refusal: MessageRef | None
    version: int
    created_at: datetime
    updated_at: datetime


class MaintenanceRecurrence(RequestModel):
    """A recurrence: from each due time of the fields, for this many elapsed minutes."""

    cron: CronFields
    zone: ZoneName
    minutes: Annotated[int, Field(ge=1, le=MAX_WINDOW // timedelta(minutes=1))]


class MaintenanceWindowCreate(RequestModel):
    """A window on one host, on all hosts with these labels, or, without both, on all hosts.

    With `recurs`, only at its times; without `ends_at` it recurs until a user ends it.
    """

    starts_at: Timestamp
    ends_at: Timestamp | None = None
    recurs: MaintenanceRecurrence | None = None
    reason: RequiredReason
    host_id: UUID | None = None
    labels: Labels | None = None


class MaintenanceTime(BaseModel):
    """A time without scheduled captures. `kind` as of a due time."""

    starts_at: datetime
    ends_at: datetime
    kind: Literal["plain", "gap", "overlap"]


class MaintenanceWindowResponse(BaseModel):
    """A maintenance window. `state` is the current state; `times` are the current one and the next few."""

    id: UUID
    starts_at: datetime
    ends_at: datetime | None
    recurs: MaintenanceRecurrence | None
    times: list[MaintenanceTime]
    reason: str
    host: HostRef | None
    labels: dict[str, str] | None
    by: UserRef | None
    state: Literal["upcoming", "active", "ended"]
