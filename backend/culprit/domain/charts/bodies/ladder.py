"""A way in layers, and what was lost at each: where packets go missing between the wire and the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.charts.bodies.figure import Figure, Label

LayerState = Literal["good", "warn", "bad", "no_data"]


@dataclass(frozen=True, slots=True)
class PacketLoss:
    """One counter of a layer: how often per second, and how often in all where that is known.

    `tone` is `bad` where something was thrown away, `warn` where a loss elsewhere was felt, `good` at zero.
    """

    id: str
    label: Label
    about: str
    rate: Figure
    total: Figure | None
    tone: Literal["good", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class NetworkLayer:
    """One layer. `passing` is the traffic through it; `reason` states why the loss is unknown or impossible."""

    id: str
    label: Label
    state: LayerState
    losses: tuple[PacketLoss, ...] = ()
    passing: Figure | None = None
    reason: Sentence | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Ladder:
    """The layers in the order that a received packet takes."""

    layers: tuple[NetworkLayer, ...]
    kind: Literal["ladder"] = "ladder"
