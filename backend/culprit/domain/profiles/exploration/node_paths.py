"""Nodes by the names on their path, which stay the same from one profile, filter or build of a tree to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from culprit.domain.profiles.stacks import ProfileView


def find_node(view: ProfileView, path: Sequence[str]) -> int:
    """The node under the root that `path` (outermost name first) leads to, or where it ends early, the last one on it.

    Of siblings with one name (in several modules), the heaviest.
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
    """The same in the inverted tree, where `path` begins with the innermost name; an id as the inverted tree has it."""
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
        # One name in several modules: the heaviest of them, as a node of the inverted tree has one frame.
        frames, group = np.unique(trie.frame[at], return_inverse=True)
        same = group == np.argmax(np.bincount(group, weights=view.own[leaves], minlength=len(frames)))
        leaves, at = leaves[same], at[same]
        node = steps << 32 | int(leaves[0])
        at = trie.parent[at].astype(np.int64)
    return node
