"""What goes in and out about storage."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from culprit.auth.schemas import Strict

KeptKind = Literal["recordings", "texts", "imports", "profiles", "comparisons", "series", "tables", "events"]
MAX_BYTES = 1 << 60


class Limits(Strict):
    """How long a kind is kept: so many days, or as many bytes as it may fill, or both; neither: for ever."""

    days: Annotated[int, Field(ge=1, le=36500)] | None = None
    max_bytes: Annotated[int, Field(ge=0, le=MAX_BYTES)] | None = None


class PolicySet(Limits):
    """The limits of one kind from now on."""

    kind: KeptKind


class PolicyRead(BaseModel):
    """How long a kind is kept. `ended_at` is when a pass was last through; None where there was none."""

    kind: KeptKind
    days: int | None
    max_bytes: int | None
    running: bool
    ended_at: datetime | None
    updated_by: str | None
    updated_at: datetime | None


class Foreseen(BaseModel):
    """What limits would delete of a kind now, and what they would reach if nobody cited it."""

    kind: KeptKind
    before: datetime | None
    items: int
    bytes: int
    runs: int
    cited_items: int
    cited_bytes: int


class Disk(BaseModel):
    """The disk of the artifact store, or of what is on its way to a bucket."""

    total: int
    free: int
    low: bool


class KindRead(BaseModel):
    """How much there is of a kind; `cited_bytes` of it stay as long as somebody cites them."""

    items: int
    bytes: int
    cited_bytes: int


class HostShare(BaseModel):
    """What is stored of one host by kind; without a name: imports without a host, or the `others` together."""

    host_id: UUID | None
    name: str
    others: int = 0
    kinds: dict[str, int]


class Measured(BaseModel):
    """The storage at one moment, in bytes. `kept` are tables that retention leaves alone."""

    at: datetime
    disk: Disk
    database_bytes: int
    kinds: dict[KeptKind, KindRead]
    kept: dict[str, int]
    days: dict[KeptKind, dict[str, int]]
    hosts: list[HostShare]
    removed: dict[str, int]


class Forecast(BaseModel):
    """Whereto it goes if days go on as the last full ones. `full_at` None: it does not fill, or nobody can tell yet."""

    days: int
    grows_per_day: int
    removed_per_day: int
    full_at: datetime | None


class Orphan(BaseModel):
    """Bytes that no row names."""

    sha256: str
    bytes: int
    at: datetime


class Orphans(BaseModel):
    """How many there are; the first ones by name."""

    count: int
    bytes: int
    named: list[Orphan]


class Lost(BaseModel):
    """Digests of which a row says that they are there, and they are not."""

    count: int
    named: list[str]


class Checked(BaseModel):
    """Rows against bytes."""

    at: datetime
    files: int
    bytes: int
    rows: int
    orphans: Orphans
    lost: Lost


class StorageRead(BaseModel):
    """The storage page. `measured` is None until it was measured once; `checked` until somebody asked for it."""

    store: Literal["directory", "bucket"]
    disk: Disk
    measured: Measured | None
    forecast: Forecast | None
    checked: Checked | None
    policies: list[PolicyRead]
    waiting: int
    looking: list[Literal["measure", "check"]]


class LookAsk(Strict):
    """What is to be looked at."""

    kind: Literal["measure", "check"]


class LookRead(BaseModel):
    """A look that was asked for, or its outcome."""

    id: UUID
    kind: Literal["measure", "check"]
    state: Literal["queued", "running", "done", "failed"]
    created_at: datetime
    checked: Checked | None = None


class OrphansGone(BaseModel):
    """What was deleted."""

    count: int
    bytes: int
