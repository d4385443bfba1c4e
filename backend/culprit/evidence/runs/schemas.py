"""What is said about a run and its artifacts."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

Sentence = dict[str, Any]
Json = dict[str, Any]


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class CaptureRef(BaseModel):
    """The capture that a run belongs to."""

    id: UUID
    number: int
    plan: str
    source: str
    reason: str


class CollectorRead(BaseModel):
    """What became of one collector: how it was run, how it ended, what it cost."""

    id: str
    state: str
    reason: Sentence | None
    bytes: int
    seconds: float | None
    way: str | None
    argv: str | None
    exit_code: int | None
    signal: int | None
    tool_version: str | None
    cpu_ms: float | None
    stderr_tail: str | None
    parser_version: int | None
    warnings: list[Sentence]
    progress: Json | None = None


class ClockRead(BaseModel):
    """How the host's clock stood to UTC; and the readings themselves, for whoever reads the artifacts again."""

    offset_ms: float | None = None
    uncertainty_ms: float | None = None
    source: str | None = None
    steps: list[Json] = []
    server_offset_ns: int | None = None
    server_uncertainty_ns: int | None = None
    records: list[Json] = []
    perf_reference: Json = {}


class ArtifactRead(BaseModel):
    """One stored part; `sha256` is of the bytes as they are stored, in `encoding`."""

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


class ProfileRef(BaseModel):
    """A profile of the run."""

    id: UUID
    kind: str
    event: str
    unit: str
    state: str
    failure: Sentence | None
    samples: int | None
    weight: float | None
    lost: int | None
    unknown_share: float | None
    truncated_share: float | None
    t0_ns: int | None
    t1_ns: int | None
    way: str | None


class TableRead(BaseModel):
    """A small table; rows in the order of `columns`, `lines` of the artifact in the order of rows."""

    kind: str
    collector: str | None
    columns: list[Json]
    rows: list[list[Any]]
    lines: list[int]
    artifact_id: UUID | None


class CollectorWarning(BaseModel):
    """What a parser could not read."""

    collector: str
    warning: Sentence


class RemovalRead(BaseModel):
    """A kind of data of which retention has deleted something."""

    kind: str
    at: datetime
    items: int
    bytes: int


class RunRead(BaseModel):
    """All about one run but its series and events."""

    id: UUID
    host: HostRef | None
    state: str
    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None
    bytes: int
    host_cpu_ms: float | None
    not_before: datetime | None
    failure: Sentence | None
    waiting: Sentence | None
    capture: CaptureRef
    t0_ns: int | None
    t1_ns: int | None
    boot_id: str | None
    timings: Json | None
    clock: ClockRead | None
    facts: Json | None
    spec: Json | None
    collectors: list[CollectorRead]
    artifacts: list[ArtifactRead]
    profiles: list[ProfileRef]
    tables: list[TableRead]
    warnings: list[CollectorWarning]
    removals: list[RemovalRead] = []


class SeriesRead(BaseModel):
    """One series of a run in numbers; null where nothing was measured."""

    metric: str
    labels: dict[str, str]
    axis: str | None
    axis_values: list[str] | None
    unit: str
    n: int
    min: float | None
    mean: float | None
    max: float | None
    t0_ns: int
    t1_ns: int


class EventRead(BaseModel):
    """Something that happened during a run."""

    id: UUID
    t_ns: int
    end_ns: int | None
    uncertainty_ns: int
    kind: str
    severity: str
    title: Sentence
    detail: str
    artifact_id: UUID | None
    line: int | None


class LinesRead(BaseModel):
    """Lines of an artifact; `from` is the number of the first one; `total` where the end was reached."""

    first: int = Field(alias="from")
    total: int | None
    lines: list[str]
