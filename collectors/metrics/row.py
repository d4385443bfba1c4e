"""What one row of the metric catalogue says."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Text

LaneKind = Literal["line", "area", "heatmap", "step"]
#: `counter`: the host counts up and the parser made a rate or difference of it; `gauge`: read as it is.
Nature = Literal["counter", "gauge"]
Unit = Literal[
    "pct",
    "per_s",
    "count",
    "kb",
    "kb_per_s",
    "mb_per_s",
    "ms",
    "packets_per_s",
    "pages_per_s",
    "bytes",
    "mhz",
]


@dataclass(frozen=True, slots=True)
class Lane:
    """How a timeline draws the metric: its group, its place, and the kind of drawing."""

    group: str
    order: int
    kind: LaneKind


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `labels` are the label names that its series carry; `axis` is what a matrix runs over.

    `kb` and `mb` are steps of 1024 bytes, as vmstat and iostat print them.
    """

    id: str
    unit: Unit
    nature: Nature
    labels: tuple[str, ...]
    axis: str | None
    title: Text
    meaning: Text
    lane: Lane


def rate(metric: str, group: str, order: int, en: str, zh: str, meaning_en: str, meaning_zh: str) -> Metric:
    """A counter of the whole host, as a line of events a second."""
    lane = Lane(group, order, "line")
    return Metric(metric, "per_s", "counter", (), None, Text(en, zh), Text(meaning_en, meaning_zh), lane)
