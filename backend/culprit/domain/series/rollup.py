"""Hours and days of a series out of the summaries of its chunks. Pure."""

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
    """Minimum, mean, maximum and count [4, k] over some time, and the columns they are of."""

    columns: tuple[str, ...]
    planes: npt.NDArray[np.floating[Any]]


def combine_rows(rows: Sequence[SummaryRow]) -> SummaryRow | None:
    """Several rows as one; None for none. Means are weighted by their counts."""
    if not rows:
        return None
    columns = merge_columns([row.columns for row in rows])
    stacked = np.stack([align_columns(row, columns) for row in rows])
    at = np.zeros(len(rows), np.int64)
    table = SeriesRows(at, at, *(stacked[:, plane] for plane in range(4)))
    return SummaryRow(columns, np.concatenate(aggregate_groups(table, np.zeros(1, np.intp))))


def align_columns(row: SummaryRow, columns: tuple[str, ...]) -> Float:
    """[4, len(columns)]: the row on more columns; the others are no data."""
    if row.columns == columns:
        return row.planes.astype(np.float64)
    where = {name: at for at, name in enumerate(columns)}
    wide = make_empty_planes(len(columns))
    wide[:, [where[name] for name in row.columns]] = row.planes
    return wide


def make_empty_planes(k: int) -> Float:
    """[4, k] of no data."""
    wide = np.full((4, k), np.nan)
    wide[COUNT] = 0
    return wide


def update_day(
    columns: tuple[str, ...], planes: Sequence[bytes] | None, hours: Mapping[int, SummaryRow | None]
) -> tuple[tuple[str, ...], list[bytes]]:
    """A stored day with some of its hours replaced: its columns, and its four planes as float32 [24, k].

    `planes` is the day as it was stored on `columns`, or None for a new one.
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
