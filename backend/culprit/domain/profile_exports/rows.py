"""Common input of the profile writers: samples of a view by thread, and stacks without the name of the task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from collectors.contract import Sentence
from collectors.profiles.trie import I32, I64, FrameKind
from culprit.domain.profiles.stacks import ProfileView


class ExportError(Exception):
    """The format cannot represent the profile; `sentence` is the reason."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.sentence = Sentence(key)


@dataclass(frozen=True, slots=True)
class ThreadSamples:
    """The samples of a thread with one name, in time order. Unknown IDs are -1."""

    comm: str
    pid: int
    tid: int
    t_ns: I64
    weight: I64
    stack: I32


class ExportRows:
    """The rows of a view, for formats that name threads separately: stacks have no frame with the task name."""

    def __init__(self, view: ProfileView) -> None:
        self.view, self.table = view, view.profile.table
        rows = view.rows
        self.stack, self.weight = self.table.stack[rows], self.table.weight[rows]
        self.t_ns, self.cpu = self.table.t_ns[rows], self.table.cpu[rows]
        self.pid, self.tid, self.comm = (getattr(self.table, name)[rows] for name in ("pid", "tid", "comm"))

    @cached_property
    def has_task_frames(self) -> bool:
        """Whether every stack begins with the name of its thread."""
        table, names = self.table, self.view.profile.names
        outermost = np.maximum.accumulate(np.where(table.trie.depth <= 1, np.arange(len(table.trie)), 0))
        first = table.trie.frame[outermost[self.stack]]
        comms = table.comms.all()
        pairs = np.unique(np.stack([first, self.comm]), axis=1).T.tolist()
        return all(
            table.frames.kind[frame] == FrameKind.COMM and names[frame] == comms[comm]
            for frame, comm in pairs
        )

    @property
    def root_depth(self) -> int:
        """The depth of the parents of stacks: 0 for the root, 1 for the frame of the task name."""
        return 1 if self.has_task_frames else 0

    def list_nodes(self) -> list[int]:
        """Return the nodes with weight in pre-order, without the root and task names."""
        trie = self.table.trie
        return np.flatnonzero((self.view.total > 0) & (trie.depth > self.root_depth)).tolist()

    def list_threads(self) -> Iterator[ThreadSamples]:
        """Yield the threads, the heaviest first."""
        if not len(self.stack):
            return
        comms = self.table.comms.all()
        order = np.lexsort((self.comm, self.tid, self.pid))
        keys = np.stack([self.pid[order], self.tid[order], self.comm[order]])
        starts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
        weights = np.add.reduceat(self.weight[order], starts)
        ends = np.r_[starts[1:], len(order)]
        for number in np.argsort(-weights, kind="stable").tolist():
            rows = order[starts[number] : ends[number]]
            pid, tid, comm = (int(value) for value in keys[:, starts[number]])
            yield ThreadSamples(comms[comm], pid, tid, self.t_ns[rows], self.weight[rows], self.stack[rows])

    def list_path(self, node: int) -> list[int]:
        """Return the frames of a stack, outermost first."""
        return self.table.trie.path(node)[self.root_depth :]
