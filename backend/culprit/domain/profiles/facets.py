"""Facets for the filter of a profile, sample tracks over time, and the subsecond-offset heat map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from collectors.profiles.trie import I32, I64
from culprit.domain.profiles.grouping import group_values
from culprit.domain.profiles.stacks import ProfileView, cover_subtrees, find_outermost, find_softirqs

MAX_FACET_VALUES = 500
MAX_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class ProfileFacets:
    """Values to filter by with their weights, the heaviest first, at most 500 of each.

    Attributes:
        cpus: (cpu, weight).
        processes: (pid, name, weight).
        threads: (tid, pid, name, weight).
        modules: (path, weight of the stacks through it).
        cgroups: (path, weight without that of groups below it).
        softirq: weight of the stacks through a softirq.
    """

    cpus: list[tuple[int, int]]
    processes: list[tuple[int, str, int]]
    threads: list[tuple[int, int, str, int]]
    modules: list[tuple[str, int]]
    cgroups: list[tuple[str, int]]
    softirq: int


def compute_facets(view: ProfileView) -> ProfileFacets:
    """Return the facets of a view."""
    profile, table = view.profile, view.profile.table
    weight = table.weight[view.rows]
    comms = table.comms.all()
    pid = table.pid[view.rows]
    cpus, by_cpu, _ = _sum_by_group(*group_values(table.cpu[view.rows]), weight)
    pids, by_pid, _ = _sum_by_group(*group_values(pid), weight)
    comm = table.comm[view.rows]
    # A thread that changed its name is listed once with each.
    tids, by_tid = group_values(table.tid[view.rows])
    _, by_thread, row_of = _sum_by_group(*group_values(by_tid * max(1, len(comms)) + comm), weight)
    groups, by_group, _ = _sum_by_group(*group_values(table.cgroups.find(pid)), weight)
    return ProfileFacets(
        [(cpu, w) for cpu, w in zip(cpus, by_cpu, strict=True) if cpu >= 0],
        [(p, profile.processes[p], w) for p, w in zip(pids, by_pid, strict=True)],
        [
            (int(tids[by_tid[row]]), int(pid[row]), comms[int(comm[row])], w)
            for w, row in zip(by_thread, row_of, strict=True)
        ],
        _sum_by_module(view),
        [(table.cgroups.names[g], w) for g, w in zip(groups, by_group, strict=True) if g >= 0],
        _sum_softirqs(view),
    )


def _sum_softirqs(view: ProfileView) -> int:
    """Return the weight of the stacks through a softirq."""
    trie = view.profile.table.trie
    nodes = np.flatnonzero(find_softirqs(view.profile.names)[trie.frame])
    return int(view.own[cover_subtrees(trie, nodes)].sum())


def _sum_by_module(view: ProfileView) -> list[tuple[str, int]]:
    """Return (module, weight of the stacks with a frame in it), the heaviest first. A stack counts once."""
    trie, frames = view.profile.table.trie, view.profile.table.frames
    module = frames.module[trie.frame].astype(np.int64)
    nodes = np.flatnonzero(find_outermost(module, trie.end))
    sums = np.zeros(len(frames.strings), np.int64)
    np.add.at(sums, module[nodes], view.total[nodes])
    heaviest = np.argsort(-sums, kind="stable")[: MAX_FACET_VALUES + 1]
    named = [(frames.strings[int(i)], int(sums[i])) for i in heaviest.tolist() if sums[i] > 0]
    return [(name, weight) for name, weight in named if name][:MAX_FACET_VALUES]


TrackKey = Literal["thread", "process", "cpu"]


@dataclass(frozen=True, slots=True)
class SampleTrack:
    """The samples of one thread, process or CPU. `counts` is the weight per bin. Unused fields are -1 or empty."""

    cpu: int
    pid: int
    tid: int
    comm: str
    weight: int
    counts: list[int]


@dataclass(frozen=True, slots=True)
class SampleTracks:
    """Tracks, the heaviest first; `total` and `weight` are of all. Bin b starts at t0_ns + b * bin_ns."""

    t0_ns: int
    bin_ns: int
    tracks: list[SampleTrack]
    total: int
    weight: int


def compute_sample_tracks(view: ProfileView, by: TrackKey, bins: int = 240, limit: int = 50) -> SampleTracks:
    """Return the weight of a view over time, by thread, process or CPU.

    A thread has one track under its heaviest name; the bins cover the samples of the view. Of tracks with the same
    weight, as all threads have in a profile of their whole time, those with more samples are first. Raises ValueError
    if `bins` or `limit` is below 1, or for more than MAX_CELLS cells.
    """
    if bins < 1 or limit < 1 or bins * limit > MAX_CELLS:
        raise ValueError("bins and limit")
    table = view.profile.table
    times, weight = table.t_ns[view.rows], table.weight[view.rows]
    if not len(times) or not table.has_time:
        return SampleTracks(0, 0, [], 0, 0)
    column = {"thread": table.tid, "process": table.pid, "cpu": table.cpu}[by][view.rows].astype(np.int64)
    start, stop = int(times[0]), int(times[-1]) + 1
    bin_ns = max(1, -(-(stop - start) // bins))
    distinct, first, group = np.unique(column, return_index=True, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, group, weight)
    chosen = np.lexsort((-np.bincount(group, minlength=len(distinct)), -sums))[:limit]
    row = np.full(len(distinct), -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    listed = row[group] >= 0
    count = -(-(stop - start) // bin_ns)
    cells = np.zeros(len(chosen) * count, np.int64)
    np.add.at(cells, row[group[listed]] * count + (times[listed] - start) // bin_ns, weight[listed])
    pid = table.pid[view.rows]
    comms = _find_heaviest(group, table.comm[view.rows], weight)

    def name(i: int) -> str:
        if by == "thread":
            return table.comms[int(comms[i])]
        return view.profile.processes[int(distinct[i])] if by == "process" else ""

    tracks = [
        SampleTrack(
            cpu=int(distinct[i]) if by == "cpu" else -1,
            pid=int(pid[first[i]]) if by != "cpu" else -1,
            tid=int(distinct[i]) if by == "thread" else -1,
            comm=name(i),
            weight=int(sums[i]),
            counts=cells[at * count : (at + 1) * count].tolist(),
        )
        for at, i in enumerate(chosen.tolist())
    ]
    return SampleTracks(start, bin_ns, tracks, len(distinct), int(sums.sum()))


def _sum_by_group(distinct: I64, group: I64, weight: I64) -> tuple[list[int], list[int], list[int]]:
    """Return the distinct values, the heaviest first, their weights, and the first row of each."""
    sums, rows = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
    np.add.at(sums, group, weight)
    rows[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    order = np.argsort(-sums, kind="stable")[:MAX_FACET_VALUES]
    return distinct[order].tolist(), sums[order].tolist(), rows[order].tolist()


def _find_heaviest(group: I64, value: I32, weight: I64) -> I64:
    """Return the value with most weight in each group, int64 [groups]. The arguments have one entry per row."""
    pairs, pair = np.unique(group.astype(np.int64) << 32 | value, return_inverse=True)
    sums = np.zeros(len(pairs), np.int64)
    np.add.at(sums, pair, weight)
    order = np.lexsort((sums, pairs >> 32))
    heaviest = np.zeros(int(group.max()) + 1, np.int64)
    heaviest[pairs[order] >> 32] = pairs[order] & 0xFFFFFFFF
    return heaviest


@dataclass(frozen=True, slots=True)
class HeatMatrix:
    """Weights by offset within a bin: `rows[r][b]` is the weight at offset r of bin b.

    Bin b starts at t0_ns + b * bin_ns. The rows divide a bin evenly.
    """

    t0_ns: int
    bin_ns: int
    rows: list[list[int]]


def compute_heat_matrix(view: ProfileView, bins: int = 0, rows: int = 50) -> HeatMatrix:
    """Return the subsecond-offset heat map of a view, from its first sample in whole bins.

    `bins` 0 makes bins of one second. Raises ValueError if `rows` is below 1, `bins` is negative, or for more than
    MAX_CELLS cells.
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
