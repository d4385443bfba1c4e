"""The definition of a metric, and of its track on the timeline."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Text

TrackKind = Literal["line", "area", "heatmap", "step"]
#: `counter`: the parser derives a rate or a difference from it. `gauge`: the value is used as it was read.
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
class TrackStyle:
    """How the timeline draws a metric: its group, its position, and the kind of track."""

    group: str
    order: int
    kind: TrackKind


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `labels` are the label names that its series carry; `axis` is the dimension of a matrix.

    `kb` and `mb` are powers of 1024 bytes, as vmstat and iostat print them.
    """

    id: str
    unit: Unit
    nature: Nature
    labels: tuple[str, ...]
    axis: str | None
    title: Text
    meaning: Text
    track: TrackStyle


def host_rate(
    metric: str, group: str, order: int, en: str, zh: str, meaning_en: str, meaning_zh: str
) -> Metric:
    """Return the metric of a counter of the whole host, drawn as events per second."""
    track = TrackStyle(group, order, "line")
    return Metric(metric, "per_s", "counter", (), None, Text(en, zh), Text(meaning_en, meaning_zh), track)
