"""Profiles of the Firefox Profiler → tables: its processed format, and the format of Gecko that perf and others write.

Source: docs-developer/CHANGELOG-formats.md of firefox-devtools/profiler. Tables moved between versions; each is taken
from where the file has it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from collectors.parse.perf.perf_lines import frame_kind
from collectors.parse.profile_formats.json_source import (
    Json,
    Place,
    load_json,
    read_whole,
    to_index,
    to_name,
    to_number,
    to_task_id,
)
from collectors.parse.profile_formats.table_builder import CallerChains, TableBuilder
from collectors.profiles.limits import DEFAULT, Readable, ReaderLimits
from collectors.profiles.samples import SampleTable, Unit
from collectors.profiles.trie import INLINED, FrameKind

FORMAT = "Firefox Profiler"
_WEIGHTS: dict[str, tuple[Unit, int]] = {
    "samples": ("samples", 1),
    "tracing-ms": ("ns", 1_000_000),
    "bytes": ("bytes", 1),
}
CATEGORY_KINDS = {
    "Kernel": FrameKind.KERNEL,
    "JIT": FrameKind.JIT,
    "Idle": FrameKind.IDLE,
    "Unknown": FrameKind.UNKNOWN,
}
"""Category → kind of frame; the kind of other frames follows from their name and module."""

_MAX_NESTED = 64


def parse_firefox(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`. Times are those of the file: milliseconds after its start time."""
    whole = load_json(read_whole(source), FORMAT)
    builder, place = TableBuilder(limits), Place(FORMAT)
    with place.check_shape():
        for number, profile in enumerate(_list_processes(whole)):
            for index, thread in enumerate(profile["threads"]):
                place.at = f"threads[{index}]" if number == 0 else f"processes[{number - 1}].threads[{index}]"
                _ThreadReader(builder, profile, thread).add_samples()
    return builder.finish()


def _list_processes(whole: Json) -> Iterator[Json]:
    """Yield the profile and those of its processes, which the format of Gecko nests."""
    yield whole
    for process in (whole.get("processes") or ())[:_MAX_NESTED]:
        if isinstance(process, dict) and "threads" in process:
            yield process


def _to_columns(table: Json) -> dict[str, list[Any]]:
    """Return a table as columns; the format of Gecko has rows, and a schema of their entries."""
    if "schema" not in table:
        return table
    rows = table["data"]
    return {
        name: [row[at] if at < len(row) else None for row in rows]
        for name, at in table["schema"].items()
        if to_index(at, 1000) >= 0
    }


class _ThreadReader:
    """The tables that the samples of one thread refer to."""

    def __init__(self, builder: TableBuilder, profile: Json, thread: Json) -> None:
        self._builder, self._thread, self._meta = builder, thread, profile["meta"]
        shared = profile.get("shared") or {}

        def find(name: str) -> Any:
            return shared[name] if name in shared else thread.get(name)

        strings = find("stringArray")
        self._strings = thread["stringTable"] if strings is None else strings
        self._stacks = _to_columns(find("stackTable"))
        self._frames = _to_columns(find("frameTable"))
        self._functions = find("funcTable")
        self._resources = find("resourceTable") or {}
        self._libraries = profile.get("libs") or thread.get("libs") or []
        self._categories = [
            to_name(category.get("name")) for category in self._meta.get("categories") or () if category
        ]
        self._known: dict[int, list[int]] = {}
        self._chains = CallerChains(builder, self._find_caller, self._read_stack_frame)

    def add_samples(self) -> None:
        """Add every sample of the thread; one without a stack is a sample of its thread."""
        thread, samples = self._thread, _to_columns(self._thread["samples"])
        task = self._builder.task(
            to_name(thread.get("name")), to_task_id(thread.get("pid")), to_task_id(thread.get("tid"))
        )
        unit, scale = _WEIGHTS[to_name(samples.get("weightType")) or "samples"]
        event = self._builder.event_id("" if unit == "samples" else unit, unit)
        stacks = samples["stack"]
        weights = samples.get("weight") or [1] * len(stacks)
        start_ns = round(to_number(self._meta.get("startTime") or 0) * 1_000_000)
        for stack, weight, t_ms in zip(stacks, weights, self._list_times(samples), strict=True):
            node = self._chains.node(task.root, stack)
            t_ns = start_ns + round(to_number(t_ms) * 1_000_000)
            self._builder.add_sample(event, t_ns, round(to_number(weight) * scale), task, node)

    @staticmethod
    def _list_times(samples: Json) -> list[Any]:
        if samples.get("time") is not None:
            return list(samples["time"])
        times, now = [], 0.0
        for delta in samples["timeDeltas"]:
            now += to_number(delta)
            times.append(now)
        return times

    def _find_caller(self, key: Hashable) -> int | None:
        stack = to_index(key, len(self._stacks["frame"]))
        if "prefixOffset" in self._stacks:
            offset = to_number(self._stacks["prefixOffset"][stack])
            return to_index(stack - offset, stack) if offset else None
        caller = self._stacks["prefix"][stack]
        return None if caller is None else to_index(caller, len(self._stacks["frame"]))

    def _read_stack_frame(self, key: Hashable) -> list[int]:
        row = to_index(self._stacks["frame"][to_index(key, len(self._stacks["frame"]))], 1 << 31)
        if row not in self._known:
            self._known[row] = [self._read_frame(row)]
        return self._known[row]

    def _read_frame(self, row: int) -> int:
        if self._functions is None:
            name, module = _split_location(self._text(self._frames["location"][row]))
        else:
            function = to_index(self._frames["func"][row], len(self._functions["name"]))
            name, module = self._text(self._functions["name"][function]), self._find_module(row, function)
        depths = self._frames.get("inlineDepth")
        flags = INLINED if depths and depths[row] else 0
        category = (self._frames.get("category") or {row: None})[row]
        known = category is not None and self._categories
        kind = (
            CATEGORY_KINDS.get(self._categories[to_index(category, len(self._categories))]) if known else None
        )
        if kind == FrameKind.KERNEL and frame_kind(name, module, 0) == FrameKind.IDLE:
            kind = FrameKind.IDLE
        return self._builder.frame(name, module, kind, flags)

    def _text(self, index: object) -> str:
        return to_name(self._strings[to_index(index, len(self._strings))])

    def _find_module(self, frame: int, function: int) -> str:
        """Return the library of a frame, or the name of what its function belongs to."""
        libraries = self._frames.get("lib")
        library = libraries[frame] if libraries else None
        resource = self._functions["resource"][function]
        if library is None and resource is not None and resource >= 0:
            library = (self._resources.get("lib") or {resource: None})[resource]
            if library is None:
                return self._text(self._resources["name"][resource])
        if library is None or library < 0:
            return ""
        lib = self._libraries[to_index(library, len(self._libraries))]
        return to_name(lib.get("path") or lib.get("debugName") or lib.get("name"))


def _split_location(text: str) -> tuple[str, str]:
    """Return name and module of a location: `NAME (in MODULE)` or a name alone."""
    if text.endswith(")"):
        name, separator, module = text[:-1].rpartition(" (in ")
        if separator:
            return name, module
    return text, ""
