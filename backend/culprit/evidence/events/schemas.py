"""Request and response schemas of reported events."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, Field, StringConstraints

from culprit.accounts.schemas import LabelName, LabelValue, Name
from culprit.web.schemas import HostRef, RequestModel, UserRef

MAX_NAMED_HOSTS = 200
MAX_WHAT, MAX_WHO, MAX_DETAIL = 200, 100, 4000
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
"""deploy, config, restart, note, or another lowercase word."""

What = Annotated[str, Field(min_length=1, max_length=2000)]
Link = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]{1,1990}$", strip_whitespace=True)]
ExternalId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
HostName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,120}$")]
Labels = Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=10)]


class ReportedEventTarget(RequestModel):
    """The hosts of an event, selected in one way: `hosts` (IDs or names), `labels`, a `service`, or `everywhere`."""

    hosts: Annotated[list[HostName], Field(default_factory=list, max_length=MAX_NAMED_HOSTS)]
    labels: Labels | None = None
    service: Name | None = None
    everywhere: bool = False


class ReportedEventCreate(ReportedEventTarget):
    """An event: `what` happened in one line, `who` did it, `detail` and `link` for more information.

    `at` defaults to now. A second report with the same `external_id` from the same account updates the first one;
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


class ReportedEventUpdate(ReportedEventTarget):
    """Fields to change; fields that are not sent stay. Null clears `until` and `link`."""

    kind: Kind | None = None
    what: What | None = None
    who: Annotated[str, Field(max_length=1000)] | None = None
    detail: Annotated[str, Field(max_length=20_000)] | None = None
    link: Link | None = None
    at: AwareDatetime | None = None
    until: AwareDatetime | None = None


class ReportedEventTargetResponse(BaseModel):
    """How the hosts were selected, and the visible ones. `host_count` also counts hosts over the list limit."""

    kind: Literal["everywhere", "hosts", "labels", "service"]
    labels: dict[str, str] | None
    service: str | None
    hosts: list[HostRef]
    host_count: int


class ReportedEventResponse(BaseModel):
    """A reported event. `at` and `until` have microseconds. `can_update`: you can update and withdraw it."""

    id: UUID
    kind: str
    what: str
    who: str
    detail: str
    link: str | None
    at: datetime
    until: datetime | None
    target: ReportedEventTargetResponse
    external_id: str | None
    reported_by: UserRef
    created_at: datetime
    changed_at: datetime | None
    withdrawn_at: datetime | None
    can_update: bool
