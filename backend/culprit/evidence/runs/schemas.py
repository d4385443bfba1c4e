"""Response schemas of runs and artifacts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, RootModel

from collectors.profiles.samples import Unit
from culprit.domain.runs.states import CollectorState, RunState
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, HostRef, MessageRef


class RunCaptureRef(BaseModel):
    """The capture that a run belongs to."""

    id: UUID
    number: int
    plan: str
    source: str
    reason: str


class RunProgress(BaseModel):
    """Progress of a collector, in milliseconds."""

    elapsed_ms: float
    planned_ms: float


class RunTimings(RootModel[dict[str, float | None]]):
    """Durations of the steps of a run by name, in milliseconds."""


class RunCollectorResponse(BaseModel):
    """Result of one collector: method, outcome and cost."""

    id: str
    state: CollectorState
    reason: MessageRef | None
    bytes: int
    seconds: float | None
    method: str | None
    argv: str | None
    exit_code: int | None
    signal: int | None
    tool_version: str | None
    cpu_ms: float | None
    stderr_tail: str | None
    parser_version: int | None
    warnings: list[MessageRef]
    progress: Annotated[Json, DocumentedAs(RunProgress)] | None = None


class RunClockResponse(BaseModel):
    """Offset of the host clock to UTC, and the readings that it was computed from."""

    offset_ms: float | None = None
    uncertainty_ms: float | None = None
    source: str | None = None
    steps: list[Json] = []
    server_offset_ns: int | None = None
    server_uncertainty_ns: int | None = None
    records: list[Json] = []
    perf_reference: Json = {}


class ArtifactResponse(BaseModel):
    """One artifact; `sha256` is of the stored bytes, in `encoding`."""

    id: UUID
    collector: str | None
    part: str
    sha256: str
    size: int
    stored_size: int
    encoding: str
    media_type: str
    complete: bool
    attempt: int


class RunProfileResponse(BaseModel):
    """A profile of the run."""

    id: UUID
    kind: str
    event: str
    unit: Unit
    state: Literal["queued", "running", "ready", "failed"]
    failure: MessageRef | None
    samples: int | None
    weight: float | None
    lost: int | None
    unknown_share: float | None
    truncated_share: float | None
    t0_ns: int | None
    t1_ns: int | None
    method: str | None


class TableColumn(BaseModel):
    """A column of a result table."""

    id: str
    unit: str


class ResultTableResponse(BaseModel):
    """A small table; rows in the order of `columns`, `lines` of the artifact in the order of rows."""

    kind: str
    collector: str | None
    columns: list[TableColumn]
    rows: list[list[str | int | float | None]]
    lines: list[int]
    artifact_id: UUID | None


class CollectorWarningResponse(BaseModel):
    """A warning of a parser about input that it could not read."""

    collector: str
    warning: MessageRef


class RemovalResponse(BaseModel):
    """A kind of data that the retention policy deleted."""

    kind: Literal["recordings", "texts", "imports", "profiles", "comparisons", "series", "tables", "events"]
    at: datetime
    items: int
    bytes: int


class RunResponse(BaseModel):
    """One run without its series and events."""

    id: UUID
    host: HostRef | None
    state: RunState
    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None
    bytes: int
    host_cpu_ms: float | None
    not_before: datetime | None
    failure: MessageRef | None
    waiting: MessageRef | None
    capture: RunCaptureRef
    t0_ns: int | None
    t1_ns: int | None
    boot_id: str | None
    timings: Annotated[Json, DocumentedAs(RunTimings)] | None
    clock: RunClockResponse | None
    facts: Json | None
    spec: Json | None
    collectors: list[RunCollectorResponse]
    artifacts: list[ArtifactResponse]
    profiles: list[RunProfileResponse]
    tables: list[ResultTableResponse]
    warnings: list[CollectorWarningResponse]
    removals: list[RemovalResponse] = []


class SeriesSummaryResponse(BaseModel):
    """Summary of one series of a run; null is no data."""

    metric: str
    labels: dict[str, str]
    axis: str | None
    axis_values: list[str] | None
    unit: str
    sample_count: int
    min: float | None
    mean: float | None
    max: float | None
    t0_ns: int
    t1_ns: int


class RunEventResponse(BaseModel):
    """An event during a run."""

    id: UUID
    t_ns: int
    end_ns: int | None
    uncertainty_ns: int
    kind: str
    severity: str
    title: MessageRef
    detail: str
    artifact_id: UUID | None
    line: int | None


class ArtifactLinesResponse(BaseModel):
    """Lines of an artifact. `from` is the number of the first line; `total` is null until the end was reached."""

    first: int = Field(alias="from")
    total: int | None
    lines: list[str]
