"""Several numbers of one thing over one time axis: a panel for each unit, marks across all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, FigureTrack, Label
from culprit.domain.rules.finding import Citation

#: Readings of one panel; more are thinned to those that stand out.
MAX_READINGS = 600


@dataclass(frozen=True, slots=True)
class PanelLevel:
    """A horizontal line: a limit, a capacity."""

    label: Label
    figure: Figure


@dataclass(frozen=True, slots=True)
class Panel:
    """Tracks of one unit at the times `t_ns` (UTC, ascending). `stack` puts them on each other, `area` fills one.

    `related` are drawn dashed: of another collector, brought to the same times, in the same unit.
    """

    id: str
    label: Label
    unit: str
    shape: Literal["line", "area", "stack"]
    t_ns: tuple[int, ...]
    tracks: tuple[FigureTrack, ...]
    related: tuple[FigureTrack, ...] = ()
    levels: tuple[PanelLevel, ...] = ()


@dataclass(frozen=True, slots=True)
class PanelMarker:
    """Something that happened at an instant, across all panels; it may lie before the first reading."""

    t_ns: int
    label: Label
    detail: str
    is_critical: bool
    citation: Citation


@dataclass(frozen=True, slots=True)
class PanelPart:
    """One share of something: where blocked tasks stand, who faults. `about` is what the host calls it."""

    label: Label
    about: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Panels:
    """`facts` are single numbers of the same thing; `parts`, the largest first, are what `parts_label`."""

    from_ns: int
    to_ns: int
    panels: tuple[Panel, ...]
    moments: tuple[PanelMarker, ...] = ()
    facts: tuple[tuple[Label, Figure], ...] = ()
    parts_label: Label = ""
    parts: tuple[PanelPart, ...] = ()
    kind: Literal["panels"] = "panels"
