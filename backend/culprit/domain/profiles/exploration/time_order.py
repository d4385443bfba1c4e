"""Stacks of one thread or CPU in the order of time; equal frames are one box only while they follow each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from collectors.profiles.trie import I32, I64, StackTrie
from culprit.domain.profiles.stacks import KINDS, ProfileView, compute_min_weight
from culprit.domain.profiles.tree import MAX_DEPTH, MAX_NODES, PRUNED, RenderedTree

OrderKey = Literal["thread", "cpu"]


@dataclass(frozen=True, slots=True)
class TimeOrder:
    """The samples of one thread or CPU in the order of time.

    A box begins at `start` in the weight of the samples before it, and ends `value` later. Boxes at the same level
    never overlap, so a response has at most one box for each half pixel and level.

    Attributes:
        by: whether `tid` or `cpu` identifies the samples; the other is -1.
        tracks_total: number of threads or CPUs in the view, of which this is the heaviest.
        samples: number of samples.
        tree: boxes in pre-order with the columns `start`, `first_ns` and `last_ns` (times of the first and the last
            sample). A box of kind `pruned` covers neighbors that are too narrow.
    """

    by: OrderKey
    tid: int
    pid: int
    cpu: int
    comm: str
    tracks_total: int
    samples: int
    tree: RenderedTree


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Consecutive samples with the same stack, as columns [n]; `edges` [n + 1] are weights before each run."""

    stack: I64
    edges: I64
    first_ns: I64
    last_ns: I64


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """Boxes of one level as columns [n]: trie node (-1 if pruned), first run, last run, and own weight."""

    node: I64
    first: I64
    last: I64
    own: I64


def order_by_time(
    view: ProfileView, by: OrderKey, width: int = 1200, min_px: float = 0.5
) -> TimeOrder | None:
    """Return the heaviest thread or CPU of a view in the order of time, or None without samples or without times.

    Neighbors narrower than `min_px` at a total `width` become a box of kind `pruned`. With more than MAX_NODES boxes,
    wider ones do, too.
    """
    table = view.profile.table
    weight = np.asarray(table.weight[view.rows], np.int64)
    if not table.has_time or not int(weight.sum()):
        return None
    column = (table.tid if by == "thread" else table.cpu)[view.rows]
    distinct, group = np.unique(column, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, group, weight)
    heaviest = int(np.argmax(sums))
    rows = np.flatnonzero((group == heaviest) & (weight > 0))
    runs = _merge_repeats(
        np.asarray(table.stack[view.rows], np.int64)[rows],
        weight[rows],
        np.asarray(table.t_ns[view.rows], np.int64)[rows],
    )
    comm = table.comm[view.rows][rows]
    total = int(runs.edges[-1])
    least = compute_min_weight(total, width, min_px)
    levels = _build_levels(table.trie, runs, least)
    while sum(len(level.node) for level in levels) > MAX_NODES:
        least *= 2
        levels = _build_levels(table.trie, runs, least)
    is_thread = by == "thread"
    return TimeOrder(
        by,
        int(distinct[heaviest]) if is_thread else -1,
        int(table.pid[view.rows][rows[0]]) if is_thread else -1,
        -1 if is_thread else int(distinct[heaviest]),
        table.comms[int(np.argmax(np.bincount(comm, weights=weight[rows])))] if is_thread else "",
        len(distinct),
        total if table.unit == "samples" else len(rows),
        _render_boxes(view, runs, levels),
    )


def _merge_repeats(stack: I64, weight: I64, t_ns: I64) -> _Runs:
    """Return the runs of equal stacks. Inputs are columns [n] of samples in the order of time."""
    starts = np.flatnonzero(np.r_[True, stack[1:] != stack[:-1]])
    ends = np.r_[starts[1:], len(stack)] - 1
    edges = np.r_[0, np.cumsum(np.add.reduceat(weight, starts))]
    return _Runs(stack[starts], edges, t_ns[starts], t_ns[ends])


def _build_levels(trie: StackTrie, runs: _Runs, least: int) -> list[_Boxes]:
    """Return the boxes of each level below the root, outermost first.

    Only runs in boxes of at least `least` continue to the next level, so the work is bounded by what is visible.
    """
    by_depth = np.argsort(trie.depth, kind="stable")
    depths = trie.depth[by_depth]
    active = np.arange(len(runs.stack), dtype=np.int64)
    parent = np.zeros(len(active), np.int64)  # box of the level above, for each active run
    levels: list[_Boxes] = []
    for depth in range(1, MAX_DEPTH + 1):
        deep = trie.depth[runs.stack[active]] >= depth
        active, parent = active[deep], parent[deep]
        if not len(active):
            break
        low, high = np.searchsorted(depths, [depth, depth + 1])
        # The nodes are in pre-order: the ancestor at a depth is the last node of that depth up to the node.
        nodes = by_depth[low:high]
        node = nodes[np.searchsorted(nodes, runs.stack[active], "right") - 1].astype(np.int64)
        is_first = np.r_[True, (node[1:] != node[:-1]) | (active[1:] != active[:-1] + 1)]
        box = np.cumsum(is_first) - 1
        starts = np.flatnonzero(is_first)
        ends = np.r_[starts[1:], len(active)] - 1
        own = np.zeros(len(starts), np.int64)
        spans = runs.edges[active + 1] - runs.edges[active]
        np.add.at(own, box, np.where(runs.stack[active] == node, spans, 0))
        boxes = _Boxes(node[starts], active[starts], active[ends], own)
        is_wide = runs.edges[boxes.last + 1] - runs.edges[boxes.first] >= least
        levels.append(_merge_narrow(runs, boxes, parent[starts], is_wide, least))
        kept = is_wide[box]
        active, parent = active[kept], box[kept]
    return levels


def _merge_narrow(
    runs: _Runs, boxes: _Boxes, parent: I64, is_wide: npt.NDArray[np.bool_], least: int
) -> _Boxes:
    """Return the wide boxes, and narrow neighbors of the same parent as one box each if that is wide enough.

    Own time of the parent that is narrower than `least` does not separate neighbors.
    """
    begin, end = runs.edges[boxes.first], runs.edges[boxes.last + 1]
    joins = ~is_wide[1:] & ~is_wide[:-1] & (parent[1:] == parent[:-1]) & (begin[1:] - end[:-1] < least)
    starts = np.flatnonzero(np.r_[True, ~joins])
    ends = np.r_[starts[1:], len(begin)] - 1
    span = end[ends] - begin[starts]
    node = np.where(is_wide[starts], boxes.node[starts], -1)
    own = np.where(is_wide[starts], boxes.own[starts], span)
    kept = span >= least
    return _Boxes(node[kept], boxes.first[starts[kept]], boxes.last[ends[kept]], own[kept])


def _render_boxes(view: ProfileView, runs: _Runs, levels: list[_Boxes]) -> RenderedTree:
    """Return the boxes below the root in pre-order. IDs count them from 0."""
    profile, trie = view.profile, view.profile.table.trie
    at_root = runs.stack == 0
    root_own = int((runs.edges[1:] - runs.edges[:-1])[at_root].sum())
    whole = _Boxes(*(np.array([value]) for value in (0, 0, len(runs.stack) - 1, root_own)))
    boxes = [whole, *levels]
    level = np.repeat(np.arange(len(boxes)), [len(item.node) for item in boxes])
    node, first, last, own = (
        np.concatenate([getattr(item, name) for item in boxes]) for name in ("node", "first", "last", "own")
    )
    order = np.lexsort((level, runs.edges[first]))
    level, node, first, last, own = level[order], node[order], first[order], last[order], own[order]
    frame: I32 = trie.frame[node]  # that of the last node for -1, which is not used
    kinds = profile.table.frames.kind[frame].tolist()
    pruned = (node < 0).tolist()
    frames = frame.tolist()
    start = runs.edges[first]
    tree = RenderedTree(
        list(range(len(node))),
        level.tolist(),
        [PRUNED if cut else profile.names[f] for f, cut in zip(frames, pruned, strict=True)],
        ["" if cut else profile.modules[f] for f, cut in zip(frames, pruned, strict=True)],
        [PRUNED if cut else KINDS[k] for k, cut in zip(kinds, pruned, strict=True)],
        (runs.edges[last + 1] - start).tolist(),
        own.tolist(),
    )
    times = {"start": start, "first_ns": runs.first_ns[first], "last_ns": runs.last_ns[last]}
    return replace(tree, more={name: column.tolist() for name, column in times.items()})
