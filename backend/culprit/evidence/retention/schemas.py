"""Request and response schemas of storage. Sizes are in bytes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from culprit.web.schemas import RequestModel

RetentionKind = Literal[
    "recordings", "texts", "imports", "profiles", "comparisons", "series", "tables", "events"
]
MAX_BYTES = 1 << 60


class RetentionLimits(RequestModel):
    """How long a kind is kept: a number of days, a number of bytes, or both. Without either: indefinitely."""

    days: Annotated[int, Field(ge=1, le=36500)] | None = None
    max_bytes: Annotated[int, Field(ge=0, le=MAX_BYTES)] | None = None


class RetentionPolicyUpdate(RetentionLimits):
    """The new limits of one kind."""

    kind: RetentionKind


class RetentionPolicyResponse(BaseModel):
    """The retention policy of a kind. `ended_at` is the end of the last complete pass, None before the first."""

    kind: RetentionKind
    days: int | None
    max_bytes: int | None
    running: bool
    ended_at: datetime | None
    updated_by: str | None
    updated_at: datetime | None


class RetentionPreviewResponse(BaseModel):
    """The data of a kind that limits would delete now, and the older data that is kept because it is cited."""

    kind: RetentionKind
    before: datetime | None
    items: int
    bytes: int
    runs: int
    cited_items: int
    cited_bytes: int


class DiskSpace(BaseModel):
    """The disk of the artifact store; with a bucket, the disk of files that are not uploaded yet."""

    total: int
    free: int
    low: bool


class StorageKindUse(BaseModel):
    """The storage use of a kind; `cited_bytes` of it are kept while they are cited."""

    items: int
    bytes: int
    cited_bytes: int


class HostStorageUse(BaseModel):
    """The stored bytes of one host by kind; without a name: imports without a host, or all other hosts together."""

    host_id: UUID | None
    name: str
    other_host_count: int = 0
    kinds: dict[str, int]


class StorageMeasurement(BaseModel):
    """The storage at one moment, in bytes. `permanent` are tables that retention does not delete from."""

    at: datetime
    disk: DiskSpace
    database_bytes: int
    kinds: dict[RetentionKind, StorageKindUse]
    permanent: dict[str, int]
    days: dict[RetentionKind, dict[str, int]]
    hosts: list[HostStorageUse]
    removed: dict[str, int]


class StorageForecast(BaseModel):
    """The forecast at the current rate. `full_at` is None when the disk does not fill, or without enough data."""

    days: int
    grows_per_day: int
    removed_per_day: int
    full_at: datetime | None


class OrphanFile(BaseModel):
    """A file that no row references."""

    sha256: str
    bytes: int
    at: datetime


class OrphanFiles(BaseModel):
    """The number of orphan files, and the first of them."""

    count: int
    bytes: int
    examples: list[OrphanFile]


class MissingFiles(BaseModel):
    """The number of digests that a row records as stored and whose file is missing, and the first of them."""

    count: int
    examples: list[str]


class ConsistencyResult(BaseModel):
    """The comparison of rows with files."""

    at: datetime
    files: int
    bytes: int
    rows: int
    orphans: OrphanFiles
    missing: MissingFiles


class AlteredFileCapture(BaseModel):
    """A capture that an altered file belongs to."""

    id: UUID
    number: int
    plan: str


class AlteredFile(BaseModel):
    """A stored file whose bytes do not match its SHA-256, since when this is known, and its captures."""

    sha256: str
    reason: Literal["altered", "truncated", "missing", "unreadable"]
    altered_at: datetime
    captures: list[AlteredFileCapture]


class FileChecks(BaseModel):
    """The checks of stored files: every file is read again after `every_hours`, 0 if this is off.

    `oldest_at` is the oldest of the last checks of all files, None without files. `altered` lists the first altered
    files.
    """

    every_hours: int
    files: int
    oldest_at: datetime | None
    altered_count: int
    altered: list[AlteredFile]


class StorageResponse(BaseModel):
    """The storage page. `measured` is None before the first measurement, `checked` before the first check."""

    store: Literal["directory", "bucket"]
    disk: DiskSpace
    measured: StorageMeasurement | None
    forecast: StorageForecast | None
    checked: ConsistencyResult | None
    file_checks: FileChecks
    policies: list[RetentionPolicyResponse]
    waiting: int
    pending_checks: list[Literal["measure", "check"]]


class StorageCheckRequest(RequestModel):
    """A request to measure or check the stored data."""

    kind: Literal["measure", "check"]


class StorageCheckResponse(BaseModel):
    """A requested measurement or check, or its outcome. A check has the current checks of stored files."""

    id: UUID
    kind: Literal["measure", "check"]
    state: Literal["queued", "running", "done", "failed"]
    created_at: datetime
    checked: ConsistencyResult | None = None
    file_checks: FileChecks | None = None


class OrphanDeletionResponse(BaseModel):
    """The number and size of the deleted files."""

    count: int
    bytes: int
