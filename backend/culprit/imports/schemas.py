"""What comes back from an import: the capture that it became."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from collectors.parse.reports import Report

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
