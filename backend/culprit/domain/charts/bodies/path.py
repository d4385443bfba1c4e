"""Body of the call path chart: the own time of each operation along the path of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure


@dataclass(frozen=True, slots=True)
class Hop:
    """An operation of a service: its own time as a share of the total, and the duration of its calls."""

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
    """Hops by descending median duration, so that callers precede their callees."""

    hops: tuple[Hop, ...]
    kind: Literal["path"] = "path"
