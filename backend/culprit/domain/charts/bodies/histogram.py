"""Distribution of a measured number: bins, named bands and markers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.charts.bodies.gauges import Tone


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """What fell from `low` (included) to `high`; `count` cites the lines of the first that did."""

    low: float
    high: float
    count: Figure


@dataclass(frozen=True, slots=True)
class HistogramBand:
    """A range that has a meaning of its own."""

    low: float
    high: float
    label: Label
    tone: Tone


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bins of `unit` in ascending order; those that hold nothing are left out. `markers` are quantiles and the like.

    `unbinned` are counts that belong to no bin: what was never answered.
    """

    unit: str
    bins: tuple[HistogramBin, ...]
    bands: tuple[HistogramBand, ...]
    markers: tuple[tuple[Label, Figure], ...]
    unbinned: tuple[tuple[Label, Figure, Tone], ...] = ()
    kind: Literal["histogram"] = "histogram"
