"""What goes in and out about standbys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from collectors.standby import HISTORY_MAX, LIMIT_MAX, MAX_CONDITIONS, Kind, Op
from culprit.auth.schemas import Strict
from culprit.captures.schemas import HostRef, OptionValues, ScopeGiven, UserRef

#: Nothing waits longer: what was armed and forgotten is over on the next day.
MAX_HOURS = 24.0
Sentence = dict[str, Any]
Hours = Annotated[float, Field(gt=0, le=MAX_HOURS)]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=400, strip_whitespace=True)]


class ConditionGiven(Strict):
    """Holds where `hits` of the last `of` readings, one a second, are over or under the limit.

    Something that starts (`…_start`) takes a key alone.
    """

    kind: Kind
    key: Annotated[str, Field(max_length=1024)] = ""
    op: Op = "over"
    limit: Annotated[float, Field(ge=0, le=LIMIT_MAX, allow_inf_nan=False)] = 1.0
    hits: Annotated[int, Field(ge=1, le=HISTORY_MAX)] = 1
    of: Annotated[int, Field(ge=1, le=HISTORY_MAX)] = 1


class RingCreate(Strict):
    """Keep the last `seconds` on a host, for `hours`. `stacks` needs the standard tier to be allowed for the host."""

    kind: Literal["ring"]
    host_id: UUID
    hours: Hours = 8.0
    seconds: Annotated[int, Field(ge=60, le=1800)] = 600
    stacks: bool = False
    reason: Reason = ""


class ArmedCreate(Strict):
    """Capture a host as soon as one of the conditions begins to hold, at most `fires_max` times within `hours`.

    With `incident_id`, of an incident that the host is part of, what is captured is evidence there.
    """

    kind: Literal["armed"]
    host_id: UUID
    hours: Hours = 4.0
    conditions: Annotated[list[ConditionGiven], Field(min_length=1, max_length=MAX_CONDITIONS)]
    plan: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,40}$")] = "triage"
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    collectors: Annotated[list[Annotated[str, Field(max_length=40)]] | None, Field(max_length=60)] = None
    scope: ScopeGiven = ScopeGiven()
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = (
        Field(default_factory=dict)
    )
    fires_max: Annotated[int, Field(ge=1, le=10)] = 1
    cooldown_s: Annotated[int, Field(ge=60, le=86_400)] = 600
    reason: Reason = ""
    incident_id: UUID | None = None


StandbyCreate = Annotated[RingCreate | ArmedCreate, Field(discriminator="kind")]


class ConditionRead(BaseModel):
    """A condition with its unit."""

    kind: str
    key: str
    op: Op
    limit: float
    hits: int
    of: int
    unit: str
    starts: bool


class WantedRead(BaseModel):
    """What is captured when it fires."""

    plan: str
    seconds: int | None
    tier: str
    scope: ScopeGiven


class CostRead(BaseModel):
    """What it takes of the host: percent of one core over the last minute, memory, and what the ring holds."""

    cpu_pct: float | None
    cpu_ms: float
    rss_kb: float
    ring_bytes: float


class ReadingsRead(BaseModel):
    """The last readings of each condition, one every `step_s`, the newest at `at`; null is no data."""

    at: datetime
    step_s: float
    values: list[list[float | None]]


class RefusedRead(BaseModel):
    """A start that did not happen, and why."""

    at: datetime
    sentence: Sentence


class StartedCapture(BaseModel):
    """A capture that it started."""

    id: UUID
    number: int
    state: str
    at: datetime


class IncidentRef(BaseModel):
    """The incident that a capture was armed for."""

    id: UUID
    number: int


class StandbyRead(BaseModel):
    """Something that waits, or did. `kept_s`: for how long a ring has been keeping without an interruption."""

    id: UUID
    number: int
    kind: Literal["ring", "armed"]
    host: HostRef
    state: str
    reason: str
    ring_s: int
    stacks: bool
    kept_s: float | None
    conditions: list[ConditionRead]
    wanted: WantedRead | None
    incident: IncidentRef | None
    fires: int
    fires_max: int
    cooldown_s: int
    fired_at: datetime | None
    captures: list[StartedCapture]
    refused: RefusedRead | None
    until: datetime
    by: UserRef | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    interrupted: int
    waiting: Sentence | None
    failure: Sentence | None
    cost: CostRead | None
    readings: ReadingsRead | None


class ConditionKind(BaseModel):
    """A kind of condition that may be waited for. `key` is an expression that the whole key must match."""

    kind: Kind
    title: dict[str, str]
    unit: str
    key: str
    example: str
    starts: bool
