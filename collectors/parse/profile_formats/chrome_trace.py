"""Trace Event Format (Chromium, Perfetto, py-spy, many libraries) → tables of samples and of durations.

Read are samples with stack frames, CPU profiles of V8 in chunks, and calls with a begin and an end (`B`, `E`, `X`).
Source: the document "Trace Event Format" of the Chromium project.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from collectors.parse.profile_formats.cpuprofile import NodeTable
from collectors.parse.profile_formats.intervals import CallIntervals
from collectors.parse.profile_formats.json_source import (
    Json,
    Place,
    load_json,
    read_whole,
    to_name,
    to_number,
    to_task_id,
)
from collectors.parse.profile_formats.table_builder import CallerChains, TableBuilder, Task
from collectors.profiles.limits import DEFAULT, Readable, ReaderLimits, WrongFormatError
from collectors.profiles.samples import SampleTable

FORMAT = "Chrome trace"
SLICES = "slices"
"""The event of calls with a begin and an end; their weight is time."""

START = "start_ns"
"""Entry of `otherData`: the time that the file's times are relative to. Without it, they are as they are."""

_Thread = tuple[int, int]  # pid, tid
_NamedThread = tuple[_Thread, int]  # and how many names it had before, as programs rename their threads


def parse_chrome_trace(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`, an object or a list of events; the list may lack its end, as the format allows."""
    whole = _load(read_whole(source))
    place = Place(FORMAT)
    with place.check_shape():
        place.at = "traceEvents"
        events = whole.get("traceEvents", ()) if isinstance(whole, dict) else whole
        extra = whole if isinstance(whole, dict) else {}
        start_ns = int((extra.get("otherData") or {}).get(START, 0))
        reader = _TraceReader(TableBuilder(limits), start_ns)
        for number, event in enumerate(events):
            place.at = f"traceEvents[{number}]"
            reader.add_event(event)
        place.at = "samples"
        reader.add_frame_samples(extra.get("stackFrames") or {}, extra.get("samples") or [])
        place.at = "traceEvents"
        return reader.finish()


def _load(data: bytes) -> Any:
    try:
        return load_json(data, FORMAT)
    except WrongFormatError:
        if not data.lstrip()[:1] == b"[":
            raise
        return load_json(data.rstrip().rstrip(b",") + b"]", FORMAT)


@dataclass(slots=True)
class _ChunkedProfile:
    """A profile of V8 that comes in several events."""

    thread: _NamedThread
    nodes: NodeTable
    t_us: float = 0
    samples: list[tuple[float, Hashable]] = field(default_factory=list)


class _TraceReader:
    """The state of one pass over the events."""

    def __init__(self, builder: TableBuilder, start_ns: int) -> None:
        self._builder, self._start_ns = builder, start_ns
        self._names: dict[_Thread, list[str]] = {}
        self._processes: dict[int, str] = {}
        self._calls: dict[_NamedThread, CallIntervals] = {}
        self._calls_in_order: list[tuple[int, int, _NamedThread, Json]] = []
        self._profiles: dict[tuple[int, str], _ChunkedProfile] = {}
        self._threads: dict[int, int] = {}  # tid → pid

    def add_event(self, event: Json) -> None:
        """Take an event of any kind; those without calls or samples are left out."""
        phase = event.get("ph")
        thread = to_task_id(event.get("pid")), to_task_id(event.get("tid"))
        if phase == "M":
            self._threads.setdefault(thread[1], thread[0])
            if event["name"] == "thread_name":
                self._names.setdefault(thread, []).append(to_name(event["args"]["name"]))
            elif event["name"] == "process_name":
                self._processes[thread[0]] = to_name(event["args"]["name"])
        elif phase in {"B", "E", "X"}:
            self._threads.setdefault(thread[1], thread[0])
            t_ns = self._to_ns(event["ts"])
            self._calls_in_order.append((t_ns, len(self._calls_in_order), self._get_named(thread), event))
        elif phase in {"P", "I", "n"} and event.get("name") in {"Profile", "ProfileChunk"}:
            self._add_chunk(thread, event)

    def _to_ns(self, t_us: object) -> int:
        return round(to_number(t_us) * 1000) + self._start_ns

    def _add_chunk(self, thread: _Thread, event: Json) -> None:
        key = thread[0], str(event.get("id", ""))
        data = event["args"]["data"]
        profile = self._profiles.get(key)
        if profile is None:
            profile = self._profiles[key] = _ChunkedProfile(self._get_named(thread), NodeTable(self._builder))
        if "startTime" in data:
            profile.t_us = to_number(data["startTime"])
        content = data.get("cpuProfile") or {}
        profile.nodes.add_nodes(content.get("nodes") or [])
        deltas = data.get("timeDeltas") or content.get("timeDeltas") or ()
        for node, delta in zip(content.get("samples") or (), deltas, strict=True):
            profile.t_us += to_number(delta)
            profile.samples.append((profile.t_us, node))

    def add_frame_samples(self, stack_frames: Json, samples: list[Json]) -> None:
        """Add the samples that name an entry of `stackFrames`."""
        frames: dict[Hashable, list[int]] = {}

        def read_frame(key: Hashable) -> list[int]:
            if key not in frames:
                frame = stack_frames[str(key)]
                frames[key] = [self._builder.frame(to_name(frame["name"]), to_name(frame.get("category")))]
            return frames[key]

        def find_caller(key: Hashable) -> Hashable | None:
            parent = stack_frames[str(key)].get("parent")
            return None if parent is None else str(parent)

        chains = CallerChains(self._builder, find_caller, read_frame)
        for sample in samples:
            tid = to_task_id(sample.get("tid"))
            task = self._task(((self._threads.get(tid, -1), tid), 0))
            event = self._builder.event_id(to_name(sample.get("name")), "samples")
            node = chains.node(task.root, str(sample["sf"]))
            weight = round(to_number(sample.get("weight", 1)))
            cpu = to_task_id(sample.get("cpu"))
            self._builder.add_sample(event, self._to_ns(sample["ts"]), weight, task, node, cpu)

    def _get_named(self, thread: _Thread) -> _NamedThread:
        return thread, len(self._names.get(thread, ()))

    def _task(self, named: _NamedThread) -> Task:
        thread, count = named
        names = self._names.get(thread) or [self._processes.get(thread[0], "")]
        return self._builder.task(names[max(count - 1, 0)], *thread)

    def _add_calls(self) -> None:
        frames: dict[tuple[str, str], int] = {}
        for t_ns, _, named, event in sorted(self._calls_in_order, key=lambda item: item[:2]):
            thread = named[0]
            renamed = len(set(self._names.get(thread, ()))) > 1
            calls = self._calls.setdefault(named if renamed else (thread, 0), CallIntervals())
            if event["ph"] == "E":
                calls.end_call(t_ns)
                continue
            arguments = event.get("args") or {}
            module = arguments.get("filename") if isinstance(arguments, dict) else None
            key = to_name(event.get("name")), module if isinstance(module, str) else ""
            frame = frames.get(key)
            if frame is None:
                frame = frames[key] = self._builder.frame(*key)
            if event["ph"] == "B":
                calls.begin_call(t_ns, frame)
            else:
                duration = event.get("dur", 0)
                calls.add_call(t_ns, t_ns + max(round(to_number(duration) * 1000), 0), frame)

    def finish(self) -> list[SampleTable]:
        """Return the tables: samples first, then the time of calls."""
        for profile in self._profiles.values():
            task = self._task(profile.thread)
            event = self._builder.event_id("", "samples")
            for t_us, key in profile.samples:
                self._builder.add_sample(event, self._to_ns(t_us), 1, task, profile.nodes.node(task, key))
        self._add_calls()
        event = self._builder.event_id(SLICES, "ns")
        for named, calls in self._calls.items():
            calls.add_samples(self._builder, event, self._task(named))
        return self._builder.finish()
