"""Bars that fill up: queues, port ranges, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label

Tone = Literal["good", "warn", "bad", "none"]


@dataclass(frozen=True, slots=True)
class Gauge:
    """One thing with a capacity. `low` is what it never fell below, where it was looked at more than once.

    `tone` is the verdict of the builder, `none` where nothing is judged; `also` are further numbers of the same row.
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
    """Bars, the fullest first. `value_label` and `capacity_label` name what the bar and its end are."""

    value_label: Label
    capacity_label: Label
    rows: tuple[Gauge, ...]
    kind: Literal["gauges"] = "gauges"
