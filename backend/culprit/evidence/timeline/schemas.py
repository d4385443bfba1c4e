"""What is said about a timeline. Times `*_ns` are int UTC nanoseconds; null in a value is no data."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import BaseModel


class Points(BaseModel):
    """A lane without an axis. Lists of one length."""

    t_ns: list[int]
    min: list[float | None]
    mean: list[float | None]
    max: list[float | None]


class Matrix(BaseModel):
    """A lane with an axis: for every time one value per axis value."""

    t_ns: list[int]
    values: list[list[float | None]]


class ChunkSource(BaseModel):
    """Whose bytes a part of a lane was read from."""

    run_id: UUID
    collector: str | None
    artifact_id: UUID | None


class UsualRead(BaseModel):
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
    failure: dict[str, Any] | None


class LaneRead(BaseModel):
    """One metric with its labels. `level` is "hours", "chunks", or how often rows were condensed by eight.

    `usual` ascends and does not overlap; it is empty where nobody asked a Prometheus, and over views so long that a
    pixel is an hour.
    """

    metric: str
    labels: dict[str, str]
    unit: str
    axis: str | None
    axis_values: list[str] | None
    level: int | str
    kind: str
    points: Points | None = None
    matrix: Matrix | None = None
    gaps: list[tuple[int, int]]
    chunks: list[ChunkSource]
    usual: list[UsualRead] = []


class CaptureBlock(BaseModel):
    """One run as a block on the timeline. From `look_back_ns` on a ring on the host had kept what came home, too."""

    run_id: UUID
    capture_id: UUID
    number: int
    plan: str
    state: str
    look_back_ns: int | None
    from_ns: int
    to_ns: int
    uncertainty_ns: int


class ToldRead(BaseModel):
    """Who told an event that was not read from a host: the account `by`, and `who` did it by their words."""

    by: str
    who: str
    link: str | None
    everywhere: bool


class EventRead(BaseModel):
    """Something that happened. `title` is a sentence. One that was told, and not read, cites no artifact."""

    id: UUID
    t_ns: int
    end_ns: int | None
    uncertainty_ns: int
    kind: str
    severity: str
    title: dict[str, Any]
    detail: str
    artifact_id: UUID | None
    line: int | None
    run_id: UUID | None
    told: ToldRead | None = None


class SpanRead(BaseModel):
    """From the first to the last moment of which anything is known; null where nothing is."""

    first_ns: int | None
    last_ns: int | None


class TimelineRead(BaseModel):
    """What one view of a timeline shows. `…_total` counts what there is in the range, shown or not."""

    from_ns: int
    to_ns: int
    lanes: list[LaneRead]
    lanes_total: int
    captures: list[CaptureBlock]
    captures_total: int
    events: list[EventRead]
    events_total: int
    range: SpanRead


class LaneName(BaseModel):
    """A lane that a host has, and when."""

    metric: str
    labels: dict[str, str]
    unit: str
    axis: str | None
    kind: str
    group: str
    first_ns: int
    last_ns: int


class OverviewRead(BaseModel):
    """What a host's timeline consists of; `runs` holds the newest ones."""

    first_ns: int | None
    last_ns: int | None
    runs: list[CaptureBlock]
    runs_total: int
    lanes: list[LaneName]


class CiteRead(BaseModel):
    """The line of an artifact that a value was read from."""

    artifact_id: UUID
    part: str
    line: int | None
    text: str | None
    run_id: UUID
    t_ns: int
    values: dict[str, float | None]
