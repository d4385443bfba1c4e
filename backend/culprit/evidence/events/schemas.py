"""What goes in and out about events that were told."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, Field, StringConstraints

from culprit.auth.schemas import LabelName, LabelValue, Name, Strict

MOST_NAMED = 200
WHAT, WHO, DETAIL = 200, 100, 4000
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
"""deploy, config, restart, note, or a word of one's own."""

What = Annotated[str, Field(min_length=1, max_length=2000)]
Link = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,1990}$", strip_whitespace=True)]
ExternalId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
HostName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,120}$")]
Labels = Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=10)]


class EventPlace(Strict):
    """Where it happened: on `hosts` (ids or names), on all with `labels`, where a `service` runs, or `everywhere`."""

    hosts: Annotated[list[HostName], Field(default_factory=list, max_length=MOST_NAMED)]
    labels: Labels | None = None
    service: Name | None = None
    everywhere: bool = False


class EventTell(EventPlace):
    """Something that happened. `what` in a line, `who` did it, `detail` and `link` for who wants to know more.

    `at` is now where nothing is said. The same `external_id` again from the same account corrects what was told first:
    only fields that are sent change.
    """

    kind: Kind = "note"
    what: What
    who: Annotated[str, Field(max_length=1000)] = ""
    detail: Annotated[str, Field(max_length=20_000)] = ""
    link: Link | None = None
    at: AwareDatetime | None = None
    until: AwareDatetime | None = None
    external_id: ExternalId | None = None


class EventCorrect(EventPlace):
    """What is not mentioned stays; `until` and `link` that are null are taken away."""

    kind: Kind | None = None
    what: What | None = None
    who: Annotated[str, Field(max_length=1000)] | None = None
    detail: Annotated[str, Field(max_length=20_000)] | None = None
    link: Link | None = None
    at: AwareDatetime | None = None
    until: AwareDatetime | None = None


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class UserRef(BaseModel):
    """A person by name."""

    id: UUID
    name: str


class EventWhere(BaseModel):
    """How the hosts were named, and the visible ones of them; `hosts_total` counts those that are left out too."""

    kind: Literal["everywhere", "hosts", "labels", "service"]
    labels: dict[str, str] | None
    service: str | None
    hosts: list[HostRef]
    hosts_total: int


class ToldEventRead(BaseModel):
    """Something that was told. `at` and `until` have microseconds; `may_change`: you may correct and withdraw it."""

    id: UUID
    kind: str
    what: str
    who: str
    detail: str
    link: str | None
    at: datetime
    until: datetime | None
    where: EventWhere
    external_id: str | None
    told_by: UserRef
    created_at: datetime
    changed_at: datetime | None
    withdrawn_at: datetime | None
    may_change: bool
