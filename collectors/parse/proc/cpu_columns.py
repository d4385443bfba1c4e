"""Tables of /proc with one column per CPU: /proc/softirqs and /proc/interrupts.

The header names the CPUs that are online; its numbers count, not the position. A CPU that goes away in the
middle leaves its column, and "no data" stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.contract import Times, Values
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables.tokens import parse_counter, to_text

_CPU = re.compile(rb"CPU(\d{1,5})\Z")
_MAX_CELLS = 8_000_000
_MAX_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class CpuRow:
    """One line of such a table: name, a number per column, the words behind, and its line in the file."""

    name: str
    values: tuple[float, ...]
    rest: str
    offset: int


@dataclass(frozen=True, slots=True)
class CpuGrid:
    """The table at one moment."""

    cpus: tuple[int, ...]
    rows: tuple[CpuRow, ...]


def parse_cpu_grid(snapshot: Snapshot) -> CpuGrid:
    """Read one snapshot; a file without a header of CPUs gives no rows."""
    lines = snapshot.lines()
    header = next(((at, line) for at, line in enumerate(lines[:5]) if b"CPU" in line), None)
    if header is None:
        return CpuGrid((), ())
    matches = [_CPU.match(token) for token in header[1].split()[:8192]]
    cpus = tuple(int(match[1]) for match in matches if match)
    if not cpus or len(cpus) != len(matches) or len(set(cpus)) != len(cpus):
        return CpuGrid((), ())
    rows = []
    for offset, line in enumerate(lines[header[0] + 1 : _MAX_ROWS], header[0] + 1):
        name, colon, rest = line.partition(b":")
        if not colon or not name.strip():
            continue
        tokens = rest.split(None, len(cpus))
        values = tuple(parse_counter(token) for token in tokens[: len(cpus)])
        tail = tokens[len(cpus)] if len(tokens) > len(cpus) else b""
        rows.append(CpuRow(to_text(name.strip(), 32), values, to_text(b" ".join(tail.split()), 120), offset))
    return CpuGrid(cpus, tuple(rows))


@dataclass(frozen=True, slots=True)
class CpuMatrix:
    """One named row over time: counters [n, k] over the CPUs, and the line of each reading [n]."""

    values: Values
    lines: npt.NDArray[np.int32]


def build_matrix(snapshots: Sequence[Snapshot]) -> tuple[Times, tuple[int, ...], dict[str, CpuMatrix]]:
    """Every row over all snapshots, over all CPUs that were ever online, in the order of their numbers."""
    grids = [parse_cpu_grid(snapshot) for snapshot in snapshots]
    cpus = tuple(sorted({cpu for grid in grids for cpu in grid.cpus}))
    names = list(dict.fromkeys(row.name for grid in grids for row in grid.rows))
    room = _MAX_CELLS // max(1, len(snapshots) * max(1, len(cpus)))
    at_cpu = {cpu: at for at, cpu in enumerate(cpus)}
    matrices = {
        name: CpuMatrix(np.full((len(snapshots), len(cpus)), np.nan), np.zeros(len(snapshots), np.int32))
        for name in names[: min(room, 64)]
    }
    for at, (item, snapshot) in enumerate(zip(grids, snapshots, strict=True)):
        columns = [at_cpu[cpu] for cpu in item.cpus]
        for row in item.rows:
            matrix = matrices.get(row.name)
            if matrix is not None and row.values:
                matrix.values[at, columns[: len(row.values)]] = row.values
                matrix.lines[at] = min(snapshot.line + row.offset, 2**31 - 1)
    times = np.array([snapshot.boot_ns for snapshot in snapshots], np.int64)
    return times, cpus, matrices
