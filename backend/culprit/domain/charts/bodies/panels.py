"""Several numbers of one thing over one time axis: a panel for each unit, marks across all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.core.rules.contract import Citation
from culprit.core.visuals.bodies.figure import Figure, Label, Track

#: Readings of one panel; more are thinned to those that stand out.
MAX_READINGS = 600


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line: a limit, a capacity."""

    label: Label
    figure: Figure


@dataclass(frozen=True, slots=True)
class Panel:
    """Tracks of one unit at the times `t_ns` (UTC, ascending). `stack` puts them on each other, `area` fills one.

    `beside` are drawn dashed: of another collector, brought to the same times, in the same unit.
    """

    id: str
    label: Label
    unit: str
    look: Literal["line", "area", "stack"]
    t_ns: tuple[int, ...]
    tracks: tuple[Track, ...]
    beside: tuple[Track, ...] = ()
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at an instant, across all panels; it may lie before the first reading."""

    t_ns: int
    label: Label
    detail: str
    grave: bool
    cite: Citation


@dataclass(frozen=True, slots=True)
class Part:
    """One share of something: where blocked tasks stand, who faults. `about` is what the host calls it."""

    label: Label
    about: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Panels:
    """`facts` are single numbers of the same thing; `parts`, the largest first, are what `parts_say`."""

    from_ns: int
    to_ns: int
    panels: tuple[Panel, ...]
    moments: tuple[Moment, ...] = ()
    facts: tuple[tuple[Label, Figure], ...] = ()
    parts_say: Label = ""
    parts: tuple[Part, ...] = ()
    kind: Literal["panels"] = "panels"
