"""Body of bar gauges: values against a capacity, such as queues, port ranges and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label

Tone = Literal["good", "warn", "bad", "none"]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value with its capacity. `low` is the minimum over several samples.

    `tone` is the rating of the builder, `none` if there is none. `also` has further numbers of the same row.
    """

    id: str
    label: Label
    value: Figure
    capacity: Figure | None
    low: Figure | None = None
    tone: Tone = "none"
    also: tuple[tuple[Label, Figure], ...] = ()


@dataclass(frozen=True, slots=True)
class Gauges:
    """Gauges, the fullest first. `value_label` and `capacity_label` name the value and the capacity."""

    value_label: Label
    capacity_label: Label
    rows: tuple[Gauge, ...]
    kind: Literal["gauges"] = "gauges"
