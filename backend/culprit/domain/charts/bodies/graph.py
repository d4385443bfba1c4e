"""Who waits for whom: nodes and the waits between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label

NodeKind = Literal["thread", "lock", "network", "file", "sleep", "cpu", "other"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A thread, or what a chain of waits ends at. `figure` is how long, or how much, where that is known."""

    id: str
    label: Label
    kind: NodeKind
    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """`source` waited for `target`: how long in all, how often, and through what (`via`, an address or a lock)."""

    source: str
    target: str
    via: Label
    waited: Figure
    times: Figure | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """The heaviest waits. Chains may close (a deadlock)."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    kind: Literal["graph"] = "graph"
