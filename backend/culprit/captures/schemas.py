"""Requests and responses of captures."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from collectors.contract import TierName
from collectors.runner.scope import MAX_VALUE, Kind
from culprit.domain.runs.states import CollectorState, RunState
from culprit.web.schemas import HostRef, LocalizedText, MessageRef, UserRef

MAX_HOSTS = 200
MAX_OPTION = 1000


class ScopeRequest(BaseModel):
    """The capture scope on each host.

    `value` is empty for `host`, else a process ID, a path, a name or a port.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Kind = "host"
    value: Annotated[str, Field(max_length=MAX_VALUE)] = ""


OptionValues = Annotated[
    dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=MAX_OPTION)]],
    Field(max_length=20),
]


class CapturePreviewRequest(BaseModel):
    """A capture to preview.

    `service`: also measure the requests of the service of these hosts, if a light collector can.
    """

    model_config = ConfigDict(extra="forbid")

    host_ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_HOSTS)]
    plan: Annotated[str, Field(max_length=40)]
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    collectors: Annotated[list[Annotated[str, Field(max_length=40)]] | None, Field(max_length=60)] = None
    scope: ScopeRequest = ScopeRequest()
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = {}
    service: bool = True


class CaptureCreate(CapturePreviewRequest):
    """A capture to create. `confirm`: the typed name of the host, required for tier ptrace."""

    reason: Annotated[str, Field(max_length=500)] = ""
    confirm: Annotated[str | None, Field(max_length=253)] = None


class PreviewHost(BaseModel):
    """Whether a collector will work on a host, according to its last check."""

    host_id: UUID
    state: Literal["works", "degrades", "unavailable", "unknown"]
    reason: MessageRef | None = None
    remedy: MessageRef | None = None


class PreviewCost(BaseModel):
    """Expected cost on each host: percent of one core, bytes per second, and a note in both languages."""

    cpu_pct: float
    bytes_per_s: float
    note: LocalizedText


class PreviewCollector(BaseModel):
    """A collector, its commands, and the hosts on which it works. `why`: the reason why it is added to the plan."""

    id: str
    tier: TierName
    seconds: int
    commands: list[str]
    cost: PreviewCost
    hosts: list[PreviewHost]
    why: MessageRef | None = None


class PreviewSymbols(BaseModel):
    """The expected cost of the symbol fetch after the run, on the host where it is highest.

    `bytes` (compressed) and `cpu_s` are means of the last fetches; for the first fetch of a host (`is_first`), they are
    typical values. `max_bytes` is the limit of a fetch before compression.
    """

    bytes: int
    cpu_s: float
    max_bytes: int
    is_first: bool
    text: MessageRef


class CapturePreviewResponse(BaseModel):
    """The complete preview. `refusal` is the reason if the capture is not allowed.

    `service` is the reason why services are not measured. `symbols` is null if no symbols are fetched.
    """

    tier: TierName
    allowed: bool
    refusal: MessageRef | None
    total_seconds: int
    collectors: list[PreviewCollector]
    service: MessageRef | None = None
    symbols: PreviewSymbols | None = None


class CollectorProgress(BaseModel):
    """Progress of a collector in milliseconds since its start."""

    elapsed_ms: float
    planned_ms: float


class CollectorSummary(BaseModel):
    """State of one collector. `started_ns` (UTC) is set as soon as its start was reported."""

    id: str
    state: CollectorState
    reason: MessageRef | None
    bytes: int
    seconds: float | None
    started_ns: int | None
    progress: CollectorProgress | None


class RunSummary(BaseModel):
    """One host of a capture. `waiting` is the reason why a queued run does not start yet."""

    id: UUID
    host: HostRef | None
    state: RunState
    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    not_before: datetime | None
    seconds: float | None
    bytes: int
    host_cpu_ms: float | None
    failure: MessageRef | None
    waiting: MessageRef | None
    collectors: list[CollectorSummary]


class ScopeResponse(BaseModel):
    """The scope of a capture on its hosts."""

    kind: Literal["host", "process", "cgroup", "unit", "container", "port"]
    value: str


class CaptureResponse(BaseModel):
    """A capture with its runs. `options` are the values set by the requester, by collector and name."""

    id: UUID
    number: int
    plan: str
    seconds: float | None
    tier: TierName
    scope: ScopeResponse
    options: dict[str, dict[str, str]]
    state: RunState
    reason: str
    source: Literal["manual", "import", "api", "schedule", "trigger", "watcher"]
    requested_by: UserRef | None
    created_at: datetime
    ended_at: datetime | None
    runs: list[RunSummary]
