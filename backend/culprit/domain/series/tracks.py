"""What a lane of a timeline shows at one zoom: rows of several chunks joined and reduced to the pixels.

A pixel shows the minimum, the mean and the maximum of what fell into it, so that no peak is lost by zooming
out. A gap is said where nothing was measured for longer than the usual step and longer than a pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from culprit.core.chunks import Float, Int, Rows, gather

MAX_WIDTH = 4000
# How many numbers one matrix lane may answer with: a cell narrower than this allows cannot be seen anyway.
MAX_CELLS = 160_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of chunks, the columns they run over, and the pause from which they do not join: one, or per row."""

    rows: Rows
    columns: tuple[str, ...]
    gap_ns: int | Int


@dataclass(frozen=True, slots=True)
class Lane:
    """What is drawn. `gaps` are pairs [from, to] within the asked range, ascending, wider than a pixel."""

    rows: Rows
    columns: tuple[str, ...]
    gaps: list[tuple[int, int]]


def empty(k: int = 1) -> Rows:
    """No rows of k columns."""
    none = np.zeros(0, np.int64)
    blank = np.zeros((0, k))
    return Rows(none, none, blank, blank, blank, blank)


def pixel_ns(from_ns: int, to_ns: int, width: int) -> int:
    """How much time one pixel stands for; at least 1 ns."""
    return max(1, -(-(to_ns - from_ns) // width))


def bins_for(width: int, k: int) -> int:
    """How many cells of time a lane of k columns gets at this width."""
    return max(1, min(width, MAX_WIDTH, MAX_CELLS // max(1, k)))


def lane(pieces: Sequence[Piece], from_ns: int, to_ns: int, width: int) -> Lane:
    """Joins, sorts, clips to [from_ns, to_ns) and reduces; columns are the union in the order seen."""
    columns = union([piece.columns for piece in pieces])
    rows, gap_ns = _join(pieces, columns)
    inside = (rows.end_ns >= from_ns) & (rows.start_ns < to_ns)
    if not inside.all():
        rows, gap_ns = _pick(rows, inside), gap_ns[inside]
    pixel = pixel_ns(from_ns, to_ns, width)
    holes = gaps(rows, gap_ns, from_ns, to_ns, pixel)
    bins = bins_for(width, len(columns))
    if rows.n > bins:
        rows = reduce(rows, from_ns, pixel_ns(from_ns, to_ns, bins))
    return Lane(rows, columns, holes)


def union(columns: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All column names, each once, in the order in which they were first seen."""
    return tuple(dict.fromkeys(name for names in dict.fromkeys(columns) for name in names))


def _join(pieces: Sequence[Piece], columns: tuple[str, ...]) -> tuple[Rows, Int]:
    """One table of rows ascending by start, on all `columns`; and the gap limit of each row."""
    if not pieces:
        return empty(len(columns)), np.zeros(0, np.int64)
    where = {name: at for at, name in enumerate(columns)}
    spread = [_spread(piece, columns, where) for piece in pieces]
    start = np.concatenate([rows.start_ns for rows in spread])
    limit = np.concatenate([np.broadcast_to(p.gap_ns, p.rows.n).astype(np.int64) for p in pieces])
    rows = Rows(
        start,
        np.concatenate([rows.end_ns for rows in spread]),
        *(np.concatenate([getattr(rows, plane) for rows in spread]) for plane in _PLANES),
    )
    if np.all(start[1:] >= start[:-1]):
        return rows, limit
    order = np.argsort(start, kind="stable")
    return _pick(rows, order), limit[order]


_PLANES = ("low", "mean", "high", "count")


def _pick(rows: Rows, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Rows:
    """The rows at `which`, an index or a mask."""
    return Rows(
        rows.start_ns[which],
        rows.end_ns[which],
        *(getattr(rows, plane)[which] for plane in _PLANES),
    )


def _spread(piece: Piece, columns: tuple[str, ...], where: dict[str, int]) -> Rows:
    """The rows of a piece on all columns: those that it does not know are no data."""
    if piece.columns == columns:
        return piece.rows
    at = [where[name] for name in piece.columns]
    planes: list[Float] = []
    for plane in _PLANES:
        wide = np.full((piece.rows.n, len(columns)), 0.0 if plane == "count" else np.nan)
        wide[:, at] = getattr(piece.rows, plane)
        planes.append(wide)
    return Rows(piece.rows.start_ns, piece.rows.end_ns, *planes)


def reduce(rows: Rows, from_ns: int, pixel: int) -> Rows:
    """One row per pixel that something fell into; rows must ascend by start."""
    if rows.n == 0:
        return rows
    index = np.maximum(rows.start_ns - from_ns, 0) // pixel
    starts = np.concatenate(([0], np.flatnonzero(np.diff(index)) + 1))
    low, mean, high, count = gather(rows, starts)
    return Rows(rows.start_ns[starts], np.maximum.reduceat(rows.end_ns, starts), low, mean, high, count)


def gaps(rows: Rows, gap_ns: Int, from_ns: int, to_ns: int, pixel: int) -> list[tuple[int, int]]:
    """Where nothing was measured: pauses above the limit of the row before them and above one pixel."""
    if rows.n == 0:
        return [(from_ns, to_ns)]
    found: list[tuple[int, int]] = []
    if rows.start_ns[0] - from_ns > max(pixel, int(gap_ns[0])):
        found.append((from_ns, int(rows.start_ns[0])))
    reached = np.maximum.accumulate(rows.end_ns)
    pause = rows.start_ns[1:] - reached[:-1]
    for at in np.flatnonzero(pause > np.maximum(gap_ns[:-1], pixel)):
        found.append((int(reached[at]), int(rows.start_ns[at + 1])))
    if to_ns - reached[-1] > max(pixel, int(gap_ns[-1])):
        found.append((int(reached[-1]), to_ns))
    return found


def significant(values: Float, digits: int = 5) -> Float:
    """Rounded to `digits` significant digits: what a picture needs, at half the bytes on the wire."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(values)))
    power = np.where(np.isfinite(power), power, 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = 10.0 ** (digits - 1 - power)
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
