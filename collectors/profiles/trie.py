"""Stacks as a trie in flat arrays, and the builder that readers fill.

A node is one frame below one chain of callers; a stack is named by its leaf node. Nodes are numbered in
pre-order: a parent comes before its children, and the nodes of a subtree are the range [node, end[node]). So
the inclusive weight of every node is one cumulative sum at any depth, and nothing here recurses.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from collectors.profiles.limits import DEFAULT, ReaderLimits, limit_error

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]


class FrameKind(IntEnum):
    """What a frame is. COMM is the task name that every stack hangs below; IDLE is a CPU doing nothing."""

    ROOT = 0
    COMM = 1
    USER = 2
    KERNEL = 3
    JIT = 4
    UNKNOWN = 5
    IDLE = 6


INLINED = 1
"""Flag of a frame that the compiler inlined into its caller."""


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """Many strings as one UTF-8 blob: `offsets` [n + 1] into `blob`."""

    blob: U8
    offsets: I64

    @classmethod
    def of(cls, texts: list[str]) -> Strings:
        """Pack `texts` in order."""
        packed = [t.encode("utf-8", "replace") for t in texts]
        offsets = np.zeros(len(packed) + 1, np.int64)
        np.cumsum([len(p) for p in packed], out=offsets[1:])
        return cls(np.frombuffer(b"".join(packed), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        return bytes(self.blob[self.offsets[index] : self.offsets[index + 1]]).decode("utf-8", "replace")

    def all(self) -> list[str]:
        """Every string, in order."""
        blob, ends = self.blob.tobytes(), self.offsets.tolist()
        return [blob[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """The distinct frames. Arrays [n]: `name` and `module` index `strings`; `kind` is a Kind; `flags` INLINED
    or 0.

    Frame 0 is the root, `all`.
    """

    name: I32
    module: I32
    kind: U8
    flags: U8
    strings: Strings

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class StackTrie:
    """Arrays [n], pre-order: `parent` (the root's is -1), `frame`, `end` (one past the subtree), `depth`
    (root 0).
    """

    parent: I32
    frame: I32
    end: I32
    depth: I32

    def __len__(self) -> int:
        return len(self.parent)

    def inclusive(self, self_weight: npt.NDArray[np.int64]) -> I64:
        """The weight of each node with all below it, from the weight of stacks that end in it. [n] → [n]."""
        upto = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self_weight, out=upto[1:])
        return upto[self.end] - upto[:-1]

    def path(self, node: int) -> list[int]:
        """Frame ids from the root's child to `node`."""
        frames: list[int] = []
        while node > 0:
            frames.append(int(self.frame[node]))
            node = int(self.parent[node])
        return frames[::-1]


def order_preorder(parent: I32, depth: I32) -> tuple[I32, I32]:
    """Number nodes in pre-order, siblings in order of appearance.

    `parent` [n] (root first, a parent before its children, root's parent -1), `depth` [n].
    Returns (`position` [n]: old id → new id, `size` [n]: nodes in the subtree, itself included, by old id).
    Work is one vector operation per level, so 10,000 levels cost 10,000 small steps and no recursion.
    """
    n = len(parent)
    order = np.lexsort((np.arange(n), parent, depth))
    starts = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2)) if n else np.zeros(1, np.int64)
    size = np.ones(n, np.int64)
    for level in range(len(starts) - 2, 0, -1):
        nodes = order[starts[level] : starts[level + 1]]
        owners = parent[nodes]
        first = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
        size[owners[first]] += np.add.reduceat(size[nodes], first)
    position = np.zeros(n, np.int64)
    for level in range(1, len(starts) - 1):
        nodes = order[starts[level] : starts[level + 1]]
        owners = parent[nodes]
        before = np.cumsum(size[nodes]) - size[nodes]
        first = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
        base = np.repeat(before[first], np.diff(np.r_[first, len(nodes)]))
        position[nodes] = position[owners] + 1 + before - base
    return position.astype(np.int32), size.astype(np.int32)


def build_trie(parent: I32, frame: I32, depth: I32) -> tuple[StackTrie, I32]:
    """A StackTrie from nodes in any order in which parents come first, and the map old id → new id."""
    position, size = order_preorder(parent, depth)
    back = np.empty(len(parent), np.int64)
    back[position] = np.arange(len(parent))
    new_parent = np.where(parent[back] < 0, -1, position[parent[back]]).astype(np.int32)
    end = (np.arange(len(parent)) + size[back]).astype(np.int32)
    return StackTrie(new_parent, frame[back].astype(np.int32), end, depth[back].astype(np.int32)), position


class TrieBuilder:
    """Collects frames and nodes while a reader runs. Ids are in order of appearance; `finish` renumbers them.

    Raises LimitExceeded when there are more distinct frames, names or nodes than `limits` allow.
    """

    def __init__(self, limits: ReaderLimits = DEFAULT) -> None:
        self.limits = limits
        self.parent = array("i", [-1])
        self.frame = array("i", [0])
        self.depth = array("i", [0])
        self.children: dict[int, int] = {}  # parent << 20 | frame → node
        self._frames: dict[tuple[str, str, int, int], int] = {("all", "", FrameKind.ROOT, 0): 0}
        self._named = 0

    def frame_id(self, name: str, module: str, kind: FrameKind, flags: int = 0) -> int:
        """The id of a frame; the same words give the same id."""
        key = (name, module, int(kind), flags)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = len(self._frames)
            self._named += len(name) + len(module)
            if frame >= self.limits.frames:
                raise limit_error("frames", self.limits.frames)
            if self._named > self.limits.names:
                raise limit_error("names", self.limits.names)
        return frame

    def extend(self, node: int, frames: list[int]) -> int:
        """Walk down from `node` along `frames` (outermost first), adding what is missing. Returns the last
        node.
        """
        nodes = self.children
        for frame in frames:
            key = node << 20 | frame
            matching_node = nodes.get(key)
            if matching_node is None:
                matching_node = nodes[key] = len(self.parent)
                if matching_node >= self.limits.nodes:
                    raise limit_error("nodes", self.limits.nodes)
                self.depth.append(self.depth[node] + 1)
                self.parent.append(node)
                self.frame.append(frame)
            node = matching_node
        return node

    def finish(self) -> tuple[StackTrie, Frames, I32]:
        """The trie, its frames, and the map from the ids given so far to the ids of the trie."""
        trie, position = build_trie(
            *(np.frombuffer(column, np.int32) for column in (self.parent, self.frame, self.depth))
        )
        strings: dict[str, int] = {}
        name = [strings.setdefault(key[0], len(strings)) for key in self._frames]
        module = [strings.setdefault(key[1], len(strings)) for key in self._frames]
        frames = Frames(
            np.array(name, np.int32),
            np.array(module, np.int32),
            np.array([key[2] for key in self._frames], np.uint8),
            np.array([key[3] for key in self._frames], np.uint8),
            Strings.of(list(strings)),
        )
        return trie, frames, position
