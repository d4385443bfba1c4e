"""The reader of what the bundle's sampler writes: the text of files, again and again, with the time of each.

For every file of every tick there is a line `@ <tick> <boottime_ns> <path>` and then the file's text, whose
own lines that begin with `@` carry a second one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.contract import Context, Part, Sentence, Series, Times, Values
from collectors.parse.tables.tokens import NAN, to_text

PART = "samples"
_HEADER = re.compile(rb"^@ (\d{1,9}) (\d{1,19}) ([^\n]{1,4096})$", re.MULTILINE)
_MAX_SNAPSHOTS = 400_000
_MAX_NS = 1 << 62
_MAX_CELLS = 8_000_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One file as it was at one moment. `line` is the 1-based line of the part on which its text begins."""

    tick: int
    boot_ns: int
    path: str
    line: int
    body: bytes

    def lines(self) -> list[bytes]:
        """The file's own lines."""
        rows = self.body.split(b"\n")
        if rows and not rows[-1]:
            rows.pop()
        return [row[1:] if row.startswith(b"@@") else row for row in rows] if b"@@" in self.body else rows


@dataclass(frozen=True, slots=True)
class Samples:
    """All snapshots of one artifact in order, by path, with what could not be read."""

    by_path: Mapping[str, Sequence[Snapshot]]
    warnings: tuple[Sentence, ...]

    def of(self, path: str) -> Sequence[Snapshot]:
        """The snapshots of one file, oldest first; none where it was never read."""
        return self.by_path.get(path, ())

    def matching(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], Sequence[Snapshot]]]:
        """The snapshots of every file whose whole path matches."""
        for path, snapshots in self.by_path.items():
            if match := pattern.fullmatch(path):
                yield match, snapshots


def read_samples(parts: Mapping[str, Part], limit: int) -> Samples:
    """All snapshots of the part `samples`, of which at most `limit` bytes are looked at.

    The last line is dropped where the part was cut in the middle of it, because half a number is a wrong
    number. Snapshots whose time goes backwards are left out.
    """
    part = parts.get(PART)
    if part is None:
        return Samples({}, (Sentence("warning.part_missing", {"part": PART}),))
    warnings: list[Sentence] = []
    data = part.read(limit + 1)
    if len(data) > limit:
        warnings.append(Sentence("warning.cut_at_limit", {"bytes": limit}))
        data = data[:limit]
    if data and not data.endswith(b"\n"):
        warnings.append(Sentence("warning.last_line_cut", {"part": PART}))
        data = data[: data.rfind(b"\n") + 1]
    by_path, backwards = _split_snapshots(data)
    if backwards:
        warnings.append(Sentence("warning.time_backwards", {"count": backwards}))
    if not by_path:
        warnings.append(Sentence("warning.no_samples", {"part": PART}))
    return Samples(by_path, tuple(warnings))


@dataclass(frozen=True, slots=True)
class SamplePiece:
    """One snapshot with its header, as it is in an artifact: `lines` lines from `line` (1-based) on."""

    path: str
    line: int
    lines: int
    data: bytes


def split_pieces(data: bytes) -> list[SamplePiece]:
    """Return the snapshots of many files one by one, so that each file goes to its own reader."""
    sample_pieces: list[SamplePiece] = []
    line, counted_to = 1, 0
    header = _HEADER.search(data)
    while header is not None and len(sample_pieces) < _MAX_SNAPSHOTS:
        following = _HEADER.search(data, header.end())
        end = following.start() if following else len(data)
        line += data.count(b"\n", counted_to, header.start())
        counted_to = header.start()
        piece = data[header.start() : end]
        sample_pieces.append(SamplePiece(to_text(header[3], 4096), line, piece.count(b"\n"), piece))
        header = following
    return sample_pieces


def _split_snapshots(data: bytes) -> tuple[dict[str, list[Snapshot]], int]:
    """Snapshots by path, and how many were left out because their clock went backwards."""
    by_path: dict[str, list[Snapshot]] = {}
    backwards = 0
    line, counted_to = 1, 0
    header = _HEADER.search(data)
    for _ in range(_MAX_SNAPSHOTS):
        if header is None:
            break
        following = _HEADER.search(data, header.end())
        start = min(header.end() + 1, len(data))
        end = following.start() if following else len(data)
        line += data.count(b"\n", counted_to, start)
        counted_to = start
        boot_ns = int(header[2])
        rows = by_path.setdefault(to_text(header[3], 4096), [])
        if boot_ns > _MAX_NS or (rows and boot_ns < rows[-1].boot_ns):
            backwards += 1
        else:
            rows.append(Snapshot(int(header[1]), boot_ns, to_text(header[3], 4096), line, data[start:end]))
        header = following
    return {path: rows for path, rows in by_path.items() if rows}, backwards


@dataclass(frozen=True, slots=True)
class Readings:
    """Named numbers of one file over time: `values` [n, k] in the order of `names`, NaN where absent.

    `lines` [n, k] is the line of the part of each number, 0 if it is absent.
    """

    boot_ns: Times
    names: tuple[str, ...]
    values: Values
    lines: npt.NDArray[np.int32]

    def column(self, name: str) -> Values:
        """One name as [n, 1]; all NaN where the file never had it."""
        if name not in self.names:
            return np.full((len(self.boot_ns), 1), np.nan)
        at = self.names.index(name)
        return self.values[:, at : at + 1]

    def line_of(self, name: str) -> npt.NDArray[np.int32]:
        """The lines of one name, [n]."""
        if name not in self.names:
            return np.zeros(len(self.boot_ns), np.int32)
        return self.lines[:, self.names.index(name)]

    def summed(self, names: Iterable[str]) -> Values:
        """The sum of several names as [n, 1], over those that the file has; all NaN where it has none."""
        chosen = [self.names.index(name) for name in names if name in self.names]
        if not chosen:
            return np.full((len(self.boot_ns), 1), np.nan)
        picked = self.values[:, chosen]
        total = np.where(np.isnan(picked), 0.0, picked).sum(axis=1, keepdims=True)
        return np.where(np.isnan(picked).all(axis=1, keepdims=True), np.nan, total)


NamedNumbers = Iterable[tuple[str, float, int]]


def tabulate_readings(
    snapshots: Sequence[Snapshot], numbers: Callable[[Snapshot], NamedNumbers], max_names: int = 20_000
) -> Readings:
    """Line up what `numbers` finds in each snapshot: (name, value, offset of its line in the file)."""
    room = min(max_names, max(1, _MAX_CELLS // max(1, len(snapshots))))
    index: dict[str, int] = {}
    results: list[list[tuple[int, float, int]]] = []
    for snapshot in snapshots:
        row: list[tuple[int, float, int]] = []
        for name, value, offset in numbers(snapshot):
            at = index.setdefault(name, len(index)) if len(index) < room else index.get(name)
            if at is not None:
                row.append((at, value, snapshot.line + offset))
        results.append(row)
    values = np.full((len(snapshots), len(index)), NAN)
    lines = np.zeros((len(snapshots), len(index)), np.int32)
    for at_row, row in enumerate(results):
        for column, value, line in row:
            values[at_row, column] = value
            lines[at_row, column] = min(line, 2**31 - 1)
    times = np.array([snapshot.boot_ns for snapshot in snapshots], np.int64)
    return Readings(times, tuple(index), values, lines)


def build_series(
    context: Context,
    metric: str,
    boot_ns: Times,
    values: Values,
    *,
    lines: npt.NDArray[np.int32] | None = None,
    labels: Mapping[str, str] | None = None,
    axis: str | None = None,
    axis_values: tuple[str, ...] = (),
) -> list[Series]:
    """A series in UTC, as a list of one; none where there is no single number in it."""
    if not len(boot_ns) or not np.isfinite(values).any():
        return []
    t_ns = context.clock.to_utc("boottime", boot_ns)
    return [Series(metric, t_ns, values, labels or {}, axis, axis_values, PART, lines)]
