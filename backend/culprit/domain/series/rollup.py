"""Roll up the chunk summaries of a series to hours and days. Without I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from culprit.domain.series.chunks import Float, SeriesRows, aggregate_groups
from culprit.domain.series.tracks import merge_columns

HOURS = 24
LOW, MEAN, HIGH, COUNT = range(4)


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Minimum, mean, maximum and count over a time range (`planes` [4, k]), and the names of the k columns."""

    columns: tuple[str, ...]
    planes: npt.NDArray[np.floating[Any]]


def combine_rows(rows: Sequence[SummaryRow]) -> SummaryRow | None:
    """Combine rows into one, or return None without rows. Means are weighted by their counts."""
    if not rows:
        return None
    columns = merge_columns([row.columns for row in rows])
    stacked = np.stack([align_columns(row, columns) for row in rows])
    at = np.zeros(len(rows), np.int64)
    table = SeriesRows(at, at, *(stacked[:, plane] for plane in range(4)))
    return SummaryRow(columns, np.concatenate(aggregate_groups(table, np.zeros(1, np.intp))))


def align_columns(row: SummaryRow, columns: tuple[str, ...]) -> Float:
    """Return the planes of a row on `columns`, float64 [4, len(columns)]; columns that it lacks have no data."""
    if row.columns == columns:
        return row.planes.astype(np.float64)
    where = {name: at for at, name in enumerate(columns)}
    wide = make_empty_planes(len(columns))
    wide[:, [where[name] for name in row.columns]] = row.planes
    return wide


def make_empty_planes(k: int) -> Float:
    """Return planes without data, float64 [4, k]: NaN, and 0 for the count."""
    wide = np.full((4, k), np.nan)
    wide[COUNT] = 0
    return wide


def update_day(
    columns: tuple[str, ...], planes: Sequence[bytes] | None, hours: Mapping[int, SummaryRow | None]
) -> tuple[tuple[str, ...], list[bytes]]:
    """Replace hours of a stored day. Return its columns and its four planes, each as bytes of float32 [24, k].

    `planes` is the stored day on `columns`, or None for a new day. An hour that is None has no data.
    """
    wider = merge_columns([columns, *(row.columns for row in hours.values() if row is not None)])
    day = np.repeat(make_empty_planes(len(wider))[:, None, :], HOURS, axis=1)
    if planes is not None:
        where = [wider.index(name) for name in columns]
        for plane, data in enumerate(planes):
            day[plane][:, where] = np.frombuffer(data, "<f4").reshape(HOURS, len(columns))
    for hour, row in hours.items():
        day[:, hour] = make_empty_planes(len(wider)) if row is None else align_columns(row, wider)
    return wider, [plane.astype("<f4").tobytes() for plane in day]
