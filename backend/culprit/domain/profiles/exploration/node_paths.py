"""Find nodes by the names on their path, which are stable across profiles, filters and rebuilds of a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from culprit.domain.profiles.stacks import ProfileView


def find_node(view: ProfileView, path: Sequence[str]) -> int:
    """Return the node at `path` below the root (outermost name first), or the last existing node on it.

    Of siblings with the same name (in several modules), the heaviest is used.
    """
    trie, names = view.profile.table.trie, view.profile.names
    node = 0
    for name in path:
        below = np.flatnonzero(trie.parent[node + 1 : int(trie.end[node])] == node) + node + 1
        matching = [child for child in below.tolist() if names[trie.frame[child]] == name]
        if not matching:
            break
        node = max(matching, key=lambda child: int(view.total[child]))
    return node


def find_inverted_node(view: ProfileView, path: Sequence[str]) -> int:
    """Return the node ID at `path` (innermost name first) in the inverted tree, or the last existing node on it."""
    trie, names = view.profile.table.trie, view.profile.names
    leaves = np.flatnonzero(view.own)
    leaves = leaves[trie.depth[leaves] > 0]
    at = leaves.astype(np.int64)
    node = 0
    for steps, name in enumerate(path, 1):
        called = np.array([names[frame] == name for frame in trie.frame[at].tolist()], bool)
        called &= at > 0
        if not called.any():
            break
        leaves, at = leaves[called], at[called]
        # If several modules have the name, select the heaviest, because a node of the inverted tree has one frame.
        frames, group = np.unique(trie.frame[at], return_inverse=True)
        same = group == np.argmax(np.bincount(group, weights=view.own[leaves], minlength=len(frames)))
        leaves, at = leaves[same], at[same]
        node = steps << 32 | int(leaves[0])
        at = trie.parent[at].astype(np.int64)
    return node
