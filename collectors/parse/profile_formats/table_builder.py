"""Builds tables of samples out of the profiles of other tools, one table per event and unit."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from collectors.contract import Sentence
from collectors.parse.perf.perf_lines import frame_kind
from collectors.profiles.limits import (
    DEFAULT,
    ImportRefusedError,
    ReaderLimits,
    WrongFormatError,
    limit_error,
    to_printable,
)
from collectors.profiles.samples import Quality, SampleTable, Unit
from collectors.profiles.trie import FrameKind, Strings, TrieBuilder

EVENTS_MAX = 64
NO_TIME = -1
WEIGHT_MAX = 1 << 62
TIME_MAX_NS = 1 << 62
ID_MAX = 1 << 31


def not_format(name: str, place: str) -> WrongFormatError:
    """Return the error for a file of format `name` that cannot be read at `place`."""
    return WrongFormatError(
        Sentence("import.not_format", {"format": name, "place": to_printable(place)[:80]})
    )


@dataclass(frozen=True, slots=True)
class Task:
    """A thread of a file: its row in the columns of tasks, and the node that its stacks begin below."""

    row: int
    root: int


class TableBuilder:
    """Collects samples while a reader runs; `finish` returns the tables."""

    def __init__(self, limits: ReaderLimits = DEFAULT) -> None:
        self.limits = limits
        self.trie = TrieBuilder(limits)
        self.cut_names = 0
        self._events: dict[tuple[str, Unit], int] = {}
        self._tasks: dict[tuple[str, int, int], Task] = {}
        self._comms: dict[str, int] = {}
        self._task_rows: list[tuple[int, int, int]] = []  # pid, tid, comm
        self._columns = tuple(array(code) for code in "qqiiiB")  # t_ns, weight, node, task, cpu, event

    def event_id(self, name: str, unit: Unit) -> int:
        """Return the id of an event; weights of different events are never added up."""
        event = self._events.setdefault((self._shorten(name), unit), len(self._events))
        if event >= EVENTS_MAX:
            raise limit_error("profile_events", EVENTS_MAX)
        return event

    def task(self, comm: str = "", pid: int = -1, tid: int = -1) -> Task:
        """Return a thread. Stacks of a thread with a name are below a frame of that name, as perf has it."""
        key = (self._shorten(comm), _to_id(pid), _to_id(tid))
        task = self._tasks.get(key)
        if task is None:
            comm_id = self._comms.setdefault(key[0], len(self._comms))
            root = self.trie.extend(0, [self.trie.frame_id(key[0], "", FrameKind.COMM)]) if key[0] else 0
            task = self._tasks[key] = Task(len(self._task_rows), root)
            self._task_rows.append((key[1], key[2], comm_id))
        return task

    def frame(self, name: str, module: str = "", kind: FrameKind | None = None, flags: int = 0) -> int:
        """Return the id of a frame; without `kind`, name and module decide what it is."""
        name, module = self._shorten(name) or "[unknown]", self._shorten(module)
        return self.trie.frame_id(name, module, frame_kind(name, module, 0) if kind is None else kind, flags)

    def extend(self, node: int, frames: list[int]) -> int:
        """Return the node of `frames` (outermost first) below `node`."""
        node = self.trie.extend(node, frames)
        if self.trie.depth[node] > self.limits.depth:
            raise limit_error("depth", self.limits.depth)
        return node

    def add_sample(  # noqa: PLR0917
        self, event: int, t_ns: int, weight: int, task: Task, node: int, cpu: int = -1
    ) -> None:
        """Add one sample; `t_ns` is NO_TIME where the file has none. A weight of 0 is no sample."""
        if weight < 0:
            raise ImportRefusedError(Sentence("import.negative_weight"))
        if weight >= WEIGHT_MAX or not NO_TIME <= t_ns < TIME_MAX_NS:
            raise ImportRefusedError(Sentence("import.number_too_large"))
        if weight:
            row = (t_ns, weight, node, task.row, _to_id(cpu), event)
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)

    def finish(self) -> list[SampleTable]:
        """Return a table for every event with samples, in the order of their ids. Raises without a sample."""
        t_ns, weight, node, task, cpu, event = (np.array(column) for column in self._columns)
        if not len(t_ns):
            raise ImportRefusedError(Sentence("import.no_samples"))
        if sum(self._columns[1]) >= WEIGHT_MAX:
            raise ImportRefusedError(Sentence("import.number_too_large"))
        trie, frames, position = self.trie.finish()
        pid, tid, comm = np.array(self._task_rows, np.int32).T
        comms = Strings.of(list(self._comms))
        tables = []
        for (name, unit), number in self._events.items():
            rows = np.flatnonzero(event == number)
            if not len(rows):
                continue
            of_task = task[rows]
            timed = bool((t_ns[rows] >= 0).all())
            table = SampleTable(
                t_ns=t_ns[rows] if timed else np.zeros(len(rows), np.int64),
                cpu=cpu[rows],
                pid=pid[of_task],
                tid=tid[of_task],
                comm=comm[of_task],
                weight=weight[rows],
                stack=position[node[rows]],
                event=np.zeros(len(rows), np.uint8),
                comms=comms,
                frames=frames,
                trie=trie,
                events=(name,),
                unit=unit,
                has_time=timed,
                has_cpu=bool((cpu[rows] >= 0).any()),
                quality=Quality(cut_names=self.cut_names),
            )
            tables.append(table.sorted().measured())
        return tables

    def _shorten(self, text: str) -> str:
        if len(text) > self.limits.symbol:
            text, self.cut_names = text[: self.limits.symbol], self.cut_names + 1
        return to_printable(text)


def _to_id(number: int) -> int:
    return number if -1 <= number < ID_MAX else -1


class CallerChains:
    """Nodes of stacks that a file stores as entries which name their caller.

    `caller` returns the entry of the caller or None; `frames` returns the frames of an entry, outermost first.
    """

    def __init__(
        self,
        builder: TableBuilder,
        caller: Callable[[Hashable], Hashable | None],
        frames: Callable[[Hashable], list[int]],
    ) -> None:
        self._builder, self._caller, self._frames = builder, caller, frames
        self._nodes: dict[tuple[int, Hashable], int] = {}

    def node(self, root: int, entry: Hashable | None) -> int:
        """Return the node of an entry below `root`. Raises LimitExceededError for a chain without an end."""
        path: list[Hashable] = []
        while entry is not None and (root, entry) not in self._nodes:
            path.append(entry)
            if len(path) > self._builder.limits.depth:
                raise limit_error("depth", self._builder.limits.depth)
            entry = self._caller(entry)
        node = root if entry is None else self._nodes[root, entry]
        for entry in reversed(path):
            node = self._nodes[root, entry] = self._builder.extend(node, self._frames(entry))
        return node
