"""What comes in about evidence: places that can be shown again."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from culprit.incidents.given import Given, Key, Seen
from culprit.profiles.schemas import FilterParams

MAX_LINES = 200
MAX_FRAMES = 512
MAX_NS = (1 << 63) - 1
#: Of this site and nothing else: a path, never the name of another host.
View = Annotated[str, StringConstraints(pattern=r"^/([^/\\\x00][^\x00]*)?$", max_length=4000)]
Cell = Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,200}$")]
Ns = Annotated[int, Field(ge=0, le=MAX_NS)]


class RangeRef(Given):
    """A time on a host's lanes; of one metric, or of all that is shown."""

    run_id: UUID
    host_id: UUID
    metric: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,200}$")] = ""
    from_ns: Ns
    to_ns: Ns


class FrameRef(Given):
    """A frame of a flame graph, by its stack from the root, of the samples that were shown.

    `share` is ignored: the server looks it up.
    """

    profile_id: UUID
    frames: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,4000}$")]],
        Field(min_length=1, max_length=MAX_FRAMES),
    ]
    filter: FilterParams = FilterParams()
    share: float | None = None


class RowRef(Given):
    """A row (from 0) of a table of a run, named by id or by collector and kind; `cells` are columns to point at."""

    run_id: UUID
    table_id: UUID | None = None
    collector: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,100}$")] = ""
    kind: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,100}$")] = ""
    row: Annotated[int, Field(ge=0, le=1_000_000)]
    cells: Annotated[list[Cell] | None, Field(max_length=100)] = None


class LineRef(Given):
    """Lines (from 1) of a part of an artifact."""

    artifact_id: UUID
    part: Annotated[str, StringConstraints(pattern=r"^[^\x00]{0,200}$")] = ""
    lines: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000_000)]], Field(min_length=1, max_length=MAX_LINES)
    ]


class ComparisonRef(Given):
    """Two of a kind beside each other."""

    left: UUID
    right: UUID
    what: Literal["runs", "profiles"]


class _Pin(Seen):
    view: View
    step: Key | None = None


class RangePin(_Pin):
    """A range of time."""

    kind: Literal["range"]
    ref: RangeRef


class FramePin(_Pin):
    """A frame."""

    kind: Literal["frame"]
    ref: FrameRef


class RowPin(_Pin):
    """A row."""

    kind: Literal["row"]
    ref: RowRef


class LinePin(_Pin):
    """Lines."""

    kind: Literal["line"]
    ref: LineRef


class ComparisonPin(_Pin):
    """A comparison."""

    kind: Literal["comparison"]
    ref: ComparisonRef


PinAdd = Annotated[RangePin | FramePin | RowPin | LinePin | ComparisonPin, Field(discriminator="kind")]
