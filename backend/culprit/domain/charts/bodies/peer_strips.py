"""Strip plots of a group of hosts: one row for each number, one dot for each host, and the range of the group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label

#: Maximum number of dots of a strip. With more hosts, typical hosts are thinned out, outliers are kept.
MAX_DOTS = 500
#: Maximum number of strips of a body, and of the dots of all of them. With many hosts, only the most atypical numbers
#: have a strip.
MAX_STRIPS = 12
MAX_TOTAL_DOTS = 1500


@dataclass(frozen=True, slots=True)
class HostDot:
    """One host. `z` is its robust z-score, 0.6745 (x - median) / MAD; None with too few hosts.

    `unlike`: the host is an outlier. `own`: it is the host of the run, whose name may be empty.
    """

    host: str
    figure: Figure
    z: float | None
    unlike: bool
    own: bool


@dataclass(frozen=True, slots=True)
class HostStrip:
    """One number over a group of `hosts`, the most atypical host first. A value from `low` to `high` is typical."""

    id: str
    label: Label
    unit: str
    hosts: int
    median: float | None
    low: float | None
    high: float | None
    dots: tuple[HostDot, ...]


@dataclass(frozen=True, slots=True)
class PeerStrips:
    """Strips in descending order of their greatest deviation from the group."""

    strips: tuple[HostStrip, ...]
    kind: Literal["peer_strips"] = "peer_strips"
