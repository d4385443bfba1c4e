"""Parts of a whole over time: stacked, reading by reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import FigureTrack


@dataclass(frozen=True, slots=True)
class Stacked:
    """Tracks of one unit, the greatest first. `t_ms` are UTC milliseconds since 1970, as long as every track."""

    unit: str
    t_ms: tuple[float, ...]
    tracks: tuple[FigureTrack, ...]
    kind: Literal["stacked"] = "stacked"
