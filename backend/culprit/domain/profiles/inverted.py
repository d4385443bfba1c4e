"""Build the inverted tree of a profile: leaf functions first, their callers below (an icicle graph).

The inverted tree of a profile is far larger than the profile, so it is built level by level, and only below
nodes that are wide enough to draw. The ID of a node is a stack through it and the distance from its leaf:
steps << 32 | leaf node. It is independent of the filter and the width.
"""

from __future__ import annotations

import numpy as np

from collectors.profiles.trie import I64
from culprit.domain.profiles.stacks import KINDS, ProfileView, compute_min_weight
from culprit.domain.profiles.tree import MAX_DEPTH, MAX_NODES, RenderedTree, TreePathStep

ROOT = 0


def render_inverted_tree(
    view: ProfileView, width: int = 1200, root: int = ROOT, min_px: float = 0.5
) -> RenderedTree:
    """Return the inverted tree below `root`, a node ID of an earlier response or 0 for all.

    `width` and `min_px` prune it as in `ProfileView.render_tree`. `own` of a node is the weight of the stacks whose
    outermost function it is. Raises IndexError for an unknown ID.
    """
    trie, own = view.profile.table.trie, view.own
    leaves = np.flatnonzero(own)
    leaves = leaves[trie.depth[leaves] > 0]
    at = leaves.copy()  # the node of the profile that represents each stack on the current level
    bare = int(own[0])
    path: list[int] = []
    if root:
        leaf, steps = root & 0xFFFFFFFF, root >> 32
        if not 0 < leaf < len(trie) or not 0 < steps <= int(trie.depth[leaf]):
            raise IndexError(root)
        path = trie.path(leaf)[::-1][:steps]
        for position, frame in enumerate(path):
            if position:
                at = trie.parent[at].astype(np.int64)
                leaves, at = leaves[at > 0], at[at > 0]
            same = trie.frame[at] == frame
            leaves, at = leaves[same], at[same]
        bare = 0
    total = int(own[leaves].sum()) + bare
    return _InvertedTreeBuilder(view, path, compute_min_weight(total, width, min_px)).build(
        root, total, bare, leaves, at
    )


def find_inverted_path(view: ProfileView, root: int) -> list[TreePathStep]:
    """Return the path from the root to the callee of `root`; empty for the root. `root` must exist."""
    if not root:
        return []
    trie, names = view.profile.table.trie, view.profile.names
    leaf, steps = root & 0xFFFFFFFF, root >> 32
    frames = trie.path(leaf)[::-1][: steps - 1]
    callers = [TreePathStep((i + 1) << 32 | leaf, names[frame]) for i, frame in enumerate(frames)]
    return [TreePathStep(ROOT, names[trie.frame[0]]), *callers]


class _InvertedTreeBuilder:
    """Collect the nodes level by level as columns, and sort them into pre-order at the end."""

    def __init__(self, view: ProfileView, path: list[int], least: int) -> None:
        self.view, self.path, self.least = view, path, least
        self.ids: list[int] = []
        self.frames: list[int] = []
        self.values: list[int] = []
        self.own: list[int] = []
        self.rest: list[int] = []
        self.parents: list[int] = []

    def build(self, root: int, total: int, bare: int, leaves: I64, at: I64) -> RenderedTree:
        """Build from the node `root` towards the callers, until no node is wide enough."""
        trie, own = self.view.profile.table.trie, self.view.own
        self._add(root, self.path[-1] if self.path else 0, total, bare, -1)
        node = np.zeros(len(leaves), np.int64)
        steps = len(self.path)
        if self.path:
            node, leaves, at = self._step_outward(node, leaves, trie.parent[at].astype(np.int64))
        while len(leaves) and steps - len(self.path) < MAX_DEPTH and len(self.ids) < MAX_NODES:
            steps += 1
            weight = own[leaves]
            keys, first, group = np.unique(
                node << 32 | trie.frame[at], return_index=True, return_inverse=True
            )
            sums = np.zeros(len(keys), np.int64)
            np.add.at(sums, group, weight)
            wide = sums >= self.least
            owners = keys >> 32
            places = np.full(len(keys), -1, np.int64)
            for i in np.flatnonzero(wide).tolist():
                places[i] = len(self.ids)
                frame = int(keys[i] & 0xFFFFFFFF)
                self._add(steps << 32 | int(leaves[first[i]]), frame, int(sums[i]), 0, int(owners[i]))
            stored = wide[group]
            node, leaves, at = self._step_outward(
                places[group][stored], leaves[stored], trie.parent[at[stored]].astype(np.int64)
            )
        return self._to_preorder()

    def _step_outward(self, node: I64, leaves: I64, at: I64) -> tuple[I64, I64, I64]:
        """Return the stacks that have a further caller. Add the weight of the others to `own` of their node."""
        ended = at <= 0
        ends = np.zeros(len(self.ids), np.int64)
        np.add.at(ends, node[ended], self.view.own[leaves[ended]])
        for i in np.flatnonzero(ends).tolist():
            self.own[i] += int(ends[i])
        return node[~ended], leaves[~ended], at[~ended]

    def _add(self, id_: int, frame: int, value: int, own: int, parent: int) -> None:
        self.ids.append(id_)
        self.frames.append(frame)
        self.values.append(value)
        self.own.append(own)
        self.parents.append(parent)

    def _to_preorder(self) -> RenderedTree:
        profile = self.view.profile
        rest = [value - own for value, own in zip(self.values, self.own, strict=True)]
        children: list[list[int]] = [[] for _ in self.ids]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(i)
                rest[parent] -= self.values[i]
        order, level, todo = [], [], [(0, 0)]
        while todo:
            i, depth = todo.pop()
            order.append(i)
            level.append(depth)
            todo += [(child, depth + 1) for child in reversed(children[i])]
        kinds = profile.table.frames.kind
        frames = [self.frames[i] for i in order]
        rendered_tree = RenderedTree(
            [self.ids[i] for i in order],
            level,
            [profile.names[f] for f in frames],
            [profile.modules[f] for f in frames],
            [KINDS[int(kinds[f])] for f in frames],
            [self.values[i] for i in order],
            [self.own[i] for i in order],
        )
        return rendered_tree.add_pruned([rest[i] for i in order])
