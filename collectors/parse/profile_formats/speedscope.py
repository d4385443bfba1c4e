"""speedscope's JSON → tables: sampled and evented profiles, one thread each.

Source: the schema at https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import re

from collectors.parse.profile_formats.intervals import CallIntervals
from collectors.parse.profile_formats.json_source import (
    Json,
    Place,
    load_json,
    read_whole,
    to_index,
    to_name,
    to_number,
)
from collectors.parse.profile_formats.table_builder import NO_TIME, TableBuilder, Task
from collectors.profiles.limits import DEFAULT, Readable, ReaderLimits
from collectors.profiles.samples import SampleTable, Unit

FORMAT = "speedscope"
_UNITS: dict[str, tuple[Unit, int]] = {
    "none": ("samples", 1),
    "bytes": ("bytes", 1),
    "nanoseconds": ("ns", 1),
    "microseconds": ("ns", 1_000),
    "milliseconds": ("ns", 1_000_000),
    "seconds": ("ns", 1_000_000_000),
}
_TASK = re.compile(r"(.*) (\d{1,10})/(\d{1,10})", re.DOTALL)


def parse_speedscope(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`. Times are relative to an origin that the file does not state."""
    whole = load_json(read_whole(source), FORMAT)
    builder, place = TableBuilder(limits), Place(FORMAT)
    with place.check_shape():
        place.at = "shared.frames"
        frames = [_read_frame(builder, frame) for frame in whole["shared"]["frames"]]
        profiles = whole["profiles"]
        units = {profile["unit"] for profile in profiles}
        for number, profile in enumerate(profiles):
            place.at = f"profiles[{number}]"
            unit, scale = _UNITS[profile["unit"]]
            event = builder.event_id(unit if len(units) > 1 else "", unit)
            task = _find_task(builder, to_name(profile.get("name")), alone=len(profiles) == 1)
            if profile["type"] == "evented":
                _add_events(builder, profile, frames, scale, (event, task))
            else:
                _add_samples(builder, profile, frames, scale, (event, task))
    return builder.finish()


def _read_frame(builder: TableBuilder, frame: Json) -> int:
    return builder.frame(to_name(frame["name"]), to_name(frame.get("file")))


def _find_task(builder: TableBuilder, name: str, *, alone: bool) -> Task:
    """Return the thread of a profile. The name of the only one is a title, unless it ends in `PID/TID`."""
    match = _TASK.fullmatch(name)
    if match:
        return builder.task(match[1], int(match[2]), int(match[3]))
    return builder.task("" if alone else name)


def _add_samples(
    builder: TableBuilder, profile: Json, frames: list[int], scale: int, of: tuple[int, Task]
) -> None:
    event, task = of
    at = to_number(profile["startValue"])
    timed = profile["unit"] not in {"none", "bytes"}
    nodes: dict[tuple[int, ...], int] = {}
    for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
        key = tuple(stack)
        node = nodes.get(key)
        if node is None:
            path = [frames[to_index(frame, len(frames))] for frame in key]
            node = nodes[key] = builder.extend(task.root, path)
        begin_ns, amount = round(at * scale), to_number(weight)
        builder.add_sample(event, begin_ns if timed else NO_TIME, round(amount * scale), task, node)
        at += amount


def _add_events(
    builder: TableBuilder, profile: Json, frames: list[int], scale: int, of: tuple[int, Task]
) -> None:
    calls = CallIntervals()
    for item in profile["events"]:
        t_ns = round(to_number(item["at"]) * scale)
        if item["type"] == "O":
            calls.begin_call(t_ns, frames[to_index(item["frame"], len(frames))])
        else:
            calls.end_call(t_ns)
    calls.add_samples(builder, *of)
