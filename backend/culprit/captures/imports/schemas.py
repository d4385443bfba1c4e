"""Requests and responses of imports and upload addresses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from collectors.parse.profile_formats.registry import ProfileFormat
from collectors.parse.reports.registry import Report
from culprit.web.schemas import HostRef, MessageRef, RequestModel, UserRef

ImportKind = Literal["auto", "perf_data", "perf_script", "folded", "bundle"] | ProfileFormat | Report


class ImportedRun(BaseModel):
    """The run of an imported file."""

    id: UUID
    host: HostRef | None
    state: str


class ImportResponse(BaseModel):
    """The capture of an imported file; a worker parses its run like any other."""

    id: UUID
    number: int
    plan: str
    seconds: float | None
    state: str
    reason: str
    source: str
    requested_by: UserRef
    created_at: datetime
    ended_at: datetime | None
    runs: list[ImportedRun]
    kind: str


class UploadCreate(RequestModel):
    """An upload address for one bundle, of an added host or of another host by name."""

    host_id: UUID | None = None
    host_name: Annotated[
        str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{0,100}$", strip_whitespace=True)
    ] = ""
    plan: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")] = "triage"
    seconds: Annotated[int, Field(ge=1, le=600)] | None = None
    max_mb: Annotated[int, Field(ge=1, le=1024)] = 64
    minutes: Annotated[int, Field(ge=1, le=7 * 24 * 60)] = 60
    note: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{0,200}$", strip_whitespace=True)] = ""


UploadState = Literal["open", "receiving", "used", "revoked", "expired", "spent"]


class UploadResponse(BaseModel):
    """An upload address. `url` and `command` are only in the response that created it.

    `spent`: too many attempts. `failure` is the reason why the last attempt was rejected.
    """

    id: UUID
    state: UploadState
    host: HostRef | None
    host_name: str
    plan: str
    seconds: int | None
    max_bytes: int
    note: str
    expires_at: datetime
    created_by: UserRef
    created_at: datetime
    used_at: datetime | None
    used_from: str | None
    bytes: int | None
    attempts: int
    failure: MessageRef | None
    capture_id: UUID | None
    url: str | None = None
    command: str | None = None
