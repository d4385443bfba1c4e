"""What comes back from an import: the capture that it became."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from collectors.parse.reports import Report
from culprit.auth.schemas import Strict

KindWanted = Literal["auto", "perf_data", "perf_script", "folded", "bundle"] | Report


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class UserRef(BaseModel):
    """A person by name."""

    id: UUID
    name: str


class ImportedRun(BaseModel):
    """The run that a file became."""

    id: UUID
    host: HostRef | None
    state: str


class ImportRead(BaseModel):
    """The capture that a file became; its run is read by a worker, as any other."""

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


class UploadCreate(Strict):
    """An address that takes one bundle: of a host, or of one that nobody has enrolled, by a name of one's own."""

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


class UploadRead(BaseModel):
    """An address for one upload. `url` and `command` are there once, in the answer that made it.

    `spent`: it was tried too often. `failure` says why the last try was not taken.
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
    failure: dict[str, Any] | None
    capture_id: UUID | None
    url: str | None = None
    command: str | None = None
