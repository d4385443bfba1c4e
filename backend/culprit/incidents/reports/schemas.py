"""Responses of reports."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from culprit.incidents.reports.requests import FollowUp, Kind, Language, Preset
from culprit.incidents.responses.chain_schemas import PersonRef
from culprit.json_types import Json


class ShareResponse(BaseModel):
    """Share link without its token. `open` is true while it works. `url` is present only after its creation."""

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
    """Frozen version. `intact`: its bytes match the SHA-256. `counts`: number of replacements per kind."""

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


class VersionResponse(VersionSummary):
    """Frozen version with its content."""

    content: Json


class ReportSummary(BaseModel):
    """Report in a list."""

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


class ReportPermissions(BaseModel):
    """Permissions of the user on a report. `alone`: a link needs no second person."""

    edit: bool
    approve: bool
    share: bool
    names: bool
    alone: bool


class ReportResponse(ReportSummary):
    """Draft with its frozen versions and share links."""

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
    shares: list[ShareResponse]
    permissions: ReportPermissions


class ReplacedNameResponse(BaseModel):
    """Original and pseudonym, only for participants of the incident."""

    kind: Kind
    original: str
    pseudonym: str


class ChangedTextResponse(BaseModel):
    """Line before and after the redaction."""

    before: str
    after: str


class ReportPreviewResponse(BaseModel):
    """Redacted content with its replacements and at most 500 changed lines."""

    content: Json
    counts: dict[str, int]
    replaced: list[ReplacedNameResponse]
    changed: list[ChangedTextResponse]


class VisitResponse(BaseModel):
    """Visit of a share link."""

    at: datetime
    address: str
    agent: str
    form: str
