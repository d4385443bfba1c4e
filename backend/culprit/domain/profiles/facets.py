"""What there is to filter by, and when the samples fell: facets and the subsecond heat matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.profiles.trie import I64
from culprit.domain.profiles.stacks import ProfileView

MAX_FACET_VALUES = 500
MAX_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class ProfileFacets:
    """By weight, heaviest first, at most 500 of each."""

    cpus: list[tuple[int, int]]
    processes: list[tuple[int, str, int]]
    threads: list[tuple[int, int, str, int]]


def compute_facets(view: ProfileView) -> ProfileFacets:
    """CPUs (cpu, weight), processes (pid, name, weight), threads (tid, pid, name, weight) of a view."""
    profile, table = view.profile, view.profile.table
    weight = table.weight[view.rows]
    comms = table.comms.all()
    pid = table.pid[view.rows]
    cpus, by_cpu, _ = _sum_by_key(table.cpu[view.rows].astype(np.int64), weight)
    pids, by_pid, _ = _sum_by_key(pid.astype(np.int64), weight)
    threads = table.tid[view.rows].astype(np.int64) << 32 | table.comm[view.rows]
    keys, by_thread, first = _sum_by_key(threads, weight)
    return ProfileFacets(
        [(cpu, w) for cpu, w in zip(cpus, by_cpu, strict=True) if cpu >= 0],
        [(p, profile.processes[p], w) for p, w in zip(pids, by_pid, strict=True)],
        [
            (key >> 32, int(pid[row]), comms[key & 0xFFFFFFFF], w)
            for key, w, row in zip(keys, by_thread, first, strict=True)
        ],
    )


def _sum_by_key(keys: I64, weight: I64) -> tuple[list[int], list[int], list[int]]:
    """Return the distinct keys, heaviest first, their weights, and the first row of each."""
    distinct, first, group = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, group, weight)
    order = np.argsort(-sums, kind="stable")[:MAX_FACET_VALUES]
    return distinct[order].tolist(), sums[order].tolist(), first[order].tolist()


@dataclass(frozen=True, slots=True)
class HeatMatrix:
    """`rows[r][b]`: the weight at offset r of bin b. Bin b starts at t0_ns + b * bin_ns; rows divide a bin
    evenly.
    """

    t0_ns: int
    bin_ns: int
    rows: list[list[int]]


def compute_heat_matrix(view: ProfileView, bins: int = 0, rows: int = 50) -> HeatMatrix:
    """The subsecond heat matrix of a view; `bins` 0 makes bins of one second. Raises ValueError for silly
    sizes.

    The view covers whole bins from its first sample on.
    """
    table = view.profile.table
    times, weight = table.t_ns[view.rows], table.weight[view.rows]
    if rows < 1 or bins < 0 or rows * max(bins, 1) > MAX_CELLS:
        raise ValueError("bins and rows")
    if not len(times) or not table.has_time:
        return HeatMatrix(0, 0, [])
    start, stop = int(times[0]), int(times[-1]) + 1
    bin_ns = -(-(stop - start) // bins) if bins else 1_000_000_000
    bin_ns += -bin_ns % rows
    bin_ns = max(bin_ns, rows)
    count = -(-(stop - start) // bin_ns)
    if count * rows > MAX_CELLS:
        return compute_heat_matrix(view, max(1, MAX_CELLS // rows), rows)
    cells = np.zeros(count * rows, np.int64)
    np.add.at(cells, (times - start) // (bin_ns // rows), weight)
    return HeatMatrix(start, bin_ns, cells.reshape(count, rows).T.tolist())
