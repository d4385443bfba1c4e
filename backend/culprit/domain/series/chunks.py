"""Storage format of time series: chunks of a matrix [n, k], downsampled levels, and a summary.

A chunk never crosses a UTC hour, so that the chunks of an hour cover exactly that hour. Level 0 has the raw
rows. A row of level j aggregates up to 8^j adjacent raw rows: their start and end, and the minimum, mean,
maximum and count per column. It never spans a gap, so that gaps are preserved at every level. NaN is "no data"
throughout, which is not zero.

Encoding: zstd of a 24-byte header and little-endian planes in column order (columns compress better than
rows). Values are float32 if that is lossless, else float64.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import zstandard

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]

FACTOR = 8
HOUR_NS = 3_600_000_000_000
# A further level is stored only if the level below has more rows than this.
SMALLEST_LEVEL = 64
# A pause of more than this many median steps is a gap.
GAP_STEPS = 3.0
MAX_ROWS = 1 << 17
_HEADER = struct.Struct("<4sBBHIIq")
_MAGIC = b"CTC1"
_PLANES_RAW = 1
_PLANES_LEVEL = 4
# A larger decoded chunk is damaged.
_MAX_DECODED_BYTES = 1 << 30


class DamagedChunkError(ValueError):
    """The stored bytes are not a valid chunk."""


@dataclass(frozen=True, slots=True)
class SeriesRows:
    """Rows of one level. Shapes: `start_ns`, `end_ns` [m]; `low`, `mean`, `high`, `count` [m, k]."""

    start_ns: Int
    end_ns: Int
    low: Float
    mean: Float
    high: Float
    count: Float

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.start_ns)


def make_raw_rows(t_ns: Int, values: Float) -> SeriesRows:
    """Return the rows of level 0: each represents only itself."""
    count = (~np.isnan(values)).astype(np.float64)
    return SeriesRows(t_ns, t_ns, values, values, values, count)


def compute_median_step_ns(t_ns: Int) -> int:
    """Return the median distance of adjacent times; 0 for fewer than two."""
    return int(np.median(np.diff(t_ns))) if len(t_ns) > 1 else 0


def compute_gap_limit_ns(step_ns: int) -> int:
    """Return the longest pause between adjacent rows that is not a gap."""
    return int(step_ns * GAP_STEPS)


def split_by_hour(t_ns: Int) -> Iterator[slice]:
    """Split ascending times at UTC hours. Yield slices of at most MAX_ROWS rows."""
    if len(t_ns) == 0:
        return
    hours = t_ns // HOUR_NS
    edges = [0, *(np.flatnonzero(np.diff(hours)) + 1).tolist(), len(t_ns)]
    for begin, end in pairwise(edges):
        for at in range(begin, end, MAX_ROWS):
            yield slice(at, min(at + MAX_ROWS, end))


def build_levels(t_ns: Int, values: Float) -> list[SeriesRows]:
    """Return the downsampled levels 1, 2, … of raw rows; none for a short chunk."""
    levels: list[SeriesRows] = []
    rows = make_raw_rows(t_ns, values)
    limit = compute_gap_limit_ns(compute_median_step_ns(t_ns))
    while rows.n > SMALLEST_LEVEL:
        above = _build_next_level(rows, limit)
        if above.n == rows.n:
            break
        levels.append(above)
        rows = above
    return levels


def _build_next_level(rows: SeriesRows, gap_ns: int) -> SeriesRows:
    """Return the next level: groups of FACTOR adjacent rows that do not span a gap."""
    pauses = rows.start_ns[1:] - rows.end_ns[:-1] > gap_ns
    segment = np.concatenate(([0], np.cumsum(pauses)))
    first_of_segment = np.concatenate(([0], np.flatnonzero(pauses) + 1))
    within = np.arange(rows.n) - first_of_segment[segment]
    starts = np.flatnonzero(within % FACTOR == 0)
    ends = np.concatenate((starts[1:], [rows.n])) - 1
    low, mean, high, count = aggregate_groups(rows, starts)
    return SeriesRows(rows.start_ns[starts], rows.end_ns[ends], low, mean, high, count)


def aggregate_groups(rows: SeriesRows, starts: npt.NDArray[np.intp]) -> tuple[Float, Float, Float, Float]:
    """Return minimum, mean, maximum and count, each [g, k], of the groups that begin at rows `starts`.

    Minimum, mean and maximum of a group without data are NaN.
    """
    count = np.add.reduceat(rows.count, starts, axis=0)
    total = np.add.reduceat(np.where(rows.count > 0, rows.mean * rows.count, 0.0), starts, axis=0)
    low = np.fmin.reduceat(rows.low, starts, axis=0)
    high = np.fmax.reduceat(rows.high, starts, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, total / count, np.nan)
    # Rounding errors of the sum must not move a mean outside the range of its values.
    return low, np.clip(mean, low, high), high, count


def encode_summary(rows: SeriesRows) -> bytes:
    """Encode the summary of a chunk: float32 [4, k] of minimum, mean, maximum, count. Bounds round outwards."""
    low, mean, high, count = aggregate_groups(rows, np.zeros(1, np.intp))
    return np.concatenate(
        (_round_down(low), mean.astype("<f4"), _round_up(high), count.astype("<f4"))
    ).tobytes()


def decode_summary(data: bytes) -> npt.NDArray[np.float32]:
    """Decode a summary to float32 [4, k]. Raises DamagedChunkError."""
    if len(data) % 16:
        raise DamagedChunkError("a summary of an odd length")
    return np.frombuffer(data, "<f4").reshape(4, -1)


def _round_down(values: Float) -> npt.NDArray[np.float32]:
    narrow = _to_float32(values)
    return np.where(narrow > values, np.nextafter(narrow, np.float32(-np.inf)), narrow)


def _round_up(values: Float) -> npt.NDArray[np.float32]:
    narrow = _to_float32(values)
    return np.where(narrow < values, np.nextafter(narrow, np.float32(np.inf)), narrow)


def _to_float32(values: Float) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype("<f4")


def encode_raw(t_ns: Int, values: Float) -> bytes:
    """Encode the raw rows of level 0."""
    return _encode(t_ns, None, (values,))


def encode_level(rows: SeriesRows) -> bytes:
    """Encode the rows of a level above 0."""
    return _encode(rows.start_ns, rows.end_ns, (rows.low, rows.mean, rows.high, rows.count))


def _encode(start_ns: Int, end_ns: Int | None, planes: tuple[Float, ...]) -> bytes:
    n, k = planes[0].shape
    stacked = np.stack(planes)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = stacked.astype("<f4")
    wide = not np.array_equal(narrow.astype("<f8"), stacked, equal_nan=True)
    base = int(start_ns[0]) if n else 0
    header = _HEADER.pack(_MAGIC, len(planes), 8 if wide else 4, 0, n, k, base)
    body = [header, np.diff(start_ns, prepend=base).astype("<i8").tobytes()]
    if end_ns is not None:
        body.append((end_ns - start_ns).astype("<i8").tobytes())
    body.append((stacked if wide else narrow).transpose(0, 2, 1).tobytes())
    return zstandard.ZstdCompressor(level=3).compress(b"".join(body))


def decode_rows(data: bytes) -> SeriesRows:
    """Decode the rows of any level. Raises DamagedChunkError."""
    try:
        plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MAX_DECODED_BYTES)
    except zstandard.ZstdError as error:
        raise DamagedChunkError(str(error)) from None
    if len(plain) < _HEADER.size:
        raise DamagedChunkError("shorter than a header")
    magic, planes, width, _, n, k, base = _HEADER.unpack_from(plain)
    if magic != _MAGIC or planes not in {_PLANES_RAW, _PLANES_LEVEL} or width not in {4, 8}:
        raise DamagedChunkError("not a chunk")
    times = 1 if planes == _PLANES_RAW else 2
    if len(plain) != _HEADER.size + times * n * 8 + planes * n * k * width:
        raise DamagedChunkError("the length differs from the header")
    start = np.cumsum(np.frombuffer(plain, "<i8", n, _HEADER.size)) + base
    at = _HEADER.size + n * 8
    end = start
    if times == 2:
        end = start + np.frombuffer(plain, "<i8", n, at)
        at += n * 8
    flat = np.frombuffer(plain, f"<f{width}", planes * n * k, at)
    cube = flat.reshape(planes, k, n).transpose(0, 2, 1).astype(np.float64)
    if planes == _PLANES_RAW:
        return make_raw_rows(start, cube[0])
    return SeriesRows(start, end, cube[0], cube[1], cube[2], cube[3])


def encode_lines(lines: npt.NDArray[np.int32]) -> bytes:
    """Encode the line numbers of the rows of a chunk as differences, because they nearly always ascend."""
    return zstandard.ZstdCompressor(level=3).compress(np.diff(lines, prepend=0).astype("<i4").tobytes())


def decode_lines(data: bytes) -> npt.NDArray[np.int32]:
    """Decode line numbers. Raises DamagedChunkError."""
    try:
        plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_ROWS * 4)
    except zstandard.ZstdError as error:
        raise DamagedChunkError(str(error)) from None
    if len(plain) % 4:
        raise DamagedChunkError("not the length of line numbers")
    return np.cumsum(np.frombuffer(plain, "<i4"), dtype=np.int32)
