"""Response schemas of the timeline. Times `*_ns` are UTC nanoseconds; null in a value is no data."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel

from culprit.domain.rules.finding import Severity
from culprit.web.schemas import MessageRef


class TrackPoints(BaseModel):
    """A track without an axis. Lists of one length."""

    t_ns: list[int]
    min: list[float | None]
    mean: list[float | None]
    max: list[float | None]


class TrackMatrix(BaseModel):
    """A track with an axis: for every time one value per axis value."""

    t_ns: list[int]
    values: list[list[float | None]]


class ChunkSourceResponse(BaseModel):
    """Whose bytes a part of a track was read from."""

    run_id: UUID
    collector: str | None
    artifact_id: UUID | None


class TypicalRangeResponse(BaseModel):
    """What Prometheus measured at the same hours of earlier days, for one run: 10 %, median and 90 % of the values.

    Lists of one length. `days` is how many earlier days have data there; where they are too few, `low`, `median` and
    `high` are null. `failure` is a sentence where earlier days could not be asked for; nothing is listed then.
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
    """One metric with its labels. `level` is "hours", "chunks", or how often rows were condensed by eight.

    `typical` ascends and does not overlap; it is empty without a Prometheus query, and over views so long that a
    pixel is an hour.
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
    """One run as a block on the timeline. Data from `look_back_ns` on comes from a look-back buffer on the host."""

    run_id: UUID
    capture_id: UUID
    number: int
    plan: str
    state: str
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
    """From the first to the last moment of which anything is known; null where nothing is."""

    first_ns: int | None
    last_ns: int | None


class TimelineResponse(BaseModel):
    """What one view of a timeline shows. `…_total` counts what there is in the range, shown or not."""

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
    """A track that a host has, and when."""

    metric: str
    labels: dict[str, str]
    unit: str
    axis: str | None
    kind: str
    group: str
    first_ns: int
    last_ns: int


class TimelineOverviewResponse(BaseModel):
    """What a host's timeline consists of; `runs` holds the newest ones."""

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
