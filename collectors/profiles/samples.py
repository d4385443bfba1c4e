"""A profile at rest: samples as columns, stacks as a trie, strings in tables, in one file that can be mapped.

A `SampleTable` is immutable and sorted by time. Readers (`collectors.parse.perf`, `.profile_formats`) make one;
`culprit.domain.profiles.stacks` computes everything about one. Times are those of the source's clock until they are
replaced by those of the host's clock (`at_times`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from collectors.contract import Times
from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.trie import I32, I64, U8, FrameKind, Frames, StackTrie, Strings

VERSION = 1
KIND = "samples"
Unit = Literal["samples", "ns", "bytes", "count"]
UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, slots=True)
class Quality:
    """What a reader noticed. Shares are of the weight.

    `lost`: samples that perf reports as lost. `unknown_share`: the innermost frame has no name.
    `truncated_share`: the stack ends before a function in which threads begin, or at the kernel's limit of
    127 frames. `empty`: samples without any frame. `skipped_lines`: lines that no reader understood
    (`first_skipped` is the first, 1-based).
    """

    lost: int = 0
    unknown_share: float = 0.0
    truncated_share: float = 0.0
    empty: int = 0
    skipped_lines: int = 0
    first_skipped: int = 0
    cut_names: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ControlGroups:
    """Which control group a process was in: `pid` [n] ascending, `group` [n] index into `names`."""

    pid: I32
    group: I32
    names: Strings

    @classmethod
    def of(cls, groups: Mapping[int, str]) -> ControlGroups:
        """Pack process IDs with the paths of their groups."""
        names = sorted(set(groups.values()))
        place = {name: at for at, name in enumerate(names)}
        pids = sorted(groups)
        group = np.array([place[groups[pid]] for pid in pids], np.int32)
        return cls(np.array(pids, np.int32), group, Strings.of(names))

    def find(self, pid: I32) -> I32:
        """[n] → [n]: the group of each process, -1 where it is unknown."""
        if not len(self.pid):
            return np.full(len(pid), -1, np.int32)
        at = np.minimum(np.searchsorted(self.pid, pid), len(self.pid) - 1)
        return np.where(self.pid[at] == pid, self.group[at], np.int32(-1))


NO_GROUPS = ControlGroups.of({})


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """Samples in order of time. Arrays [n]:

    `t_ns` nanoseconds; `cpu` (-1 unknown); `pid`, `tid` (-1 unknown); `comm` index into `comms`, the name of
    the thread; `weight` in `unit`; `stack` leaf node in `trie`; `event` index into `events`.
    """

    t_ns: Times
    cpu: I32
    pid: I32
    tid: I32
    comm: I32
    weight: I64
    stack: I32
    event: U8
    comms: Strings
    frames: Frames
    trie: StackTrie
    events: tuple[str, ...] = ("",)
    unit: Unit = "samples"
    has_time: bool = True
    has_cpu: bool = True
    quality: Quality = field(default_factory=Quality)
    cgroups: ControlGroups = NO_GROUPS

    def __len__(self) -> int:
        return len(self.t_ns)

    @property
    def samples(self) -> int:
        """How many samples: the rows, or where rows are counts (folded stacks) the sum of their weights."""
        return int(self.weight.sum()) if self.unit == "samples" else len(self)

    @property
    def total(self) -> int:
        """The weight of everything."""
        return int(self.weight.sum())

    def at_times(self, t_ns: Times) -> SampleTable:
        """The same samples at other times (another clock), sorted again."""
        return replace(self, t_ns=np.asarray(t_ns, np.int64)).sorted()

    def take(self, rows: Any) -> SampleTable:
        """Only these rows (indices, a mask or a slice); trie and strings stay whole."""
        stored = {name: getattr(self, name)[rows] for name in _ROWS}
        return replace(self, **stored)

    def sorted(self) -> SampleTable:
        """By time, stable. Itself where it is sorted already."""
        if len(self) < 2 or bool((self.t_ns[1:] >= self.t_ns[:-1]).all()):
            return self
        return self.take(np.argsort(self.t_ns, kind="stable"))

    def of_event(self, name: str) -> SampleTable:
        """The samples of one event; weights of different events must never be added up."""
        return replace(self.take(self.event == self.events.index(name)), events=self.events).measured()

    def measured(self) -> SampleTable:
        """The same table with `unknown_share`, `truncated_share` and `empty` counted from its stacks."""
        total = self.total
        kind, depth = self.frames.kind[self.trie.frame], self.trie.depth
        unknown = kind == FrameKind.UNKNOWN
        short = _truncated_share(self.trie, self.frames)
        share = max(total, 1)
        weight = self.weight
        return replace(
            self,
            quality=replace(
                self.quality,
                unknown_share=float(weight[unknown[self.stack]].sum() / share),
                truncated_share=float(weight[short[self.stack]].sum() / share),
                empty=int(weight[depth[self.stack] <= 1].sum()) if self.unit == "samples" else 0,
            ),
        )

    def save(self, path: Path) -> int:
        """Write the file (see `collectors.profiles.column_file`). Returns its size in bytes."""
        q = self.quality
        meta = {
            "events": list(self.events),
            "unit": self.unit,
            "has_time": self.has_time,
            "has_cpu": self.has_cpu,
            "quality": {name: getattr(q, name) for name in Quality.__dataclass_fields__},
        }
        return column_file.write_columns(path, KIND, VERSION, meta, self._arrays())

    def _arrays(self) -> dict[str, column_file.Array]:
        arrays: dict[str, column_file.Array] = {name: getattr(self, name) for name in _ROWS}
        for prefix, holder, names in (
            ("trie.", self.trie, ("parent", "frame", "end", "depth")),
            ("frames.", self.frames, ("name", "module", "kind", "flags")),
            ("strings.", self.frames.strings, ("blob", "offsets")),
            ("comms.", self.comms, ("blob", "offsets")),
            ("cgroups.", self.cgroups, ("pid", "group")),
            ("cgroups.", self.cgroups.names, ("blob", "offsets")),
        ):
            arrays |= {prefix + name: getattr(holder, name) for name in names}
        return arrays

    @classmethod
    def load(cls, path: Path, *, verify: bool = True) -> SampleTable:
        """Map a file written by `save`. Raises DamagedFile where it is not whole and consistent."""
        file = column_file.read_columns(path, KIND, VERSION, verify=verify)
        try:
            table = cls._of(file.meta, file.arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFileError(f"missing or misshapen: {error}") from error
        _validate(table)
        return table

    @classmethod
    def _of(cls, meta: Mapping[str, Any], a: Mapping[str, column_file.Array]) -> SampleTable:
        strings = Strings(a["strings.blob"], a["strings.offsets"])
        cgroups = NO_GROUPS
        # Files from before control groups were known have none.
        if "cgroups.pid" in a:
            names = Strings(a["cgroups.blob"], a["cgroups.offsets"])
            cgroups = ControlGroups(a["cgroups.pid"], a["cgroups.group"], names)
        return cls(
            **{name: a[name] for name in _ROWS},
            comms=Strings(a["comms.blob"], a["comms.offsets"]),
            frames=Frames(a["frames.name"], a["frames.module"], a["frames.kind"], a["frames.flags"], strings),
            trie=StackTrie(*(a[f"trie.{n}"] for n in ("parent", "frame", "end", "depth"))),
            events=tuple(meta["events"]),
            unit=meta["unit"],
            has_time=bool(meta["has_time"]),
            has_cpu=bool(meta["has_cpu"]),
            quality=Quality(**meta["quality"]),
            cgroups=cgroups,
        )


_ROWS = ("t_ns", "cpu", "pid", "tid", "comm", "weight", "stack", "event")
_TYPES = dict(zip(_ROWS, ("<i8", "<i4", "<i4", "<i4", "<i4", "<i8", "<i4", "|u1"), strict=True))

THREAD_ENTRIES = frozenset(
    [
        "_start",
        "__libc_start_main",
        "__libc_start_main_impl",
        "__libc_start_call_main",
        "generic_start_main",
        "start_thread",
        "clone",
        "clone3",
        "__clone",
        "__clone3",
        "thread_start",
        "ret_from_fork",
        "ret_from_fork_asm",
        "ret_from_kernel_thread",
        "kthread",
        "runtime.goexit",
        "runtime.goexit.abi0",
        "runtime.mstart",
        "runtime.mstart0",
        "runtime.rt0_go",
        "runtime.rt0_go.abi0",
        "_rt0_amd64",
        "runtime.mcall",
        "runtime.systemstack",
        "runtime.systemstack.abi0",
        "secondary_startup_64_no_verify",
        "secondary_startup_64",
        "common_startup_64",
        "x86_64_start_kernel",
        "start_kernel",
        "cpu_startup_entry",
        "__secondary_switched",
        "secondary_start_kernel",
        "main",
        "_dl_start_user",
        "_dl_start",
    ]
)
"""Functions in which a thread or a CPU begins: a stack that reaches one of them is whole (glibc, musl,
kernel, Go).
"""

MAX_HEADINGS = 3
"""Frames above the outermost function of a stack: task, lock or device, and state."""

KERNEL_STACK_LIMIT = 127
"""PERF_MAX_STACK_DEPTH, the default of kernel.perf_event_max_stack."""


def _truncated_share(trie: StackTrie, frames: Frames) -> npt_bool:
    """[nodes]: does the stack that ends in this node lack its outermost part?

    Judged by the outermost function, below the task's name and other headings. Kernel-only stacks are whole, as kernel
    unwinding does not fail half-way; a stack of nothing is not judged.
    """
    names = frames.strings.all()
    entry = np.array([names[i] in THREAD_ENTRIES for i in frames.name.tolist()], bool)
    judged = ~entry & (frames.kind != FrameKind.KERNEL) & (frames.kind != FrameKind.IDLE)
    outermost = _find_outermost_functions(trie, frames) & judged[trie.frame]
    open_subtrees = np.zeros(len(trie) + 1, np.int32)
    starts = np.flatnonzero(outermost)
    np.add.at(open_subtrees, starts, 1)
    np.add.at(open_subtrees, trie.end[starts], -1)
    return (np.cumsum(open_subtrees[:-1]) > 0) | (trie.depth > KERNEL_STACK_LIMIT)


def _find_outermost_functions(trie: StackTrie, frames: Frames) -> npt_bool:
    """[nodes]: is this the outermost frame of a stack that is no heading (the name of a task, `blocked`, a lock)?"""
    is_heading = frames.kind[trie.frame] == FrameKind.COMM
    in_front = trie.depth == 0
    parent = np.maximum(trie.parent, 0)
    for level in range(1, MAX_HEADINGS + 1):
        in_front |= (trie.depth == level) & is_heading & in_front[parent]
    return np.asarray(~in_front & in_front[parent] & (trie.depth > 0))


npt_bool = np.ndarray[Any, np.dtype[np.bool_]]


def _validate(table: SampleTable) -> None:
    """Every index in range, every tree edge backwards, so that no later step can read outside or loop."""
    n, nodes, frames = len(table), len(table.trie), len(table.frames)
    trie, words = table.trie, table.frames
    for name in _ROWS:
        column = getattr(table, name)
        _check_columns(len(column) == n and column.dtype.str == _TYPES[name], f"column {name}")
    groups = table.cgroups
    _check_columns(bool((np.diff(groups.pid) > 0).all()), "order of processes")
    for strings in (table.comms, words.strings, groups.names):
        offsets = strings.offsets
        good = len(offsets) > 0 and offsets[0] == 0 and bool((np.diff(offsets) >= 0).all())
        _check_columns(good and offsets[-1] <= len(strings.blob), "strings")
    _check_columns(nodes > 0 and frames > 0 and table.unit in UNITS, "empty trie")
    for array, length, low, high, name in (
        (trie.parent[1:], nodes - 1, 0, nodes, "parent"),
        (trie.frame, nodes, 0, frames, "frame"),
        (trie.end, nodes, 1, nodes + 1, "end"),
        (trie.depth, nodes, 0, nodes, "depth"),
        (words.name, frames, 0, len(words.strings), "name"),
        (words.module, frames, 0, len(words.strings), "module"),
        (words.kind, frames, 0, len(FrameKind), "kind"),
        (words.flags, frames, 0, 256, "flags"),
        (table.stack, n, 0, nodes, "stack"),
        (table.comm, n, 0, len(table.comms), "comm"),
        (table.event, n, 0, len(table.events), "event"),
        (table.weight, n, 0, 1 << 62, "weight"),
        (groups.group, len(groups.pid), 0, len(groups.names), "control group"),
    ):
        _check_columns(
            len(array) == length and (length == 0 or (array.min() >= low and array.max() < high)), name
        )
    ids = np.arange(nodes)
    backwards = (
        trie.parent[0] == -1 and bool((trie.parent[1:] < ids[1:]).all()) and bool((trie.end > ids).all())
    )
    _check_columns(backwards, "order of nodes")
    _check_columns(
        bool((trie.depth[1:] == trie.depth[trie.parent[1:]] + 1).all()) and trie.depth[0] == 0,
        "depth of nodes",
    )
    _check_columns(bool((trie.end[1:] <= trie.end[trie.parent[1:]]).all()), "nesting of nodes")


def _check_columns(good: bool, what: str) -> None:
    if not good:
        raise DamagedFileError(f"inconsistent: {what}")
