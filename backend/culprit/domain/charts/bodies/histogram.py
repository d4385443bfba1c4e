"""Body of histograms: bins, named bands and markers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.charts.bodies.gauges import Tone


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """The number of values in [low, high). `count` cites the lines of the first of them."""

    low: float
    high: float
    count: Figure


@dataclass(frozen=True, slots=True)
class HistogramBand:
    """A named range of values, such as the delay of a retransmit."""

    low: float
    high: float
    label: Label
    tone: Tone


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bins of `unit` in ascending order without empty ones. `markers` are quantiles and similar values.

    `unbinned` are counts outside of all bins, such as requests without a response.
    """

    unit: str
    bins: tuple[HistogramBin, ...]
    bands: tuple[HistogramBand, ...]
    markers: tuple[tuple[Label, Figure], ...]
    unbinned: tuple[tuple[Label, Figure, Tone], ...] = ()
    kind: Literal["histogram"] = "histogram"
