"""The native reader: perf.data and the text of `perf script` → SampleTable, recordings of the scheduler → SchedTable.

It is built from `backend/native` where a Rust toolchain is installed. Without it, perf prints perf.data as text, and
`perf_script` and `perf_sched` read that.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from collectors.contract import Sentence, UsedModule
from collectors.profiles.limits import (
    DEFAULT,
    ImportRefusedError,
    Readable,
    ReaderLimits,
    WrongFormatError,
    format_error,
    limit_error,
    to_printable,
)
from collectors.profiles.samples import Quality, SampleTable, Unit
from collectors.profiles.scheduling import SchedTable
from collectors.profiles.trie import Frames, StackTrie, Strings


def _load() -> Any:
    """Return the native module, or None if it is not installed (yet)."""
    try:
        return importlib.import_module("culprit_native")
    except ImportError:
        return None


# Parsers are children of a process that has loaded what they need.
_load()
_PIECE = 1 << 20
_SLICES = (
    "t_ns",
    "len_ns",
    "cpu",
    "task",
    "state",
    "delay_ns",
    "origin",
    "cut",
    "waker",
    "wake_cpu",
    "wake_context",
)
_TASKS = ("tid", "pid", "prio", "open_wait_ns")
_TYPES = {"t_ns": np.int64, "weight": np.int64, "event": np.uint8, "len_ns": np.int64, "delay_ns": np.int64}
_TYPES |= {
    "open_wait_ns": np.int64,
    "state": np.uint8,
    "origin": np.uint8,
    "cut": np.uint8,
    "wake_context": np.uint8,
}
_TYPES |= {"frames.kind": np.uint8, "frames.flags": np.uint8}


@dataclass(frozen=True, slots=True)
class SymbolFiles:
    """Where names of functions come from: files and directories, None for those that are not at hand.

    `kallsyms`: a copy of /proc/kallsyms of the host. `store`: ELF files, or only their blocks with symbols, by the key
    of a module (`UsedModule.key`). `root`: a directory in which paths of the capture are looked up, for files with the
    same build ID. `perf_maps`: copies of `perf-PID.map` and `jit-PID.dump`. `inlines`: whether functions that the
    compiler inlined are frames, with the flag `INLINED`, where debugging information is at hand; None means in chains
    out of copies of stacks, as in perf.
    """

    kallsyms: Path | None = None
    store: Path | None = None
    root: Path | None = None
    perf_maps: Path | None = None
    inlines: bool | None = None


Kind = Literal["samples", "off_cpu", "wall_time", "block_io", "futex"]
_NS = frozenset({"off_cpu", "wall_time", "futex"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What is computed from the events of a recording, of the processes `pids` or of all.

    `samples`: each sample weighs one. In all other kinds, what has not ended counts up to the last event.

    `off_cpu` needs `sched:sched_switch`: the waits of threads. Stacks begin with the process and `blocked` or
    `runnable`. With `sched:sched_waking`, the stack of the thread that ended the wait is on top, from `woken by` on,
    its innermost function first.

    `wall_time` needs samples of CPUs too: the waits, and under `on CPU` the exact time of each thread on CPUs, divided
    evenly among its samples.

    `block_io` needs `block:block_rq_issue` and `block:block_rq_complete`: requests by the stack that issued them, or
    with `block:block_rq_insert` by that of the thread that submitted them to a queue. It has the events `device_time`
    and `bytes`. `split_block_io` makes tables of them.

    `futex` needs `syscalls:sys_enter_futex` and `syscalls:sys_exit_futex`: waits, below the address of the lock.
    """

    kind: Kind = "samples"
    pids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class UsedModules:
    """The modules of a recording. `kernel_samples` and `kernel_symbols` are of the kernel with its own modules."""

    modules: tuple[UsedModule, ...]
    kernel_samples: int
    kernel_symbols: int


def is_available() -> bool:
    """Return whether the native reader is installed."""
    return _load() is not None


def read_samples(
    path: Path,
    symbols: SymbolFiles = SymbolFiles(),
    limits: ReaderLimits = DEFAULT,
    *,
    reading: Reading = Reading(),
) -> SampleTable:
    """Read the samples of a file, or what `reading` computes from its events. `block_io` is to be split afterwards.

    Copies of stacks (`--call-graph dwarf`, x86-64) become call chains, as far as the files of the programs are at hand.
    Times are those of perf's clock. Raises WrongFormatError (`import.not_perf_data`), ImportRefusedError
    (`import.no_samples`; `profile.no_overlap` if the parts of `wall_time` are not of the same time) and
    LimitExceededError.
    """
    return read_samples_and_modules(path, symbols, limits, reading=reading)[0]


def read_samples_and_modules(
    path: Path,
    symbols: SymbolFiles = SymbolFiles(),
    limits: ReaderLimits = DEFAULT,
    *,
    reading: Reading = Reading(),
) -> tuple[SampleTable, UsedModules]:
    """Read the samples of a file, and the modules that they are in. Raises as `read_samples` does."""
    values = _call(
        _load().read_perf_data, path, kind=reading.kind, pids=list(reading.pids), kallsyms=symbols.kallsyms,
        store=symbols.store, root=symbols.root, perf_maps=symbols.perf_maps, inlines=symbols.inlines,
        symbol=limits.symbol, frames=limits.frames, nodes=limits.nodes, names=limits.names,
    )  # fmt: skip
    quality = Quality(lost=values["lost"], skipped_lines=values["damaged"])
    return _build_table(values, "ns" if reading.kind in _NS else "samples", quality), _build_modules(values)


def split_block_io(table: SampleTable) -> list[SampleTable]:
    """Return requests to block devices by `device_time` (ns), `bytes` and number (`requests`), a table of each."""
    time = replace(table.of_event("device_time"), unit="ns")
    size = replace(table.of_event("bytes"), unit="bytes")
    each = np.ones_like(size.weight)
    requests = replace(size, weight=each, event=np.zeros_like(size.event), events=("requests",), unit="count")
    return [time.measured(), size.measured(), requests.measured()]


def list_modules(data: bytes) -> UsedModules:
    """List the modules that the samples of perf.data are in, without symbols. Raises as `read_samples` does."""
    return _build_modules(_call(_load().list_perf_modules, data))


def _build_modules(values: Mapping[str, Any]) -> UsedModules:
    modules = (
        UsedModule(to_printable(path), key, is_anonymous, tuple(places), samples, symbols)
        for path, key, is_anonymous, places, samples, symbols in values["modules"]
    )
    return UsedModules(tuple(modules), *values["kernel"])


def read_text(source: Readable, limits: ReaderLimits = DEFAULT) -> SampleTable:
    """Read the unpacked text of `perf script`, as `perf_script.parse_perf_script` does, with the same errors."""
    reader = _load().PerfScriptReader(
        line=limits.line, depth=limits.depth, symbol=limits.symbol, frames=limits.frames, nodes=limits.nodes,
        names=limits.names,
    )  # fmt: skip
    while piece := source.read(_PIECE):
        _call(reader.feed, piece)
    values = _call(reader.finish)
    quality = Quality(
        lost=values["lost"], skipped_lines=values["skipped"], first_skipped=values["first_skipped"],
        cut_names=values["cut_names"],
    )  # fmt: skip
    return _build_table(values, "samples", quality)


def _build_table(values: Mapping[str, Any], unit: Unit, quality: Quality) -> SampleTable:
    columns = {
        name: _read_column(values, name) for name in ("t_ns", "cpu", "pid", "tid", "comm", "stack", "event")
    }
    weight = _read_column(values, "weight") if values["weight"] else np.ones(len(columns["t_ns"]), np.int64)
    name, module, kind, flags = (
        _read_column(values, f"frames.{column}") for column in ("name", "module", "kind", "flags")
    )
    parent, frame, end, depth = (
        _read_column(values, f"trie.{column}") for column in ("parent", "frame", "end", "depth")
    )
    table = SampleTable(
        **columns,
        weight=weight,
        comms=_read_strings(values, "comms"),
        frames=Frames(name, module, kind, flags, _read_strings(values, "strings")),
        trie=StackTrie(parent, frame, end, depth),
        events=tuple(to_printable(event) for event in values["events"]),
        unit=unit,
        has_time=values["has_time"],
        has_cpu=values["has_cpu"],
        quality=quality,
    )
    return table.sorted().measured()


def read_schedule(path: Path) -> SchedTable:
    """Read a recording of `perf sched record`. Raises WrongFormatError (`import.not_sched`) without a switch."""
    try:
        values = _call(_load().read_perf_sched, path)
    except ImportRefusedError as refused:
        if refused.sentence.key == "import.no_samples":
            raise ImportRefusedError(Sentence("import.not_sched", {"unreadable": 0})) from refused
        raise
    columns = (*_SLICES, *_TASKS)
    numbers = ("t0_ns", "t1_ns", "events", "lost", "inconsistent", "unreadable")
    return SchedTable(
        **{name: _read_column(values, name) for name in columns},
        **{name: values[name] for name in numbers},
        comm=_read_strings(values, "comm"),
        cpus=tuple(values["cpus"]),
    )


def _call(function: Any, /, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except _load().ReaderError as error:
        raise _to_refusal(*error.args) from error


def _to_refusal(key: str, value: str, *rest: int) -> ImportRefusedError:
    if key == "limit":
        return limit_error(value, rest[0])
    if key == "limit_at":
        return limit_error(value, *rest)
    if key == "not_text":
        return format_error("perf_script", rest[0], value.encode())
    if key == "no_overlap":
        return ImportRefusedError(Sentence("profile.no_overlap"))
    if key == "no_samples":
        return ImportRefusedError(Sentence("import.no_samples"))
    return WrongFormatError(Sentence("import.not_perf_data", {"reason": to_printable(value)}))


def _read_column(values: Mapping[str, Any], name: str) -> Any:
    return np.frombuffer(values[name], _TYPES.get(name, np.int32))


def _read_strings(values: Mapping[str, Any], name: str) -> Strings:
    blob, offsets = values[f"{name}.blob"], values[f"{name}.offsets"]
    return Strings(np.frombuffer(blob, np.uint8), np.frombuffer(offsets, np.int64))


@dataclass(frozen=True, slots=True)
class FunctionSamples:
    """Samples in one function of one file, by offset in it; in the kernel and in generated code, by address.

    `start` equals `end` where the extent is unknown. `counts` are pairs of address and samples, in order of address.
    """

    module: str
    key: str | None
    is_kernel: bool
    is_anonymous: bool
    start: int
    end: int
    counts: tuple[tuple[int, int], ...]

    @property
    def samples(self) -> int:
        """Return the samples in the function."""
        return sum(count for _, count in self.counts)


@dataclass(frozen=True, slots=True)
class FunctionQuery:
    """A function as the profile names it: its event, name, and module or None for any module."""

    event: str
    function: str
    module: str | None = None


def count_function(
    path: Path, query: FunctionQuery, symbols: SymbolFiles
) -> tuple[int, list[FunctionSamples]]:
    """Return the samples of the event, and all functions of the name by samples. Raises as `read_samples` does."""
    values = _call(
        _load().count_function, path, event=query.event, function=query.function, module=query.module,
        kallsyms=symbols.kallsyms, store=symbols.store, root=symbols.root, perf_maps=symbols.perf_maps,
    )  # fmt: skip
    functions = [
        FunctionSamples(module, key, is_kernel, is_anonymous, start, end, tuple(counts))
        for module, key, is_kernel, is_anonymous, start, end, counts in values["functions"]
    ]
    return values["samples"], functions


def list_file_parts(path: Path) -> tuple[str | None, bool, dict[str, tuple[int, int]]] | None:
    """Return what the headers of an ELF file state, or None for any other file.

    They are the build ID or None, whether its instructions can be printed, and the offset and size of the sections
    with lines by name.
    """
    parts = _load().list_file_parts(path)
    if parts is None:
        return None
    build_id, is_known, sections = parts
    return build_id, is_known, {name: (offset, size) for name, offset, size in sections}


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """Where the bytes of a program are: a file with its separate debugging information, else `module` below `root`.

    A file below `root` must have the build ID `key`. `has_lines` states that sections with lines are at hand.
    """

    program: Path | None = None
    debug: Path | None = None
    root: Path | None = None
    module: str = ""
    key: str = ""
    has_lines: bool = True


def read_function(file: ProgramFile, start: int, end: int) -> Mapping[str, Any] | None:
    """Return the instructions at the offsets from `start` to `end`, or None if their bytes are not at hand.

    `supported`: whether they can be printed. If so: `address` of the first one, `cut`, `files`, and `instructions`:
    (offset, length, text, target or None, callee or None, file or -1, line).
    """
    function: Mapping[str, Any] | None = _load().read_function(
        start=start, end=end, program=file.program, debug=file.debug, root=file.root, module=file.module,
        key=file.key, lines=file.has_lines,
    )  # fmt: skip
    return function
