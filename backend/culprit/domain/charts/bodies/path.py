"""Where the time of requests goes along the path of calls: own time, hop by hop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure


@dataclass(frozen=True, slots=True)
class Hop:
    """One operation of one service: its own time as a share of all time, and how long calls took as a whole."""

    service: str
    operation: str
    share: Figure
    own: Figure | None
    p50: Figure | None
    p99: Figure | None
    calls: Figure | None
    errors: Figure | None


@dataclass(frozen=True, slots=True)
class CallPath:
    """Hops, the outermost first (calls of parents last longer than those of their children)."""

    hops: tuple[Hop, ...]
    kind: Literal["path"] = "path"
