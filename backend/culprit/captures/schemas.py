"""What goes in and out about captures."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from collectors.scope import MAX_VALUE, Kind

MAX_HOSTS = 200
MAX_OPTION = 1000
Sentence = dict[str, Any]


class ScopeGiven(BaseModel):
    """What to look at on each host. `value` is empty for `host`, else a pid, a path, a name or a port."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind = "host"
    value: Annotated[str, Field(max_length=MAX_VALUE)] = ""


OptionValues = Annotated[
    dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=MAX_OPTION)]],
    Field(max_length=20),
]


class CapturePreview(BaseModel):
    """What one would like to capture, and where.

    `service`: the requests of the service that is declared for these hosts are measured too, where that is light.
    """

    model_config = ConfigDict(extra="forbid")

    host_ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_HOSTS)]
    plan: Annotated[str, Field(max_length=40)]
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    collectors: Annotated[list[Annotated[str, Field(max_length=40)]] | None, Field(max_length=60)] = None
    scope: ScopeGiven = ScopeGiven()
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = {}
    service: bool = True


class CaptureCreate(CapturePreview):
    """What to capture, where, and why. `confirm`: the name of the host, typed, where the tier is ptrace."""

    reason: Annotated[str, Field(max_length=500)] = ""
    confirm: Annotated[str | None, Field(max_length=253)] = None


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class UserRef(BaseModel):
    """A person by name."""

    id: UUID
    name: str


class PreviewHost(BaseModel):
    """Whether a collector will work on a host, as far as its last check told."""

    host_id: UUID
    state: Literal["works", "degrades", "does_not_work", "unknown"]
    reason: Sentence | None = None
    mend: Sentence | None = None


class PreviewCost(BaseModel):
    """Expected cost on each host: percent of one core, bytes per second, and a remark in both languages."""

    cpu_pct: float
    bytes_per_s: float
    note: dict[str, str]


class PreviewCollector(BaseModel):
    """What one collector would run, and on which hosts it will work. `why`: it is taken beside the plan, for this."""

    id: str
    tier: str
    seconds: int
    commands: list[str]
    cost: PreviewCost
    hosts: list[PreviewHost]
    why: Sentence | None = None


class PreviewRead(BaseModel):
    """All that is shown before anything is sent. `refusal` says why not, where it is not allowed.

    `service` says why declared services are not measured along.
    """

    tier: str
    allowed: bool
    refusal: Sentence | None
    total_seconds: int
    collectors: list[PreviewCollector]
    service: Sentence | None = None


class CollectorProgress(BaseModel):
    """How far a collector is, in milliseconds since it began."""

    elapsed_ms: float
    planned_ms: float


class CollectorSummary(BaseModel):
    """What became of one collector. `started_ns`, UTC, is known as soon as it was heard to run."""

    id: str
    state: str
    reason: Sentence | None
    bytes: int
    seconds: float | None
    started_ns: int | None
    progress: CollectorProgress | None


class RunSummary(BaseModel):
    """One host of a capture. `waiting` says why a queued run does not start yet."""

    id: UUID
    host: HostRef | None
    state: str
    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    not_before: datetime | None
    seconds: float | None
    bytes: int
    host_cpu_ms: float | None
    failure: Sentence | None
    waiting: Sentence | None
    collectors: list[CollectorSummary]


class ScopeRead(BaseModel):
    """What a capture looks at on its hosts."""

    kind: str
    value: str


class CaptureRead(BaseModel):
    """A capture with its runs. `options` are the values that were given to collectors, by collector and name."""

    id: UUID
    number: int
    plan: str
    seconds: float | None
    tier: str
    scope: ScopeRead
    options: dict[str, dict[str, str]]
    state: str
    reason: str
    source: str
    requested_by: UserRef | None
    created_at: datetime
    ended_at: datetime | None
    runs: list[RunSummary]
