"""Body of the packet loss chart: the layers between the wire and the program, and the losses of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.charts.bodies.figure import Figure, Label

LayerState = Literal["good", "warn", "bad", "no_data"]


@dataclass(frozen=True, slots=True)
class PacketLoss:
    """One loss counter of a layer: its rate per second, and its total if known.

    `tone` is `bad` if the layer dropped packets, `warn` for an effect of losses elsewhere, `good` at zero.
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
    """The layers in the order in which a received packet passes them."""

    layers: tuple[NetworkLayer, ...]
    kind: Literal["ladder"] = "ladder"
