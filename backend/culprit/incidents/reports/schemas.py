"""What goes out about reports."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from culprit.incidents.schemas_chain import PersonRef
from culprit.reports.given import FollowUp, Kind, Language, Preset

Json = dict[str, Any]


class ShareRead(BaseModel):
    """A link without its token. `open`: it shows the report now. `url` is told once, to whoever made it."""

    id: UUID
    version_id: UUID
    number: int
    note: str
    open: bool
    expires_at: datetime
    revoked_at: datetime | None
    created_by: PersonRef | None
    created_at: datetime
    visits: int
    url: str | None = None


class VersionSummary(BaseModel):
    """A frozen version. `intact`: its bytes are those of its SHA-256. `counts`: how much of each kind was replaced."""

    id: UUID
    report_id: UUID
    number: int
    sha256: str
    size: int
    intact: bool
    counts: dict[str, int]
    created_by: PersonRef | None
    created_at: datetime
    approved_by: PersonRef | None
    approved_at: datetime | None


class VersionRead(VersionSummary):
    """A frozen version with what it says."""

    content: Json


class ReportSummary(BaseModel):
    """A report in a list."""

    id: UUID
    incident_id: UUID
    title: str
    language: Language
    preset: Preset
    version: int
    frozen: int
    created_by: PersonRef | None
    created_at: datetime
    updated_at: datetime


class ReportMay(BaseModel):
    """What this person may do with a report, for the buttons. `alone`: a link needs no second person."""

    edit: bool
    approve: bool
    share: bool
    names: bool
    alone: bool


class ReportRead(ReportSummary):
    """A draft, the versions that were frozen of it and the links to them."""

    number: int
    zone: str
    kinds: list[Kind]
    words: list[str]
    summary: str
    impact: str
    detected_at: datetime | None
    mitigated_at: datetime | None
    follow_ups: list[FollowUp]
    comments: bool
    versions: list[VersionSummary]
    shares: list[ShareRead]
    may: ReportMay


class ReplacedRead(BaseModel):
    """An original and what stands for it. For the people of the incident alone."""

    kind: Kind
    original: str
    pseudonym: str


class ChangedRead(BaseModel):
    """A line before and after."""

    before: str
    after: str


class ReportPreviewRead(BaseModel):
    """What would leave now, and what was replaced in it. Of the lines those that are other ones, 500 at most."""

    content: Json
    counts: dict[str, int]
    replaced: list[ReplacedRead]
    changed: list[ChangedRead]


class VisitRead(BaseModel):
    """Somebody opened a link."""

    at: datetime
    address: str
    agent: str
    form: str
