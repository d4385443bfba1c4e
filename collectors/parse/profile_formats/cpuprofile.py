"""A CPU profile of V8 (.cpuprofile of Node.js and Chromium) → table of samples.

Source: the type `Profile` of the domain Profiler in the Chrome DevTools Protocol.
"""

from __future__ import annotations

from collections.abc import Hashable

from collectors.parse.profile_formats.json_source import (
    Json,
    Place,
    load_json,
    read_whole,
    to_name,
    to_number,
)
from collectors.parse.profile_formats.table_builder import NO_TIME, CallerChains, TableBuilder, Task
from collectors.profiles.limits import DEFAULT, Readable, ReaderLimits
from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import FrameKind

FORMAT = ".cpuprofile"
_ROOT = "(root)"
_IDLE = "(idle)"


class NodeTable:
    """The nodes of a profile of V8, by id, as a whole or in pieces."""

    def __init__(self, builder: TableBuilder) -> None:
        self._builder = builder
        self._frames: dict[Hashable, list[int]] = {}
        self._callers: dict[Hashable, Hashable] = {}
        self._chains = CallerChains(builder, self._callers.get, self._frames.__getitem__)

    def add_nodes(self, nodes: list[Json]) -> None:
        """Add nodes, which name their children or their parent. Raises KeyError and TypeError."""
        for node in nodes:
            call = node["callFrame"]
            name, url = to_name(call["functionName"]), to_name(call.get("url"))
            frame = self._builder.frame(
                name or "(anonymous)", url, FrameKind.IDLE if name == _IDLE and not url else None
            )
            key = node["id"]
            self._frames[key] = [] if name == _ROOT and not url else [frame]
            if node.get("parent") is not None:
                self._callers[key] = node["parent"]
            for child in node.get("children") or ():
                self._callers[child] = key

    def node(self, task: Task, key: Hashable) -> int:
        """Return the node of the trie. Raises KeyError for an unknown id."""
        return self._chains.node(task.root, key)


def parse_cpuprofile(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`. Every sample weighs one; without samples, the hits of each node count."""
    whole = load_json(read_whole(source), FORMAT)
    builder, place = TableBuilder(limits), Place(FORMAT)
    with place.check_shape():
        place.at = "nodes"
        nodes, task, event = NodeTable(builder), builder.task(), builder.event_id("", "samples")
        nodes.add_nodes(whole["nodes"])
        place.at = "samples"
        if whole.get("samples"):
            t_us = to_number(whole["startTime"])
            for key, delta in zip(whole["samples"], whole["timeDeltas"], strict=True):
                t_us += to_number(delta)
                builder.add_sample(event, round(t_us * 1000), 1, task, nodes.node(task, key))
        else:
            for node in whole["nodes"]:
                hits = int(to_number(node["hitCount"]))
                builder.add_sample(event, NO_TIME, hits, task, nodes.node(task, node["id"]))
    return builder.finish()
