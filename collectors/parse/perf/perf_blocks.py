"""Samples of `perf script` text found by vectors: where blocks and headers are, and the times in common
headers.

A header of a known layout ends in the same event word (`cpu-clock:ppp: `) behind a time with as many digits,
with a period between them or not. What is in front of the time is the task; it repeats, and is looked up as
it is. Everything that fits no known layout is left to the grammar of `collectors.parse.perf.perf_lines`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.profiles.trie import I64, U8

LAYOUTS_MAX = 32
PERIOD_DIGITS_MAX = 20
BLANKS_MAX = 24

Mask = npt.NDArray[np.bool_]
_NEWLINE, _SPACE, _ZERO, _NINE, _DOT, _COLON = b"\n 09.:"
_COMMON_HEADER = re.compile(rb".*\s([0-8]?\d{1,9})\.(\d{3,9}):\s+(\d+\s+)?(\S+:\s*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of a text, parted by empty lines: offsets [n] where each starts, its first line ends, and it
    ends.

    `newlines` holds the offset of every newline of the text.
    """

    starts: I64
    heads: I64
    ends: I64
    newlines: I64

    def line_of(self, offset: int) -> int:
        """How many lines lie before `offset`."""
        return int(np.searchsorted(self.newlines, offset))


def find_blocks(data: U8) -> Blocks:
    """The blocks of a text that begins and ends with a block."""
    newlines = np.flatnonzero(data == _NEWLINE)
    gaps = newlines[:-1][np.diff(newlines) == 1]
    starts, ends = np.r_[0, gaps + 2], np.r_[gaps, len(data)]
    ends = np.maximum(starts, ends)
    first = np.searchsorted(newlines, starts)
    heads = np.minimum(np.r_[newlines, len(data)][first], ends)
    return Blocks(starts, heads, ends, newlines)


@dataclass(frozen=True, slots=True)
class Layout:
    """How headers of one event end: `suffix` (the event with its colon and what follows), digits of the time
    before and behind its point, and whether a period is between the time and the event.
    """

    suffix: bytes
    seconds: int
    fraction: int
    period: bool

    @classmethod
    def of(cls, line: bytes) -> Layout | None:
        """Return the layout of a header line, or None if it is not a known layout."""
        match = _COMMON_HEADER.fullmatch(line) if len(line) <= 512 else None
        if not match:
            return None
        return cls(match[4], len(match[1]), len(match[2]), match[3] is not None)

    def match(self, data: U8, blocks: Blocks, rows: I64) -> tuple[I64, I64, I64]:
        """Of `rows` (indices of blocks) those with this layout, where their tasks end, their times in ns."""
        least = len(self.suffix) + self.seconds + self.fraction + 8
        rows = rows[blocks.heads[rows] - blocks.starts[rows] > least]
        at = blocks.heads[rows] - len(self.suffix)
        suffix = np.frombuffer(self.suffix, np.uint8)
        fits = (data[at[:, None] + np.arange(len(suffix))] == suffix).all(axis=1)
        rows, at = rows[fits], at[fits]
        floor = blocks.starts[rows]
        at = _back_over(data, at, floor, _SPACE, _SPACE, most=BLANKS_MAX)
        if self.period:
            at = _back_over(data, at, floor, _ZERO, _NINE, most=PERIOD_DIGITS_MAX)
            at = _back_over(data, at, floor, _SPACE, _SPACE, most=BLANKS_MAX)
        start = at - (self.seconds + self.fraction + 2)
        inside = start > floor
        rows, start = rows[inside], start[inside]
        time = data[start[:, None] + np.arange(self.seconds + self.fraction + 2)]
        digits = np.delete(time, [self.seconds, time.shape[1] - 1], axis=1).astype(np.int64) - _ZERO
        good = (time[:, self.seconds] == _DOT) & (time[:, -1] == _COLON) & (data[start - 1] == _SPACE)
        good &= ((digits >= 0) & (digits <= 9)).all(axis=1)
        if self.seconds == 10:
            good &= digits[:, 0] <= 8  # what an int64 of nanoseconds holds
        ten = 10 ** np.arange(digits.shape[1] - 1, -1, -1, dtype=np.int64)
        t_ns = (digits @ ten) * 10 ** (9 - self.fraction)
        return rows[good], start[good], t_ns[good]


def _back_over(data: U8, at: I64, floor: I64, low: int, high: int, *, most: int) -> I64:
    """Move each offset left over bytes in low…high, at most `most` of them and not below `floor`."""
    for _ in range(most):
        before = data[np.maximum(at - 1, 0)]
        step = (before >= low) & (before <= high) & (at > floor)
        if not step.any():
            break
        at = at - step
    return at


@dataclass(frozen=True, slots=True)
class Leaves:
    """The innermost frame lines of some blocks, arrays [n]: where the line starts, where its symbol starts
    behind an address of the common width (`\\t%16lx `), where the line ends; `high`: the address has all 16
    digits; `common`: it is such a line. A block without frames has start == end.
    """

    starts: I64
    symbols: I64
    ends: I64
    high: Mask
    common: Mask


_HEX = np.zeros(256, bool)
_HEX[list(b"0123456789abcdef ")] = True


def find_leaves(data: U8, blocks: Blocks, rows: I64) -> Leaves:
    """The second lines of the blocks `rows`."""
    block_ends, heads = blocks.ends[rows], blocks.heads[rows]
    starts = np.minimum(heads + 1, block_ends)
    following = np.searchsorted(blocks.newlines, starts)
    ends = np.minimum(np.r_[blocks.newlines, len(data)][following], block_ends)
    typical = ends - starts > 18
    safe = np.where(typical, starts, 0)
    address = data[np.minimum(safe[:, None] + np.arange(1, 17), len(data) - 1)]
    typical &= (data[safe] == 9) & _HEX[address].all(axis=1) & (address[:, -1] != _SPACE)
    typical &= data[np.minimum(safe + 17, len(data) - 1)] == _SPACE
    return Leaves(starts, starts + 18, ends, address[:, 0] != _SPACE, typical)
