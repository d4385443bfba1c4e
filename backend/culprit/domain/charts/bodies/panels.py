"""Body of panel charts: series of one subject on a common time axis, a panel per unit, markers across all panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, FigureTrack, Label
from culprit.domain.rules.finding import Citation

#: Maximum number of readings of a panel. Of more, the most extreme ones are kept.
MAX_READINGS = 600


@dataclass(frozen=True, slots=True)
class PanelLevel:
    """A horizontal line, such as a limit or a capacity."""

    label: Label
    figure: Figure


@dataclass(frozen=True, slots=True)
class Panel:
    """Tracks of one unit at the times `t_ns` (UTC, ascending). `shape` selects lines, a filled area, or a stack.

    `related` are dashed tracks of another collector in the same unit, aligned to the same times.
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
    """An event marker across all panels. It can be earlier than the first reading."""

    t_ns: int
    label: Label
    detail: str
    is_critical: bool
    citation: Citation


@dataclass(frozen=True, slots=True)
class PanelPart:
    """One part of a breakdown, such as a kernel function with blocked tasks. `about` is a detail from the host."""

    label: Label
    about: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels from `from_ns` to `to_ns`, event markers, and single numbers of the same subject (`facts`).

    `parts` is a breakdown, the largest part first; `parts_label` is its title.
    """

    from_ns: int
    to_ns: int
    panels: tuple[Panel, ...]
    moments: tuple[PanelMarker, ...] = ()
    facts: tuple[tuple[Label, Figure], ...] = ()
    parts_label: Label = ""
    parts: tuple[PanelPart, ...] = ()
    kind: Literal["panels"] = "panels"
