"""A view in the file format of speedscope.

Source: the schema named in `$schema`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from collectors.profiles.limits import to_printable
from culprit.domain.profile_exports.rows import ExportRows
from culprit.domain.profiles.stacks import ProfileView

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"samples": "none", "count": "none", "ns": "nanoseconds", "bytes": "bytes"}


def write_speedscope(view: ProfileView, name: str) -> Iterator[str]:
    """Yield the JSON: a sampled profile for each thread, in order of time, named `TASK PID/TID`.

    Without threads it is one profile. Samples of the same stack in a row are one.
    """
    rows = ExportRows(view)
    profile = view.profile
    frames = [
        {"name": to_printable(frame)} | ({"file": to_printable(module)} if module else {})
        for frame, module in zip(profile.names, profile.modules, strict=True)
    ]
    title = to_printable(name)
    head = {
        "$schema": _SCHEMA,
        "exporter": "Culprit",
        "name": title,
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
    }
    yield json.dumps(head)[:-1] + ',"profiles":['
    count = 0
    for count, thread in enumerate(rows.list_threads(), start=1):
        known = thread.tid >= 0
        label = f"{to_printable(thread.comm)} {max(thread.pid, 0)}/{thread.tid}" if known else title
        stack, weight = _merge_repeats(rows, thread.stack, thread.weight)
        yield "," if count > 1 else ""
        yield from _write_profile(rows, label if known or not thread.comm else thread.comm, stack, weight)
    if not count:
        yield from _write_profile(rows, title, [], [])
    yield "]}"


def _merge_repeats(rows: ExportRows, stack: np.ndarray, weight: np.ndarray) -> tuple[list[int], list[int]]:
    """Sum the weights of equal consecutive stacks; without times, of all equal stacks."""
    if not rows.table.has_time:
        order = np.argsort(stack, kind="stable")
        stack, weight = stack[order], weight[order]
    starts = np.flatnonzero(np.r_[True, stack[1:] != stack[:-1]])
    sums = np.add.reduceat(weight, starts)
    some = sums > 0
    return stack[starts][some].tolist(), sums[some].tolist()


def _write_profile(rows: ExportRows, label: str, stack: list[int], weight: list[int]) -> Iterator[str]:
    unit = _UNITS[rows.table.unit]
    yield f'{{"type":"sampled","name":{json.dumps(to_printable(label))},"unit":"{unit}"'
    yield f',"startValue":0,"endValue":{sum(weight)},"samples":['
    known: dict[int, str] = {}
    for number, node in enumerate(stack):
        path = known.get(node)
        if path is None:
            path = known[node] = str(rows.list_path(node)).replace(" ", "")
        yield ("," if number else "") + path
    yield '],"weights":' + str(weight).replace(" ", "") + "}"
