"""What tracks were at, span by span: threads over their system calls, CPUs over their tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Label
from culprit.domain.rules.finding import Citation


@dataclass(frozen=True, slots=True)
class GanttSpan:
    """One span of a track: from `at_ms` after the beginning for `ms`, read from `line`.

    `category` is the ID of one of the categories of the body; `mark` a word that must not be missed (an error's name).
    """

    at_ms: float
    ms: float
    category: str
    label: str
    line: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class GanttBracket:
    """What spans of a track were for: a request from `at_ms` for `ms`, read from `line`.

    `open`: its end was not seen.
    """

    at_ms: float
    ms: float
    label: str
    line: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class GanttTrack:
    """One track with its spans in order of time; they may overlap. `citation` lacks the lines, which spans have."""

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
