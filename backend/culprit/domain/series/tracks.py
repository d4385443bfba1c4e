"""The data of a timeline track at one zoom: rows of several chunks joined and reduced to pixels.

A pixel shows the minimum, the mean and the maximum of its rows, so that zooming out loses no peak. A gap is where
nothing was measured for longer than the typical step and longer than a pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from culprit.domain.series.chunks import Float, Int, SeriesRows, aggregate_groups

MAX_WIDTH = 4000
# How many numbers one matrix track may answer with: a cell narrower than this allows cannot be seen anyway.
MAX_CELLS = 160_000


@dataclass(frozen=True, slots=True)
class TrackPiece:
    """Rows of chunks, the columns they run over, and the pause from which they do not join: one, or per row."""

    rows: SeriesRows
    columns: tuple[str, ...]
    gap_ns: int | Int


@dataclass(frozen=True, slots=True)
class TimelineTrack:
    """What is drawn. `gaps` are pairs [from, to] within the asked range, ascending, wider than a pixel."""

    rows: SeriesRows
    columns: tuple[str, ...]
    gaps: list[tuple[int, int]]


def make_empty_rows(k: int = 1) -> SeriesRows:
    """No rows of k columns."""
    none = np.zeros(0, np.int64)
    blank = np.zeros((0, k))
    return SeriesRows(none, none, blank, blank, blank, blank)


def compute_pixel_ns(from_ns: int, to_ns: int, width: int) -> int:
    """Return the time that one pixel covers; at least 1 ns."""
    return max(1, -(-(to_ns - from_ns) // width))


def count_bins(width: int, k: int) -> int:
    """How many cells of time a track of k columns gets at this width."""
    return max(1, min(width, MAX_WIDTH, MAX_CELLS // max(1, k)))


def build_track(pieces: Sequence[TrackPiece], from_ns: int, to_ns: int, width: int) -> TimelineTrack:
    """Joins, sorts, clips to [from_ns, to_ns) and reduces; columns are the union in the order seen."""
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
    """All column names, each once, in the order in which they were first seen."""
    return tuple(dict.fromkeys(name for names in dict.fromkeys(columns) for name in names))


def _join_pieces(pieces: Sequence[TrackPiece], columns: tuple[str, ...]) -> tuple[SeriesRows, Int]:
    """One table of rows ascending by start, on all `columns`; and the gap limit of each row."""
    if not pieces:
        return make_empty_rows(len(columns)), np.zeros(0, np.int64)
    where = {name: at for at, name in enumerate(columns)}
    spread = [_align_piece(piece, columns, where) for piece in pieces]
    start = np.concatenate([rows.start_ns for rows in spread])
    limit = np.concatenate([np.broadcast_to(p.gap_ns, p.rows.n).astype(np.int64) for p in pieces])
    rows = SeriesRows(
        start,
        np.concatenate([rows.end_ns for rows in spread]),
        *(np.concatenate([getattr(rows, plane) for rows in spread]) for plane in _PLANES),
    )
    if np.all(start[1:] >= start[:-1]):
        return rows, limit
    order = np.argsort(start, kind="stable")
    return _select_rows(rows, order), limit[order]


_PLANES = ("low", "mean", "high", "count")


def _select_rows(rows: SeriesRows, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> SeriesRows:
    """The rows at `which`, an index or a mask."""
    return SeriesRows(
        rows.start_ns[which],
        rows.end_ns[which],
        *(getattr(rows, plane)[which] for plane in _PLANES),
    )


def _align_piece(piece: TrackPiece, columns: tuple[str, ...], where: dict[str, int]) -> SeriesRows:
    """The rows of a piece on all columns: those that it does not know are no data."""
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
    """One row per pixel that something fell into; rows must ascend by start."""
    if rows.n == 0:
        return rows
    index = np.maximum(rows.start_ns - from_ns, 0) // pixel
    starts = np.concatenate(([0], np.flatnonzero(np.diff(index)) + 1))
    low, mean, high, count = aggregate_groups(rows, starts)
    return SeriesRows(rows.start_ns[starts], np.maximum.reduceat(rows.end_ns, starts), low, mean, high, count)


def find_gaps(rows: SeriesRows, gap_ns: Int, from_ns: int, to_ns: int, pixel: int) -> list[tuple[int, int]]:
    """Where nothing was measured: pauses above the limit of the row before them and above one pixel."""
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
    """Rounded to `digits` significant digits: what a picture needs, at half the bytes on the wire."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(values)))
    power = np.where(np.isfinite(power), power, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = 10.0 ** (digits - 1 - power)
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
