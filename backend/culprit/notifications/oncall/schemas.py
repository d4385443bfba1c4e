"""Requests and responses of on-call rotations."""

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

from culprit.accounts.schemas import Name, Role
from culprit.web.schemas import MessageRef, RequestModel

Zone = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,63}$")]
Handover = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=400, strip_whitespace=True)]
ExternalName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,400}$", strip_whitespace=True)]
PagerId = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,30}$")]
Version = Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


def validate_time_range(at: datetime) -> datetime:
    if not 1970 <= at.year <= 2200:
        raise ValueError("not a time of a turn")
    return at


def validate_day_range(day: date) -> date:
    if not 1970 <= day.year <= 2200:
        raise ValueError("not a day of a turn")
    return day


def _printable(secret: SecretStr) -> SecretStr:
    """Require printable text without spaces, because it becomes part of a request."""
    if not all("!" <= c <= "~" for c in secret.get_secret_value()):
        raise ValueError("printable ASCII characters and no spaces")
    return secret


Moment = Annotated[AwareDatetime, AfterValidator(validate_time_range)]
Day = Annotated[date, AfterValidator(validate_day_range)]
Secret = Annotated[SecretStr, Field(min_length=1, max_length=2000), AfterValidator(_printable)]


class SimpleSource(RequestModel):
    """A rotation that hands over every few days, at one local time of a zone, to the next account."""

    kind: Literal["simple"]
    people: Annotated[list[UUID], Field(min_length=1, max_length=100)]
    first_day: Day
    days: Annotated[int, Field(ge=1, le=366)] = 7
    handover: Handover = "09:00"
    zone: Zone = "UTC"


class CalendarSource(RequestModel):
    """An iCalendar that is fetched from `url`, or uploaded. `zone` applies to times without a zone.

    The address usually grants access to the calendar, so it is stored as a secret.
    """

    kind: Literal["calendar"]
    url: Secret | None = None
    zone: Zone = "UTC"


class PagerDutySource(RequestModel):
    """On-calls of PagerDuty (REST, version 2), of these schedules and escalation policies, or of all."""

    kind: Literal["pagerduty"]
    url: Url = "https://api.pagerduty.com"
    token: Secret | None = None
    schedules: Annotated[list[PagerId], Field(max_length=20)] = Field(default_factory=list)
    policies: Annotated[list[PagerId], Field(max_length=20)] = Field(default_factory=list)


RotationSource = Annotated[SimpleSource | CalendarSource | PagerDutySource, Field(discriminator="kind")]
Accounts = Annotated[dict[ExternalName, UUID], Field(max_length=200)]


class RotationCreate(RequestModel):
    """A rotation. `accounts` maps external names or addresses to accounts."""

    name: Name
    source: RotationSource
    accounts: Accounts = Field(default_factory=dict)


class RotationUpdate(RequestModel):
    """A change; absent fields are kept, including the secret unless the server changes."""

    version: Version
    name: Name | None = None
    source: RotationSource | None = None
    accounts: Accounts | None = None


class OverrideCreate(RequestModel):
    """Put this account on call for a time."""

    user_id: UUID
    starts_at: Moment
    ends_at: Moment
    reason: Reason = ""


class OncallUser(BaseModel):
    """An account with its role, which alone determines its permissions."""

    id: UUID
    name: str
    role: Role
    disabled: bool


class ShiftResponse(BaseModel):
    """A shift. `end` is null if it has no end, `person` if no account matches the name."""

    start: datetime
    end: datetime | None
    who: str
    person: OncallUser | None
    source: Literal["rotation", "calendar", "override"]
    level: int


class OverrideResponse(BaseModel):
    """Who replaces the rotation, and for how long."""

    id: UUID
    person: OncallUser | None
    starts_at: datetime
    ends_at: datetime
    reason: str


class RotationResponse(BaseModel):
    """A rotation with the shifts of the next weeks. `source` contains no secret.

    `failure` is the reason of a failed fetch; the shifts are then those of `fetched_at`.
    """

    id: UUID
    name: str
    kind: Literal["simple", "calendar", "pagerduty"]
    zone: str
    handover: str
    first_day: date | None
    days: int
    people: list[OncallUser]
    source: dict[str, Any]
    has_secret: bool
    accounts: dict[str, UUID]
    overrides: list[OverrideResponse]
    now: list[ShiftResponse]
    next: ShiftResponse | None
    shifts: list[ShiftResponse]
    fetched_at: datetime | None
    failure: MessageRef | None
    version: int


class RotationRef(BaseModel):
    """A rotation by name."""

    id: UUID
    name: str


class OncallResponse(BaseModel):
    """Who is on call in one rotation now and next."""

    rotation: RotationRef
    now: list[ShiftResponse]
    next: ShiftResponse | None
    fetched_at: datetime | None
    failure: MessageRef | None


class OncallCandidateResponse(BaseModel):
    """An account that can be put on call."""

    id: UUID
    name: str
    role: Role
