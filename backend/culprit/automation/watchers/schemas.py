"""Requests and responses of watchers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from collectors.contract import TierName
from collectors.runner.watcher import HISTORY_MAX, LIMIT_MAX, MAX_CONDITIONS, ConditionOperator, ConditionType
from culprit.captures.schemas import OptionValues, ScopeRequest
from culprit.domain.runs.states import RunState
from culprit.web.schemas import HostRef, LocalizedText, MessageRef, RequestModel, UserRef

#: A forgotten watcher ends within a day.
MAX_HOURS = 24.0
WatcherKind = Literal["lookback", "conditional"]
Hours = Annotated[float, Field(gt=0, le=MAX_HOURS)]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=400, strip_whitespace=True)]


class ConditionRequest(RequestModel):
    """Holds when `required_hits` of the last `window_readings` readings, one a second, are over or under the limit.

    A start condition (`…_start`) takes only a key.
    """

    kind: ConditionType
    key: Annotated[str, Field(max_length=1024)] = ""
    op: ConditionOperator = "over"
    limit: Annotated[float, Field(ge=0, le=LIMIT_MAX, allow_inf_nan=False)] = 1.0
    required_hits: Annotated[int, Field(ge=1, le=HISTORY_MAX)] = 1
    window_readings: Annotated[int, Field(ge=1, le=HISTORY_MAX)] = 1


class LookbackWatcherCreate(RequestModel):
    """Keep the last `seconds` on a host for `hours`. `stacks` requires that the host allows the standard tier."""

    kind: Literal["lookback"]
    host_id: UUID
    hours: Hours = 8.0
    seconds: Annotated[int, Field(ge=60, le=1800)] = 600
    stacks: bool = False
    reason: Reason = ""


class ConditionalWatcherCreate(RequestModel):
    """Capture a host when one of the conditions begins to hold, at most `max_captures` times within `hours`.

    With `incident_id`, the captures become evidence of that incident; the host must be part of it.
    """

    kind: Literal["conditional"]
    host_id: UUID
    hours: Hours = 4.0
    conditions: Annotated[list[ConditionRequest], Field(min_length=1, max_length=MAX_CONDITIONS)]
    plan: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,40}$")] = "triage"
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    collectors: Annotated[list[Annotated[str, Field(max_length=40)]] | None, Field(max_length=60)] = None
    scope: ScopeRequest = ScopeRequest()
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = (
        Field(default_factory=dict)
    )
    max_captures: Annotated[int, Field(ge=1, le=10)] = 1
    cooldown_s: Annotated[int, Field(ge=60, le=86_400)] = 600
    reason: Reason = ""
    incident_id: UUID | None = None


WatcherCreate = Annotated[LookbackWatcherCreate | ConditionalWatcherCreate, Field(discriminator="kind")]


class ConditionResponse(BaseModel):
    """A condition with its unit. `is_start`: it holds when something starts."""

    kind: ConditionType
    key: str
    op: ConditionOperator
    limit: float
    required_hits: int
    window_readings: int
    unit: str
    is_start: bool


class WatcherCaptureSpec(BaseModel):
    """The capture that a conditional watcher starts."""

    plan: str
    seconds: int | None
    tier: TierName
    scope: ScopeRequest


class WatcherCost(BaseModel):
    """What a watcher uses on the host: percent of one core over the last minute, memory, and buffer size."""

    cpu_pct: float | None
    cpu_ms: float
    rss_kb: float
    lookback_bytes: float


class ConditionReadingsResponse(BaseModel):
    """The last readings of each condition, one every `step_s`; the newest is from `at`. Null means no data."""

    at: datetime
    step_s: float
    values: list[list[float | None]]


class CaptureRejection(BaseModel):
    """A capture that was not started, and why."""

    at: datetime
    reason: MessageRef


class WatcherCapture(BaseModel):
    """A capture that a watcher started."""

    id: UUID
    number: int
    state: RunState
    created_at: datetime


class WatcherIncident(BaseModel):
    """The incident that receives the captures as evidence."""

    id: UUID
    number: int


class WatcherResponse(BaseModel):
    """A watcher. `buffered_s` is the number of consecutive seconds in its look-back buffer."""

    id: UUID
    number: int
    kind: WatcherKind
    host: HostRef
    state: Literal["waiting", "watching", "completed", "expired", "canceled", "failed"]
    reason: str
    lookback_s: int
    stacks: bool
    buffered_s: float | None
    conditions: list[ConditionResponse]
    capture: WatcherCaptureSpec | None
    incident: WatcherIncident | None
    capture_count: int
    max_captures: int
    cooldown_s: int
    last_capture_at: datetime | None
    captures: list[WatcherCapture]
    rejection: CaptureRejection | None
    expires_at: datetime
    requested_by: UserRef | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    interruption_count: int
    wait_reason: MessageRef | None
    failure: MessageRef | None
    cost: WatcherCost | None
    readings: ConditionReadingsResponse | None


class ConditionKindResponse(BaseModel):
    """A kind of condition. `key` is a regular expression that the whole key must match."""

    kind: ConditionType
    title: LocalizedText
    unit: str
    key: str
    example: str
    is_start: bool
