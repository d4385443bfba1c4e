"""Request bodies of pins: evidence that can be opened again."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from culprit.evidence.profiles.schemas import ProfileFilterParams
from culprit.incidents.records.requests import StepKey, StrictRequest, VersionedRequest

MAX_LINES = 200
MAX_FRAMES = 512
MAX_NS = (1 << 63) - 1
#: A path of this site, never an address of another host.
View = Annotated[str, StringConstraints(pattern=r"^/([^/\\\x00][^\x00]*)?$", max_length=4000)]
Cell = Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,200}$")]
Ns = Annotated[int, Field(ge=0, le=MAX_NS)]


class RangeRef(StrictRequest):
    """A time range on the tracks of a host, of one metric or of all metrics."""

    run_id: UUID
    host_id: UUID
    metric: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,200}$")] = ""
    from_ns: Ns
    to_ns: Ns


class FrameRef(StrictRequest):
    """A frame of a flame graph: its stack from the root, and the filter of the samples.

    `share` is ignored; the server computes it.
    """

    profile_id: UUID
    frames: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,4000}$")]],
        Field(min_length=1, max_length=MAX_FRAMES),
    ]
    filter: ProfileFilterParams = ProfileFilterParams()
    share: float | None = None


class RowRef(StrictRequest):
    """A row (from 0) of a table of a run, selected by ID or by collector and kind. `cells` are highlighted columns."""

    run_id: UUID
    table_id: UUID | None = None
    collector: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,100}$")] = ""
    kind: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,100}$")] = ""
    row: Annotated[int, Field(ge=0, le=1_000_000)]
    cells: Annotated[list[Cell] | None, Field(max_length=100)] = None


class LineRef(StrictRequest):
    """Lines (from 1) of a part of an artifact."""

    artifact_id: UUID
    part: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,200}$")] = ""
    lines: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000_000)]], Field(min_length=1, max_length=MAX_LINES)
    ]


class ComparisonRef(StrictRequest):
    """Two runs or two profiles to compare."""

    left: UUID
    right: UUID
    what: Literal["runs", "profiles"]


class _Pin(VersionedRequest):
    view: View
    step: StepKey | None = None


class RangePin(_Pin):
    """A pin of a time range."""

    kind: Literal["range"]
    ref: RangeRef


class FramePin(_Pin):
    """A pin of a frame."""

    kind: Literal["frame"]
    ref: FrameRef


class RowPin(_Pin):
    """A pin of a row."""

    kind: Literal["row"]
    ref: RowRef


class LinePin(_Pin):
    """A pin of lines."""

    kind: Literal["line"]
    ref: LineRef


class ComparisonPin(_Pin):
    """A pin of a comparison."""

    kind: Literal["comparison"]
    ref: ComparisonRef


PinCreate = Annotated[RangePin | FramePin | RowPin | LinePin | ComparisonPin, Field(discriminator="kind")]
