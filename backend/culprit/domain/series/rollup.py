"""Hours and days of a lane out of the summaries of its chunks. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from culprit.core.chunks import Float, Rows, gather
from culprit.core.timeline import union

HOURS = 24
LOW, MEAN, HIGH, COUNT = range(4)


@dataclass(frozen=True, slots=True)
class Row:
    """Minimum, mean, maximum and count [4, k] over some time, and the columns they are of."""

    columns: tuple[str, ...]
    planes: npt.NDArray[np.floating[Any]]


def combine(rows: Sequence[Row]) -> Row | None:
    """Several rows as one; None for none. Means are weighted by their counts."""
    if not rows:
        return None
    columns = union([row.columns for row in rows])
    stacked = np.stack([spread(row, columns) for row in rows])
    at = np.zeros(len(rows), np.int64)
    table = Rows(at, at, *(stacked[:, plane] for plane in range(4)))
    return Row(columns, np.concatenate(gather(table, np.zeros(1, np.intp))))


def spread(row: Row, columns: tuple[str, ...]) -> Float:
    """[4, len(columns)]: the row on more columns; the others are no data."""
    if row.columns == columns:
        return row.planes.astype(np.float64)
    where = {name: at for at, name in enumerate(columns)}
    wide = blank(len(columns))
    wide[:, [where[name] for name in row.columns]] = row.planes
    return wide


def blank(k: int) -> Float:
    """[4, k] of no data."""
    wide = np.full((4, k), np.nan)
    wide[COUNT] = 0
    return wide


def day_with(
    columns: tuple[str, ...], planes: Sequence[bytes] | None, hours: Mapping[int, Row | None]
) -> tuple[tuple[str, ...], list[bytes]]:
    """A stored day with some of its hours replaced: its columns, and its four planes as float32 [24, k].

    `planes` is the day as it was stored on `columns`, or None for a new one.
    """
    wider = union([columns, *(row.columns for row in hours.values() if row is not None)])
    day = np.repeat(blank(len(wider))[:, None, :], HOURS, axis=1)
    if planes is not None:
        where = [wider.index(name) for name in columns]
        for plane, data in enumerate(planes):
            day[plane][:, where] = np.frombuffer(data, "<f4").reshape(HOURS, len(columns))
    for hour, row in hours.items():
        day[:, hour] = blank(len(wider)) if row is None else spread(row, wider)
    return wider, [plane.astype("<f4").tobytes() for plane in day]
