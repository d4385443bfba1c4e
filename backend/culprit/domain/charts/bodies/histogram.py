"""How often what was measured: bins, with bands that mean something and markers beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.core.visuals.bodies.figure import Figure, Label
from culprit.core.visuals.bodies.gauges import Tone


@dataclass(frozen=True, slots=True)
class Bin:
    """What fell from `low` (included) to `high`; `count` cites the lines of the first that did."""

    low: float
    high: float
    count: Figure


@dataclass(frozen=True, slots=True)
class Band:
    """A range that has a meaning of its own."""

    low: float
    high: float
    label: Label
    tone: Tone


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bins of `unit` in ascending order; those that hold nothing are left out. `markers` are quantiles and the like.

    `beside` are counts that belong to no bin: what was never answered.
    """

    unit: str
    bins: tuple[Bin, ...]
    bands: tuple[Band, ...]
    markers: tuple[tuple[Label, Figure], ...]
    beside: tuple[tuple[Label, Figure, Tone], ...] = ()
    kind: Literal["histogram"] = "histogram"
