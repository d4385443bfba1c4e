"""What goes in and out about schedules and maintenance windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    Field,
    NaiveDatetime,
    StringConstraints,
    model_validator,
)

from culprit.auth.schemas import LabelName, LabelValue, Name, Strict
from culprit.captures.schemas import MAX_HOSTS, HostRef, OptionValues, ScopeGiven, UserRef

#: A shorter grace would call a busy scheduler late; a longer one is a catch-up by another name.
MIN_GRACE_S, MAX_GRACE_S = 30, 86_400
#: What is kept away for longer at a time is a host that should be retired, or a schedule that should be paused.
LONGEST = timedelta(days=90)

Sentence = dict[str, Any]
Labels = Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=10)]
Fields = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$", strip_whitespace=True)]
Zone = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,63}$")]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=400, strip_whitespace=True)]
Why = Annotated[
    str, StringConstraints(pattern=r"^[^\x00]+$", min_length=3, max_length=400, strip_whitespace=True)
]
Version = Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


def _of_our_time(at: datetime) -> datetime:
    if not 1970 <= at.year <= 2200:
        raise ValueError("not a time of a schedule")
    return at


Moment = Annotated[AwareDatetime, AfterValidator(_of_our_time)]
Wall = Annotated[NaiveDatetime, AfterValidator(_of_our_time)]


class Once(Strict):
    """At one wall-clock time of a zone."""

    kind: Literal["once"]
    wall: Wall
    zone: Zone


class Cron(Strict):
    """Five fields on the wall clock of a zone: minute, hour, day of month, month, day of week."""

    kind: Literal["cron"]
    cron: Fields
    zone: Zone


Cadence = Annotated[Once | Cron, Field(discriminator="kind")]


class Wanted(Strict):
    """What is captured each time, as a capture takes it."""

    plan: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,40}$")]
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    collectors: Annotated[list[Annotated[str, Field(max_length=40)]] | None, Field(max_length=60)] = None
    scope: ScopeGiven = ScopeGiven()
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = (
        Field(default_factory=dict)
    )


class Target(Strict):
    """Hosts by name, or all that have these labels when it is due."""

    host_ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_HOSTS)] = None
    labels: Labels | None = None

    @model_validator(mode="after")
    def one_of_both(self) -> Target:
        """Neither would be nothing, both would be unclear."""
        if (self.host_ids is None) == (self.labels is None):
            raise ValueError("either host_ids or labels")
        return self


class ScheduleCreate(Strict):
    """A schedule. `catch_up` `one`: what was missed while the platform was away is made up for by one capture."""

    name: Name
    cadence: Cadence
    wanted: Wanted
    target: Target
    reason: Reason = ""
    catch_up: Literal["one", "none"] = "none"
    grace_s: Annotated[int, Field(ge=MIN_GRACE_S, le=MAX_GRACE_S)] = 300
    allow_deep: bool = False


class ScheduleUpdate(Strict):
    """What is not mentioned stays. `version` is the one that the person saw."""

    version: Version
    name: Name | None = None
    cadence: Cadence | None = None
    wanted: Wanted | None = None
    target: Target | None = None
    reason: Reason | None = None
    catch_up: Literal["one", "none"] | None = None
    grace_s: Annotated[int | None, Field(ge=MIN_GRACE_S, le=MAX_GRACE_S)] = None
    allow_deep: bool | None = None
    paused: bool | None = None


class CadencePreview(Strict):
    """When would this be due?"""

    cadence: Cadence
    count: Annotated[int, Field(ge=1, le=50)] = 10
    target: Target | None = None


class WindowRef(BaseModel):
    """A maintenance window that holds a run back."""

    id: UUID
    reason: str
    ends_at: datetime


class Upcoming(BaseModel):
    """A due instant. `wall` is what the clock of the zone shows then, with its offset.

    `kind` is `gap` where the wanted time `wanted_wall` does not exist that day and `overlap` where it is there twice.
    `window` is the maintenance that will hold all hosts back.
    """

    at: datetime
    wall: datetime
    wanted_wall: str
    kind: Literal["plain", "gap", "overlap"]
    window: WindowRef | None = None


class CadenceRead(BaseModel):
    """When would it be due, and how the fields are understood."""

    cron: str | None
    zone: str
    upcoming: list[Upcoming]


class StartedCapture(BaseModel):
    """A capture that a schedule started."""

    id: UUID
    number: int
    state: str


class FiringRead(BaseModel):
    """What became of a due instant, or of `count` that were missed from `due_at` to `last_due_at`."""

    id: UUID
    due_at: datetime
    last_due_at: datetime
    count: int
    state: Literal["fired", "missed", "skipped", "refused"]
    reason: Sentence | None
    capture: StartedCapture | None
    at: datetime


class ScheduleRead(BaseModel):
    """A schedule with its next and its last due instants.

    `refusal` says why it would not start anything now: a right that its owner has lost, for one. `hosts` are those
    named one by one, `matching` how many it would capture now.
    """

    id: UUID
    name: str
    cadence: Cadence
    wanted: Wanted
    tier: str
    hosts: list[HostRef]
    labels: dict[str, str] | None
    matching: int
    reason: str
    catch_up: Literal["one", "none"]
    grace_s: int
    deep_allowed: bool
    state: Literal["active", "paused", "done"]
    next_due: datetime | None
    upcoming: list[Upcoming]
    recent: list[FiringRead]
    counts: dict[str, int]
    owner: UserRef
    refusal: Sentence | None
    version: int
    created_at: datetime
    updated_at: datetime


class Recurring(Strict):
    """Again and again: from each due instant of the fields, for so many minutes of elapsed time."""

    cron: Fields
    zone: Zone
    minutes: Annotated[int, Field(ge=1, le=LONGEST // timedelta(minutes=1))]


class MaintenanceCreate(Strict):
    """Maintenance on one host, on all with these labels, or, where neither is named, everywhere.

    With `recurs` only at its times; then `ends_at` may be left out, and it comes again until somebody ends it.
    """

    starts_at: Moment
    ends_at: Moment | None = None
    recurs: Recurring | None = None
    reason: Why
    host_id: UUID | None = None
    labels: Labels | None = None


class MaintenanceTime(BaseModel):
    """From when until when scheduled captures are held back. `kind` as of a due instant."""

    starts_at: datetime
    ends_at: datetime
    kind: Literal["plain", "gap", "overlap"]


class MaintenanceRead(BaseModel):
    """A maintenance window. `state` is as of now; `times` are the one that is on and those to come, the first few."""

    id: UUID
    starts_at: datetime
    ends_at: datetime | None
    recurs: Recurring | None
    times: list[MaintenanceTime]
    reason: str
    host: HostRef | None
    labels: dict[str, str] | None
    by: UserRef | None
    state: Literal["to_come", "now", "over"]
