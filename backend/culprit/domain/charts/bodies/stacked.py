"""Body of stacked charts: parts of a whole over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import FigureTrack


@dataclass(frozen=True, slots=True)
class Stacked:
    """Tracks of one unit, the greatest first. `t_ms` are the common times in UTC milliseconds since 1970."""

    unit: str
    t_ms: tuple[float, ...]
    tracks: tuple[FigureTrack, ...]
    kind: Literal["stacked"] = "stacked"
