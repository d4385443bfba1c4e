"""Body of wait graphs: threads and other nodes, and the waits between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label

NodeKind = Literal["thread", "lock", "network", "file", "sleep", "cpu", "other"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A thread, or the end of a wait chain. `figure` is its time or amount, if known."""

    id: str
    label: Label
    kind: NodeKind
    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """The waits of `source` for `target`: total time, number of waits, and `via`, such as a futex address or lock."""

    source: str
    target: str
    via: Label
    waited: Figure
    times: Figure | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """The longest waits. The graph can have cycles (deadlocks)."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    kind: Literal["graph"] = "graph"
