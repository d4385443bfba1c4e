"""Response schemas of the timeline. Times `*_ns` are UTC nanoseconds; null in a value is no data."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel

from culprit.domain.rules.finding import Severity
from culprit.web.schemas import MessageRef


class TrackPoints(BaseModel):
    """The values of a track without an axis. All lists have the same length."""

    t_ns: list[int]
    min: list[float | None]
    mean: list[float | None]
    max: list[float | None]


class TrackMatrix(BaseModel):
    """The values of a track with an axis: for each time, one value per axis value."""

    t_ns: list[int]
    values: list[list[float | None]]


class ChunkSourceResponse(BaseModel):
    """The run, artifact and collector that a part of a track comes from."""

    run_id: UUID
    collector: str | None
    artifact_id: UUID | None


class TypicalRangeResponse(BaseModel):
    """Values that Prometheus measured at the same hours of earlier days, for one run: 10th, 50th, 90th percentile.

    All lists have the same length. `days` is the number of earlier days with data; if they are too few, `low`,
    `median` and `high` are null. If the query failed, `failure` is a message and the lists are empty.
    """

    run_id: UUID
    artifact_id: UUID | None
    from_ns: int
    to_ns: int
    t_ns: list[int]
    low: list[float | None]
    median: list[float | None]
    high: list[float | None]
    days: list[int]
    failure: MessageRef | None


class TrackResponse(BaseModel):
    """One metric with its labels. `level` is "hours", "chunks", or how many times rows were condensed by eight.

    `typical` is in ascending order without overlaps. It is empty without a Prometheus query, and if a pixel is one
    hour or more.
    """

    metric: str
    labels: dict[str, str]
    unit: str
    axis: str | None
    axis_values: list[str] | None
    level: int | str
    kind: str
    points: TrackPoints | None = None
    matrix: TrackMatrix | None = None
    gaps: list[tuple[int, int]]
    chunks: list[ChunkSourceResponse]
    typical: list[TypicalRangeResponse] = []


class CaptureBlockResponse(BaseModel):
    """One run as a block on the timeline. Data from `look_back_ns` on comes from a look-back buffer on the host.

    `collectors` is the number of collectors that its capture requested.
    """

    run_id: UUID
    capture_id: UUID
    number: int
    plan: str
    state: str
    collectors: int
    look_back_ns: int | None
    from_ns: int
    to_ns: int
    uncertainty_ns: int


class EventReporterResponse(BaseModel):
    """The reporter of an event: the account `by`, and `who` did it according to the report."""

    by: str
    who: str
    link: str | None
    everywhere: bool


class TimelineEventResponse(BaseModel):
    """An event of a host. `title` is a sentence. A reported event has no artifact."""

    id: UUID
    t_ns: int
    end_ns: int | None
    uncertainty_ns: int
    kind: str
    severity: Severity
    title: MessageRef
    detail: str
    artifact_id: UUID | None
    line: int | None
    run_id: UUID | None
    reported: EventReporterResponse | None = None


class TimeRangeResponse(BaseModel):
    """The times of the first and the last data of a host; null without data."""

    first_ns: int | None
    last_ns: int | None


class TimelineResponse(BaseModel):
    """A timeline in a time range. `…_total` also counts items over the limit."""

    from_ns: int
    to_ns: int
    tracks: list[TrackResponse]
    track_count: int
    captures: list[CaptureBlockResponse]
    captures_total: int
    events: list[TimelineEventResponse]
    events_total: int
    range: TimeRangeResponse


class TrackSummaryResponse(BaseModel):
    """A track of a host and its time range, without values."""

    metric: str
    labels: dict[str, str]
    unit: str
    axis: str | None
    kind: str
    group: str
    first_ns: int
    last_ns: int


class TimelineOverviewResponse(BaseModel):
    """The tracks and runs of a host's timeline; `runs` has only the newest ones."""

    first_ns: int | None
    last_ns: int | None
    runs: list[CaptureBlockResponse]
    runs_total: int
    tracks: list[TrackSummaryResponse]


class SourceLineResponse(BaseModel):
    """The line of an artifact that a value was read from."""

    artifact_id: UUID
    part: str
    line: int | None
    text: str | None
    run_id: UUID
    t_ns: int
    values: dict[str, float | None]
