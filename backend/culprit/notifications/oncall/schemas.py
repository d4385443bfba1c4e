"""What goes in and out about who is on call."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    Field,
    SecretStr,
    StringConstraints,
)

from culprit.auth.schemas import Name, Role, Strict

Sentence = dict[str, Any]
Zone = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,63}$")]
Handover = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=400, strip_whitespace=True)]
There = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,400}$", strip_whitespace=True)]
PagerId = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,30}$")]
Version = Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


def _of_our_time(at: datetime) -> datetime:
    if not 1970 <= at.year <= 2200:
        raise ValueError("not a time of a turn")
    return at


def _day_of_our_time(day: date) -> date:
    if not 1970 <= day.year <= 2200:
        raise ValueError("not a day of a turn")
    return day


def _printable(secret: SecretStr) -> SecretStr:
    """It goes into a request as it is: printable, without spaces."""
    if not all("!" <= c <= "~" for c in secret.get_secret_value()):
        raise ValueError("printable ASCII characters and no spaces")
    return secret


Moment = Annotated[AwareDatetime, AfterValidator(_of_our_time)]
Day = Annotated[date, AfterValidator(_day_of_our_time)]
Secret = Annotated[SecretStr, Field(min_length=1, max_length=2000), AfterValidator(_printable)]


class Simple(Strict):
    """Handed over every so many days, at one time of the clock of a zone, to the next of these accounts."""

    kind: Literal["simple"]
    people: Annotated[list[UUID], Field(min_length=1, max_length=100)]
    first_day: Day
    days: Annotated[int, Field(ge=1, le=366)] = 7
    handover: Handover = "09:00"
    zone: Zone = "UTC"


class CalendarFrom(Strict):
    """An iCalendar that is fetched from `url`, or uploaded afterwards. `zone` is for what names none itself.

    The address of such a calendar is a secret as a rule, and kept like one.
    """

    kind: Literal["calendar"]
    url: Secret | None = None
    zone: Zone = "UTC"


class PagerDuty(Strict):
    """On-calls of PagerDuty (REST, version 2), of these schedules and escalation policies, or of all."""

    kind: Literal["pagerduty"]
    url: Url = "https://api.pagerduty.com"
    token: Secret | None = None
    schedules: Annotated[list[PagerId], Field(max_length=20)] = Field(default_factory=list)
    policies: Annotated[list[PagerId], Field(max_length=20)] = Field(default_factory=list)


Origin = Annotated[Simple | CalendarFrom | PagerDuty, Field(discriminator="kind")]
Accounts = Annotated[dict[There, UUID], Field(max_length=200)]


class RotationCreate(Strict):
    """A rotation. `accounts` says which account a name or address there stands for."""

    name: Name
    origin: Origin
    accounts: Accounts = Field(default_factory=dict)


class RotationUpdate(Strict):
    """What is not mentioned stays; so does a secret, unless another server is named."""

    version: Version
    name: Name | None = None
    origin: Origin | None = None
    accounts: Accounts | None = None


class OverrideCreate(Strict):
    """This account takes over for a while."""

    user_id: UUID
    starts_at: Moment
    ends_at: Moment
    reason: Reason = ""


class Person(BaseModel):
    """An account, and what its role is: what somebody on call may do follows from that alone."""

    id: UUID
    name: str
    role: Role
    disabled: bool


class TurnRead(BaseModel):
    """Somebody is on call. `end` is null where no end is known, `person` where no account is known by that name."""

    start: datetime
    end: datetime | None
    who: str
    person: Person | None
    how: Literal["rotation", "calendar", "override"]
    level: int


class OverrideRead(BaseModel):
    """Who takes over, and for how long."""

    id: UUID
    person: Person | None
    starts_at: datetime
    ends_at: datetime
    reason: str


class RotationRead(BaseModel):
    """A rotation with its turns of the next weeks. `source` is what may be shown of where they come from.

    `failure` says why the last fetch brought nothing; the turns are those of `fetched_at` then.
    """

    id: UUID
    name: str
    kind: Literal["simple", "calendar", "pagerduty"]
    zone: str
    handover: str
    first_day: date | None
    days: int
    people: list[Person]
    source: dict[str, Any]
    has_secret: bool
    accounts: dict[str, UUID]
    overrides: list[OverrideRead]
    now: list[TurnRead]
    next: TurnRead | None
    turns: list[TurnRead]
    fetched_at: datetime | None
    failure: Sentence | None
    version: int


class RotationRef(BaseModel):
    """A rotation by name."""

    id: UUID
    name: str


class OncallRead(BaseModel):
    """Who is on call in one rotation, and who is next."""

    rotation: RotationRef
    now: list[TurnRead]
    next: TurnRead | None
    fetched_at: datetime | None
    failure: Sentence | None


class Colleague(BaseModel):
    """Somebody who can be put on call."""

    id: UUID
    name: str
    role: Role
