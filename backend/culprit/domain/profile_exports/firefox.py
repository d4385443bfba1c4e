"""A view for the Firefox Profiler: its processed format, version 60, with the tables of all threads in `shared`.

Source: docs-developer/CHANGELOG-formats.md and src/types/profile.ts of firefox-devtools/profiler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from collectors.profiles.limits import to_printable
from collectors.profiles.trie import INLINED, FrameKind
from culprit.domain.profile_exports.rows import ExportRows, ThreadSamples
from culprit.domain.profiles.stacks import ProfileView

VERSION = 60
_GECKO_VERSION = 32
_LIBRARY = 1
_CATEGORIES = (
    ("Other", "grey", {FrameKind.ROOT, FrameKind.COMM}),
    ("User", "yellow", {FrameKind.USER}),
    ("Kernel", "orange", {FrameKind.KERNEL}),
    ("JIT", "green", {FrameKind.JIT}),
    ("Idle", "transparent", {FrameKind.IDLE}),
    ("Unknown", "darkgrey", {FrameKind.UNKNOWN}),
)
_CATEGORY_OF = {kind: number for number, (_, _, kinds) in enumerate(_CATEGORIES) for kind in kinds}
_WEIGHT_TYPES = {"samples": "samples", "count": "samples", "ns": "tracing-ms", "bytes": "bytes"}


def write_firefox(view: ProfileView, name: str) -> Iterator[str]:
    """Yield the JSON. Times are milliseconds after the start time; without times, a sample is a millisecond."""
    rows = ExportRows(view)
    has_time = rows.table.has_time and len(rows.t_ns) > 0
    start_ms = int(rows.t_ns.min()) // 1_000_000 if has_time else 0
    yield '{"meta":' + json.dumps(_describe(name, start_ms, rows))
    yield ',"libs":' + json.dumps([_describe_library(module) for module in _list_modules(rows)])
    yield ',"threads":['
    nodes = rows.list_nodes()
    entries = {node: entry for entry, node in enumerate(nodes)}
    for number, thread in enumerate(rows.list_threads()):
        yield ("," if number else "") + _write_thread(thread, rows, entries, start_ms)
    yield '],"shared":{' + _write_tables(rows, nodes, entries) + "}}"


def _describe(name: str, start_ms: int, rows: ExportRows) -> dict[str, Any]:
    return {
        "interval": 1,
        "startTime": start_ms,
        "processType": 0,
        "product": to_printable(name),
        "importedFrom": "Culprit",
        "stackwalk": 1,
        "version": _GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "symbolicated": True,
        "markerSchema": [],
        "categories": [
            {"name": category, "color": color, "subcategories": ["Other"]}
            for category, color, _ in _CATEGORIES
        ],
    }


def _list_modules(rows: ExportRows) -> dict[str, int]:
    """Module → its row in the libraries and resources."""
    names = dict.fromkeys(module for module in rows.view.profile.modules if module)
    return {name: number for number, name in enumerate(names)}


def _describe_library(module: str) -> dict[str, Any]:
    path = to_printable(module)
    name = path.rpartition("/")[2]
    return {
        "name": name, "path": path, "debugName": name, "debugPath": path, "breakpadId": "", "codeId": None,
        "arch": "",
    }  # fmt: skip


def _write_thread(thread: ThreadSamples, rows: ExportRows, entries: dict[int, int], start_ms: int) -> str:
    table = rows.table
    start_ns = start_ms * 1_000_000
    count = len(thread.stack)
    times = ((thread.t_ns - start_ns) / 1e6).tolist() if table.has_time else list(range(count))
    weights = None if bool((thread.weight == 1).all()) and table.unit == "samples" else thread.weight.tolist()
    if table.unit == "ns":
        weights = [weight / 1e6 for weight in thread.weight.tolist()]
    known = thread.tid >= 0
    comm = to_printable(thread.comm)
    return json.dumps(
        {
            "processType": "default",
            "processName": to_printable(rows.view.profile.processes.get(thread.pid, "")),
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": 0,
            "unregisterTime": None,
            "pausedRanges": [],
            "name": comm,
            "isMainThread": not known or thread.pid == thread.tid,
            "pid": str(thread.pid) if thread.pid >= 0 else "unknown",
            "tid": thread.tid if known else "unknown",
            "samples": {
                "length": count,
                "stack": [entries.get(node) for node in thread.stack.tolist()],
                "time": times,
                "weight": weights,
                "weightType": _WEIGHT_TYPES[table.unit],
            },
            "markers": {
                "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
            },
        }
    )  # fmt: skip


def _write_tables(rows: ExportRows, nodes: list[int], entries: dict[int, int]) -> str:
    """Return the members of `shared`: a function and a frame for each distinct frame."""
    profile, trie = rows.view.profile, rows.table.trie
    frames = np.unique(trie.frame[nodes]).tolist()
    row_of = {frame: row for row, frame in enumerate(frames)}
    modules = _list_modules(rows)
    strings: dict[str, int] = {}

    def text(value: str) -> int:
        return strings.setdefault(to_printable(value), len(strings))

    count = len(frames)
    kinds, flags = rows.table.frames.kind.tolist(), rows.table.frames.flags.tolist()
    empty: list[None] = [None] * count
    no = [False] * count
    parents = trie.parent.tolist()
    tables: dict[str, dict[str, Any]] = {
        "stackTable": {
            "length": len(nodes),
            "frame": [row_of[frame] for frame in trie.frame[nodes].tolist()],
            "prefix": [entries.get(parents[node]) for node in nodes],
        },
        "frameTable": {
            "length": count,
            "address": [-1] * count,
            "inlineDepth": [int(bool(flags[frame] & INLINED)) for frame in frames],
            "category": [_CATEGORY_OF[FrameKind(kinds[frame])] for frame in frames],
            "subcategory": [0] * count,
            "func": list(range(count)),
            "nativeSymbol": empty,
            "innerWindowID": [0] * count,
            "line": empty,
            "column": empty,
        },
        "funcTable": {
            "length": count,
            "name": [text(profile.names[frame]) for frame in frames],
            "isJS": no,
            "relevantForJS": no,
            "resource": [modules.get(profile.modules[frame], -1) for frame in frames],
            "source": empty,
            "lineNumber": empty,
            "columnNumber": empty,
        },
        "resourceTable": {
            "length": len(modules),
            "lib": list(range(len(modules))),
            "name": [text(module.rpartition("/")[2]) for module in modules],
            "host": [None] * len(modules),
            "type": [_LIBRARY] * len(modules),
        },
        "nativeSymbols": {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []},
        "sources": {"length": 0, "uuid": [], "filename": []},
    }
    members = [f'"{name}":{json.dumps(columns)}' for name, columns in tables.items()]
    return ",".join([*members, f'"stringArray":{json.dumps(list(strings))}'])
