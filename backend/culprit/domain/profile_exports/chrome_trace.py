"""A view as Trace Event Format, for Perfetto, Chrome DevTools and speedscope.

Samples are a CPU profile of V8 for each thread; durations are complete events (`X`), nested as the stacks are.
Source: the document "Trace Event Format" of the Chromium project; Perfetto reads the same events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from collectors.parse.profile_formats.chrome_trace import START
from collectors.profiles.limits import to_printable
from culprit.domain.profile_exports.rows import ExportError, ExportRows, ThreadSamples
from culprit.domain.profiles.stacks import ProfileView

MAX_SAMPLES = 20_000_000
_CHUNK = 20_000
_CATEGORY = "culprit"
_V8 = "disabled-by-default-v8.cpu_profiler"


def write_chrome_trace(view: ProfileView) -> Iterator[str]:
    """Yield the JSON. Times are microseconds after the first sample, whose time is in `otherData`.

    Raises ExportError if the profile has no times, or consists of neither samples nor durations.
    """
    rows = ExportRows(view)
    table = rows.table
    if not table.has_time or table.unit not in {"samples", "ns"}:
        raise ExportError("profile.export_needs_times")
    if table.unit == "samples" and view.weight > MAX_SAMPLES:
        raise ExportError("profile.export_too_large")
    return _write(rows)


def _write(rows: ExportRows) -> Iterator[str]:
    start_ns = int(rows.t_ns.min()) if len(rows.t_ns) else 0
    yield '{"displayTimeUnit":"ms","otherData":' + json.dumps({"exporter": "Culprit", START: str(start_ns)})
    yield ',"traceEvents":['
    named: set[int] = set()
    for number, thread in enumerate(rows.list_threads(), start=1):
        # Ids of the format are numbers: threads without one are counted.
        pid, tid = max(thread.pid, 0), thread.tid if thread.tid >= 0 else number
        place = {"pid": pid, "tid": tid}
        names = {"thread_name": thread.comm}
        if pid not in named:
            named.add(pid)
            names["process_name"] = rows.view.profile.processes.get(thread.pid, "")
        for kind, name in names.items():
            if name:
                metadata = {"name": kind, "ph": "M", "ts": 0, **place, "args": {"name": to_printable(name)}}
                yield json.dumps(metadata) + ",\n"
        writer = _write_samples if rows.table.unit == "samples" else _write_slices
        yield from writer(rows, thread, start_ns, {**place, "id": hex(number)})
    yield json.dumps(
        {"name": "process_labels", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"labels": ""}}
    )
    yield "]}"


def _write_samples(
    rows: ExportRows, thread: ThreadSamples, start_ns: int, place: dict[str, object]
) -> Iterator[str]:
    """Yield a CPU profile of V8: its beginning, its nodes, and the samples in chunks."""
    event = {"ph": "P", "cat": _V8, "ts": 0, **place}
    yield json.dumps({**event, "name": "Profile", "args": {"data": {"startTime": 0}}}) + ",\n"
    profile, trie = rows.view.profile, rows.table.trie
    frames, parents = trie.frame.tolist(), trie.parent.tolist()
    depths = trie.depth.tolist()
    needed: set[int] = set()
    for leaf in set(thread.stack.tolist()):
        node = leaf
        while depths[node] > rows.root_depth and node not in needed:
            needed.add(node)
            node = parents[node]
    root = {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0, "url": ""}}
    nodes = [root]
    for node in sorted(needed):
        name, url = profile.names[frames[node]], profile.modules[frames[node]]
        call = {"functionName": to_printable(name), "scriptId": 0, "url": to_printable(url)}
        parent = parents[node] + 2 if depths[node] > rows.root_depth + 1 else 1
        nodes.append({"id": node + 2, "parent": parent, "callFrame": call})
    samples = (
        (node + 2 if depths[node] > rows.root_depth else 1, (t_ns - start_ns) // 1000)
        for node, t_ns, weight in zip(
            thread.stack.tolist(), thread.t_ns.tolist(), thread.weight.tolist(), strict=True
        )
        for _ in range(weight)
    )
    last_us = 0
    while chunk := list(islice(samples, _CHUNK)):
        deltas = []
        for _, t_us in chunk:
            deltas.append(t_us - last_us)
            last_us = t_us
        data = {"cpuProfile": {"nodes": nodes, "samples": [node for node, _ in chunk]}, "timeDeltas": deltas}
        yield json.dumps({**event, "name": "ProfileChunk", "args": {"data": data}}) + ",\n"
        nodes = []


def _write_slices(
    rows: ExportRows, thread: ThreadSamples, start_ns: int, place: dict[str, object]
) -> Iterator[str]:
    """Yield a slice for every call. A call that continues in the next sample is a single slice."""
    event = {"ph": "X", "cat": _CATEGORY, "pid": place["pid"], "tid": place["tid"]}
    profile = rows.view.profile
    slices: list[tuple[int, int, int, int]] = []  # begin, minus its duration, depth, frame
    stack: list[tuple[int, int]] = []  # frame, begin
    now = 0

    def leave(depth: int) -> None:
        while len(stack) > depth:
            frame, begin_ns = stack.pop()
            slices.append((begin_ns, begin_ns - now, len(stack), frame))

    columns = (thread.t_ns.tolist(), thread.weight.tolist(), thread.stack.tolist())
    for t_ns, weight, node in zip(*columns, strict=True):
        path = rows.list_path(node)
        same = 0
        if t_ns <= now:
            while same < min(len(path), len(stack)) and path[same] == stack[same][0]:
                same += 1
        leave(same)
        begin_ns = max(t_ns, now)
        stack += [(frame, begin_ns) for frame in path[same:]]
        now = begin_ns + weight
    leave(0)
    for begin_ns, minus_ns, _, frame in sorted(slices):
        times = f'"ts":{_to_us(begin_ns - start_ns)},"dur":{_to_us(-minus_ns)}'
        call: dict[str, object] = {**event, "name": to_printable(profile.names[frame])}
        if profile.modules[frame]:
            call["args"] = {"filename": to_printable(profile.modules[frame])}
        yield f"{json.dumps(call)[:-1]},{times}}},\n"


def _to_us(t_ns: int) -> str:
    return f"{t_ns // 1000}.{t_ns % 1000:03d}"
