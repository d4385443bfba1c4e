"""Body of Gantt charts: tracks with spans, such as threads with their system calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Label
from culprit.domain.rules.finding import Citation


@dataclass(frozen=True, slots=True)
class GanttSpan:
    """One span of a track: it begins at `at_ms` after the start of the chart and takes `ms`. Its source is `line`.

    `category` is the ID of a category of the body; `mark` is a highlighted word, such as the name of an error.
    """

    at_ms: float
    ms: float
    category: str
    label: str
    line: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class GanttBracket:
    """A request that the thread of a track served: it begins at `at_ms` and takes `ms`. Its source is `line`.

    `open`: the request has no recorded end.
    """

    at_ms: float
    ms: float
    label: str
    line: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class GanttTrack:
    """One track with its spans in time order; they may overlap. `citation` has no lines, because each span has one."""

    id: str
    label: Label
    citation: Citation
    spans: tuple[GanttSpan, ...]
    brackets: tuple[GanttBracket, ...] = ()


@dataclass(frozen=True, slots=True)
class Gantt:
    """Tracks over one axis of `span_ms` milliseconds that begins at `start_ms` (UTC since 1970)."""

    start_ms: float
    span_ms: float
    categories: tuple[tuple[str, Label], ...]
    tracks: tuple[GanttTrack, ...]
    kind: Literal["gantt"] = "gantt"
