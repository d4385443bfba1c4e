"""What goes in and out about diagnoses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Sentence = dict[str, Any]
Json = dict[str, Any]
MAX_TWINS = 20


class DiagnosisCreate(BaseModel):
    """Which host, what on it, for how long the first look lasts, and what to compare with.

    `scope` is {"kind", "value"} as in a capture, or {"kind": "service"} with the name of a declared service (else of a
    systemd unit). `baseline` is `auto`, `none`, or the id of a run on the same host.
    """

    model_config = ConfigDict(extra="forbid")

    host_id: UUID
    scope: Annotated[dict[str, str] | None, Field(max_length=2)] = None
    seconds: Annotated[int, Field(ge=5, le=60)] = 8
    baseline: Annotated[str, Field(pattern=r"^(auto|none|[0-9a-f-]{36})$")] = "auto"
    twin_ids: Annotated[list[UUID], Field(max_length=MAX_TWINS)] = []
    reason: Annotated[str, Field(max_length=500)] = ""


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class StageRead(BaseModel):
    """One stage: its capture, what it ran for how long, at which tier, and which causes it was to settle."""

    capture_id: UUID
    run_id: UUID | None
    state: str
    tier: str
    seconds: float
    collectors: dict[str, int]
    hypotheses: list[str]
    refused: list[str]
    scope: dict[str, str]
    cpu_pct: float
    host_cpu_ms: float | None


class DiagnosisRead(BaseModel):
    """A diagnosis. `result` has the causes and what speaks for and against them; None until there is one."""

    id: UUID
    number: int
    host: HostRef
    scope: Json
    seconds: int
    baseline: str
    baseline_run_id: UUID | None
    twins: list[HostRef]
    reason: str
    state: Literal["running", "done", "failed", "cancelled"]
    stages: list[StageRead]
    result: Json | None
    failure: Sentence | None
    created_at: datetime
    ended_at: datetime | None
    elapsed_s: float
