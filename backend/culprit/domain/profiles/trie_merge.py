"""Merge stack tries: nodes are equal if the names on their paths from the root are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.profiles.trie import I32, I64, StackTrie, build_trie


class TrieSide:
    """One trie to merge, with its nodes by level and the shared name ID of each node."""

    def __init__(self, trie: StackTrie, names: I64) -> None:
        self.trie = trie
        self.name = names[trie.frame]
        self.by_level = np.argsort(trie.depth, kind="stable")
        self.starts = np.searchsorted(trie.depth[self.by_level], np.arange(int(trie.depth.max()) + 2))
        self.into = np.zeros(len(trie), np.int64)

    def level(self, depth: int) -> I64:
        """Return the nodes at a depth."""
        if depth + 1 >= len(self.starts):
            return np.zeros(0, np.int64)
        return self.by_level[self.starts[depth] : self.starts[depth + 1]]


def merge_tries(sides: Sequence[TrieSide]) -> tuple[StackTrie, list[I64]]:
    """Return the merged trie, and for each side its nodes in the merged trie, int64 [nodes of the side]."""
    root_name = int(sides[0].name[0])
    parents, names = [np.full(1, -1, np.int64)], [np.full(1, root_name, np.int64)]
    depths = [np.zeros(1, np.int32)]
    count, depth = 1, 1
    while True:
        here = [side.level(depth) for side in sides]
        if not any(len(nodes) for nodes in here):
            break
        keys = np.concatenate(
            [s.into[s.trie.parent[nodes]] << 32 | s.name[nodes] for s, nodes in zip(sides, here, strict=True)]
        )
        distinct, group = np.unique(keys, return_inverse=True)
        ends = np.cumsum([len(nodes) for nodes in here])
        for side, nodes, end in zip(sides, here, ends.tolist(), strict=True):
            side.into[nodes] = count + group[end - len(nodes) : end]
        parents.append(distinct >> 32)
        names.append(distinct & 0xFFFFFFFF)
        depths.append(np.full(len(distinct), depth, np.int32))
        count, depth = count + len(distinct), depth + 1
    trie, position = build_trie(_concat_int32(parents), _concat_int32(names), np.concatenate(depths))
    return trie, [position[side.into].astype(np.int64) for side in sides]


def _concat_int32(parts: list[I64]) -> I32:
    return np.concatenate(parts).astype(np.int32)
