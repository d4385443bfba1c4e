"""Build the data of a timeline track at a zoom level: join the rows of chunks and reduce them to pixels.

A pixel has the minimum, mean and maximum of its rows, so that zooming out loses no peak. A gap is a pause without
readings that is longer than the gap limit of the series and longer than a pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from culprit.domain.series.chunks import Float, Int, SeriesRows, aggregate_groups

MAX_WIDTH = 4000
# Maximum number of cells of a matrix track in a response. Narrower cells would not be visible.
MAX_CELLS = 160_000


@dataclass(frozen=True, slots=True)
class TrackPiece:
    """Rows of chunks with their columns, and the gap limit: one for all rows, or one per row."""

    rows: SeriesRows
    columns: tuple[str, ...]
    gap_ns: int | Int


@dataclass(frozen=True, slots=True)
class TimelineTrack:
    """Data of a timeline track. `gaps` are ascending pairs (from, to) in ns within the range, wider than a pixel."""

    rows: SeriesRows
    columns: tuple[str, ...]
    gaps: list[tuple[int, int]]


def make_empty_rows(k: int = 1) -> SeriesRows:
    """Return zero rows of k columns."""
    none = np.zeros(0, np.int64)
    blank = np.zeros((0, k))
    return SeriesRows(none, none, blank, blank, blank, blank)


def compute_pixel_ns(from_ns: int, to_ns: int, width: int) -> int:
    """Return the time that one pixel covers; at least 1 ns."""
    return max(1, -(-(to_ns - from_ns) // width))


def count_bins(width: int, k: int) -> int:
    """Return the number of time bins of a track with k columns at this width in pixels."""
    return max(1, min(width, MAX_WIDTH, MAX_CELLS // max(1, k)))


def build_track(pieces: Sequence[TrackPiece], from_ns: int, to_ns: int, width: int) -> TimelineTrack:
    """Join and sort the rows, clip them to [from_ns, to_ns) and reduce them to pixels.

    The columns are the union of those of the pieces, in the order of their first occurrence.
    """
    columns = merge_columns([piece.columns for piece in pieces])
    rows, gap_ns = _join_pieces(pieces, columns)
    inside = (rows.end_ns >= from_ns) & (rows.start_ns < to_ns)
    if not inside.all():
        rows, gap_ns = _select_rows(rows, inside), gap_ns[inside]
    pixel = compute_pixel_ns(from_ns, to_ns, width)
    holes = find_gaps(rows, gap_ns, from_ns, to_ns, pixel)
    bins = count_bins(width, len(columns))
    if rows.n > bins:
        rows = reduce_to_pixels(rows, from_ns, compute_pixel_ns(from_ns, to_ns, bins))
    return TimelineTrack(rows, columns, holes)


def merge_columns(columns: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the distinct column names in the order of their first occurrence."""
    return tuple(dict.fromkeys(name for names in dict.fromkeys(columns) for name in names))


def _join_pieces(pieces: Sequence[TrackPiece], columns: tuple[str, ...]) -> tuple[SeriesRows, Int]:
    """Return the rows of all pieces on `columns`, ascending by start, and the gap limit of each row."""
    if not pieces:
        return make_empty_rows(len(columns)), np.zeros(0, np.int64)
    where = {name: at for at, name in enumerate(columns)}
    aligned = [_align_piece(piece, columns, where) for piece in pieces]
    start = np.concatenate([rows.start_ns for rows in aligned])
    limit = np.concatenate([np.broadcast_to(p.gap_ns, p.rows.n).astype(np.int64) for p in pieces])
    rows = SeriesRows(
        start,
        np.concatenate([rows.end_ns for rows in aligned]),
        *(np.concatenate([getattr(rows, plane) for rows in aligned]) for plane in _PLANES),
    )
    if np.all(start[1:] >= start[:-1]):
        return rows, limit
    order = np.argsort(start, kind="stable")
    return _select_rows(rows, order), limit[order]


_PLANES = ("low", "mean", "high", "count")


def _select_rows(rows: SeriesRows, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> SeriesRows:
    """Return the rows that `which` selects, an index array or a mask."""
    return SeriesRows(
        rows.start_ns[which],
        rows.end_ns[which],
        *(getattr(rows, plane)[which] for plane in _PLANES),
    )


def _align_piece(piece: TrackPiece, columns: tuple[str, ...], where: dict[str, int]) -> SeriesRows:
    """Return the rows of a piece on all columns; columns that it lacks have no data."""
    if piece.columns == columns:
        return piece.rows
    at = [where[name] for name in piece.columns]
    planes: list[Float] = []
    for plane in _PLANES:
        wide = np.full((piece.rows.n, len(columns)), 0.0 if plane == "count" else np.nan)
        wide[:, at] = getattr(piece.rows, plane)
        planes.append(wide)
    return SeriesRows(piece.rows.start_ns, piece.rows.end_ns, *planes)


def reduce_to_pixels(rows: SeriesRows, from_ns: int, pixel: int) -> SeriesRows:
    """Aggregate the rows of each pixel; pixels without rows are left out. `rows` must ascend by start."""
    if rows.n == 0:
        return rows
    index = np.maximum(rows.start_ns - from_ns, 0) // pixel
    starts = np.concatenate(([0], np.flatnonzero(np.diff(index)) + 1))
    low, mean, high, count = aggregate_groups(rows, starts)
    return SeriesRows(rows.start_ns[starts], np.maximum.reduceat(rows.end_ns, starts), low, mean, high, count)


def find_gaps(rows: SeriesRows, gap_ns: Int, from_ns: int, to_ns: int, pixel: int) -> list[tuple[int, int]]:
    """Return the gaps as (from, to) in ns: pauses above the gap limit of the preceding row and above one pixel."""
    if rows.n == 0:
        return [(from_ns, to_ns)]
    results: list[tuple[int, int]] = []
    if rows.start_ns[0] - from_ns > max(pixel, int(gap_ns[0])):
        results.append((from_ns, int(rows.start_ns[0])))
    reached = np.maximum.accumulate(rows.end_ns)
    pause = rows.start_ns[1:] - reached[:-1]
    for at in np.flatnonzero(pause > np.maximum(gap_ns[:-1], pixel)):
        results.append((int(reached[at]), int(rows.start_ns[at + 1])))
    if to_ns - reached[-1] > max(pixel, int(gap_ns[-1])):
        results.append((int(reached[-1]), to_ns))
    return results


def round_significant(values: Float, digits: int = 5) -> Float:
    """Round to significant digits, which suffices for charts and halves the size of a response."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(values)))
    power = np.where(np.isfinite(power), power, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = 10.0 ** (digits - 1 - power)
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
