"""Filter the samples of a profile and render flame graph trees. All operations are vectorized and without I/O.

`StackProfile` wraps a loaded `SampleTable` and caches derived columns; keep it as long as the table.
`StackProfile.view(filter)` weighs the trie with the selected samples. Trees, tables and searches are computed from
that `ProfileView`, always over the full trie, so totals do not depend on pruning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import I32, I64, FrameKind, StackTrie
from culprit.domain.profiles.grouping import group_values
from culprit.domain.profiles.patterns import match_names
from culprit.domain.profiles.tree import MAX_DEPTH, MAX_NODES, MAX_WIDTH, RenderedTree, TreePathStep

Mask = npt.NDArray[np.bool_]
KINDS = tuple(kind.name.lower() for kind in FrameKind)
"""Name of each FrameKind in the API."""

MAX_EXACT_FLOAT = 1 << 53  # a float64 represents smaller integers exactly


@dataclass(frozen=True, slots=True)
class SampleFilter:
    """A filter of samples. Empty tuples and None select everything; all fields must match.

    `from_ns` is inclusive, `to_ns` exclusive, on the clock of the table. `comm` names processes (by the name of
    their main thread), `thread` names threads. `hide_idle` leaves out samples whose innermost frame is an
    idle CPU. `module`: at least one frame of the stack is in one of these files. `stack`: an RE2 pattern that
    the name of at least one frame matches. `cgroup`: paths of control groups; those below them count too.
    `softirq_only`: the kernel ran a softirq, in any thread.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    cpu: tuple[int, ...] = ()
    pid: tuple[int, ...] = ()
    tid: tuple[int, ...] = ()
    comm: tuple[str, ...] = ()
    thread: tuple[str, ...] = ()
    hide_idle: bool = False
    module: tuple[str, ...] = ()
    stack: str = ""
    cgroup: tuple[str, ...] = ()
    softirq_only: bool = False


SOFTIRQ_FUNCTIONS = frozenset({"handle_softirqs", "__do_softirq", "__softirqentry_text_start"})
"""Kernel functions that run all softirqs, at the end of an interrupt and in ksoftirqd.

`handle_softirqs` since Linux 6.10, `__do_softirq` before; `__softirqentry_text_start` is another symbol of the latter.
"""


class StackProfile:
    """A sample table with cached derived columns.

    `source` is the profile from which this one was derived by transforming stacks; it has the same rows, and filters
    use its stacks. `dropped` (bool [rows]) marks samples that no view contains.
    """

    def __init__(
        self, table: SampleTable, source: StackProfile | None = None, dropped: Mask | None = None
    ) -> None:
        self.table = table
        self.source = source
        self.dropped = dropped

    @cached_property
    def names(self) -> list[str]:
        """The name of each frame, by frame ID."""
        words = self.table.frames.strings.all()
        return [words[i] for i in self.table.frames.name.tolist()]

    @cached_property
    def modules(self) -> list[str]:
        """The module of each frame, by frame ID."""
        words = self.table.frames.strings.all()
        return [words[i] for i in self.table.frames.module.tolist()]

    @cached_property
    def outermost(self) -> Mask:
        """Whether no caller of the node is the same frame, bool [nodes].

        A sum of inclusive weights over these nodes counts recursion once.
        """
        return find_outermost(self.table.trie.frame.astype(np.int64), self.table.trie.end)

    @cached_property
    def processes(self) -> dict[int, str]:
        """The name of each process by PID: that of its main thread, or of its busiest thread without samples of it."""
        t = self.table
        pids, by_pid = group_values(t.pid)
        names = max(1, len(t.comms))
        keys, by_key = group_values((by_pid * names + t.comm) << 1 | (t.tid == t.pid))
        counts = np.bincount(by_key, minlength=len(keys))
        best: dict[int, tuple[int, int, int]] = {}
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            pid, rank = int(pids[(key >> 1) // names]), (key & 1, count, (key >> 1) % names)
            best[pid] = max(best.get(pid, rank), rank)
        comms = t.comms.all()
        return {pid: comms[rank[2]] for pid, rank in best.items()}

    @cached_property
    def has_unit_weights(self) -> bool:
        """Whether every sample has weight 1."""
        return bool((self.table.weight == 1).all())

    @cached_property
    def idle(self) -> Mask:
        """Whether a stack that ends in the node is an idle CPU, bool [nodes]."""
        return np.asarray(self.table.frames.kind[self.table.trie.frame] == FrameKind.IDLE)

    def rows(self, chosen: SampleFilter) -> slice | npt.NDArray[np.int64]:
        """Return the rows that a filter selects; a slice if it is only a time range, by binary search.

        Raises SearchPatternError if `stack` is not a valid pattern.
        """
        rows = self.source.rows(chosen) if self.source else self._select_rows(chosen)
        if self.dropped is None:
            return rows
        kept = ~self.dropped[rows]
        return (np.flatnonzero(kept) + rows.start) if isinstance(rows, slice) else rows[kept]

    def _select_rows(self, chosen: SampleFilter) -> slice | npt.NDArray[np.int64]:
        t = self.table
        start, stop = 0, len(t)
        if chosen.from_ns is not None:
            start = int(np.searchsorted(t.t_ns, chosen.from_ns, "left"))
        if chosen.to_ns is not None:
            stop = max(start, int(np.searchsorted(t.t_ns, chosen.to_ns, "left")))
        part = slice(start, stop)
        masks: list[Mask] = []
        for column, requested in ((t.cpu, chosen.cpu), (t.pid, chosen.pid), (t.tid, chosen.tid)):
            if requested:
                masks.append(_is_any_of(column[part], requested))
        if chosen.comm:
            pids = [pid for pid, name in self.processes.items() if name in chosen.comm]
            masks.append(_is_any_of(t.pid[part], pids))
        if chosen.thread:
            comms = [i for i, name in enumerate(t.comms.all()) if name in chosen.thread]
            masks.append(_is_any_of(t.comm[part], comms))
        if chosen.cgroup:
            groups = [
                i for i, name in enumerate(t.cgroups.names.all()) if is_in_any_group(name, chosen.cgroup)
            ]
            masks.append(_is_any_of(t.cgroups.find(t.pid[part]), groups))
        if chosen.softirq_only:
            masks.append(self._has_frame(find_softirqs(self.names))[t.stack[part]])
        if chosen.hide_idle and bool(self.idle.any()):
            masks.append(~self.idle[t.stack[part]])
        if chosen.module:
            modules = frozenset(chosen.module)
            hit = np.fromiter((module in modules for module in self.modules), bool, len(self.modules))
            masks.append(self._has_frame(hit)[t.stack[part]])
        if chosen.stack:
            hit = match_names(self.names, chosen.stack, regex=True)
            masks.append(self._has_frame(hit)[t.stack[part]])
        if not masks:
            return part
        return np.flatnonzero(np.logical_and.reduce(masks)) + start

    def _has_frame(self, hit: Mask) -> Mask:
        """Return whether the stack that ends in each node has a frame of `hit`, bool [nodes].

        `hit` is bool [frames]. The root does not count.
        """
        trie = self.table.trie
        nodes = np.flatnonzero(hit[trie.frame])
        return cover_subtrees(trie, nodes[nodes > 0])

    def view(self, chosen: SampleFilter = SampleFilter()) -> ProfileView:
        """Weigh the trie with the samples of a filter."""
        rows = self.rows(chosen)
        stack, weight = self.table.stack[rows], self.table.weight[rows]
        n = len(self.table.trie)
        if self.has_unit_weights:
            own = np.bincount(stack, minlength=n).astype(np.int64)
        elif int(weight.sum()) < MAX_EXACT_FLOAT:
            own = np.bincount(stack, weights=weight, minlength=n).astype(np.int64)
        else:
            own = np.zeros(n, np.int64)
            np.add.at(own, stack, weight)
        return ProfileView(self, rows, own, self.table.trie.inclusive(own), chosen)


@dataclass(frozen=True, slots=True, eq=False)
class ProfileView:
    """The trie weighed with the samples of a filter.

    Attributes:
        rows: the selected rows of the sample table.
        own: int64 [nodes], weight of the stacks that end in a node.
        total: int64 [nodes], weight of the stacks through a node.
    """

    profile: StackProfile
    rows: slice | npt.NDArray[np.int64]
    own: I64
    total: I64
    chosen: SampleFilter = SampleFilter()

    @property
    def weight(self) -> int:
        """The total weight of the view."""
        return int(self.total[0])

    @property
    def samples(self) -> int:
        """The number of samples in the view."""
        table = self.profile.table
        return self.weight if table.unit == "samples" else len(table.t_ns[self.rows])

    def render_tree(self, width: int = 1200, root: int = 0, min_px: float = 0.5) -> RenderedTree:
        """Return the subtree of `root`, callers first. Nodes narrower than `min_px` at a total `width` are pruned.

        Raises IndexError if there is no such node.
        """
        trie, frames = self.profile.table.trie, self.profile.table.frames
        if not 0 <= root < len(trie):
            raise IndexError(root)
        part = slice(root, int(trie.end[root]))
        total = self.total[part]
        deepest = int(trie.depth[root]) + MAX_DEPTH
        least = compute_min_weight(int(total[0]), width, min_px)
        visible = total >= least
        visible &= trie.depth[part] <= deepest
        visible[0] = True
        if np.count_nonzero(visible) > MAX_NODES:
            least = int(np.partition(total[visible], -MAX_NODES)[-MAX_NODES]) + 1
            visible &= total >= least
            visible[0] = True
        ids = np.flatnonzero(visible) + root
        values, own = self.total[ids], self.own[ids]
        parent = np.searchsorted(ids, trie.parent[ids[1:]])
        rest = values - own
        np.subtract.at(rest, parent, values[1:])
        frame = trie.frame[ids].tolist()
        names, modules = self.profile.names, self.profile.modules
        rendered_tree = RenderedTree(
            ids.tolist(),
            (trie.depth[ids] - trie.depth[root]).tolist(),
            [names[f] for f in frame],
            [modules[f] for f in frame],
            [KINDS[k] for k in frames.kind[trie.frame[ids]].tolist()],
            values.tolist(),
            own.tolist(),
        )
        return rendered_tree.add_pruned(rest.tolist())

    def list_path(self, node: int) -> list[TreePathStep]:
        """Return the path from the root to the caller of `node`, which a zoomed flame graph shows below it."""
        return list_callers(self.profile.table.trie, self.profile.names, node)

    @property
    def nodes(self) -> int:
        """The number of trie nodes with weight in this view."""
        return int(np.count_nonzero(self.total))


def find_softirqs(names: Sequence[str]) -> Mask:
    """Return whether each name is a function that runs softirqs, or its compiler-generated part; bool [names]."""
    return np.fromiter((name.partition(".")[0] in SOFTIRQ_FUNCTIONS for name in names), bool, len(names))


def is_in_any_group(path: str, groups: Sequence[str]) -> bool:
    """Return whether a control group is one of `groups`, or below one."""
    return any(path == group or path.startswith(group.rstrip("/") + "/") for group in groups)


def list_callers(trie: StackTrie, names: Sequence[str], node: int) -> list[TreePathStep]:
    """List the nodes from the root to the parent of `node`."""
    steps: list[TreePathStep] = []
    while (node := int(trie.parent[node])) >= 0:
        steps.append(TreePathStep(node, names[trie.frame[node]]))
    return steps[::-1]


def find_outermost(key: I64, end: I32) -> Mask:
    """Return whether no ancestor of each node has the same key, bool [nodes]. Nodes are in pre-order.

    A node is outermost if the subtree of no earlier node with its key contains it. This is computed with a running
    maximum of the subtree ends per key.
    """
    n = len(key)
    order = np.argsort(key, kind="stable")
    group = key[order] * (n + 1)
    reach = np.maximum.accumulate(group + end[order])
    before = np.r_[np.int64(-1), reach[:-1]]
    mask = np.zeros(n, bool)
    mask[order] = before <= group + order
    return mask


def cover_subtrees(trie: StackTrie, nodes: I64) -> Mask:
    """Return whether each trie node is in the subtree of one of `nodes`, bool [trie nodes]."""
    steps = np.zeros(len(trie) + 1, np.int64)
    np.add.at(steps, nodes, 1)
    np.add.at(steps, trie.end[nodes], -1)
    return np.asarray(np.cumsum(steps[:-1]) > 0)


def _is_any_of(column: I32, requested: Sequence[int]) -> Mask:
    """Return whether each value is in `requested`, bool [rows]. A few comparisons are far cheaper than a set."""
    if len(requested) > 8:
        return np.isin(column, np.array(requested, np.int64))
    mask = np.zeros(len(column), bool)
    for value in requested:
        mask |= column == value
    return mask


def compute_min_weight(total: int, width: int, min_px: float) -> int:
    """Return the weight of `min_px` pixels if `total` fills `width` pixels; at least 1."""
    return max(1, int(np.ceil(total * min_px / max(1, min(width, MAX_WIDTH)))))
