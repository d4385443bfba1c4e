"""One dot for each host of a group on the line of one number, with where the group lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.core.visuals.bodies.figure import Figure, Label

#: Dots of one strip; of more hosts the usual ones are thinned, never those that stand out.
MAX_DOTS = 500
#: Strips of one body, and the dots of all of them: with many hosts only the most unusual numbers are drawn.
MAX_STRIPS = 12
MAX_DOTS_OF_ALL = 1500


@dataclass(frozen=True, slots=True)
class Dot:
    """One host. `z` is its distance from the median in steps (0.6745 (x - median) / MAD), None of too few hosts.

    `own` is the host that is asked about, whose name may be empty.
    """

    host: str
    figure: Figure
    z: float | None
    unlike: bool
    own: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """One number over a group of `hosts`, the most unusual first. From `low` to `high` a host is like the others."""

    id: str
    label: Label
    unit: str
    hosts: int
    median: float | None
    low: float | None
    high: float | None
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class PeerStrips:
    """Strips, the one in which somebody is most unlike the others first."""

    strips: tuple[Strip, ...]
    kind: Literal["peer_strips"] = "peer_strips"
