"""Numbers as pictures show them: each with its unit and the place that it was read from."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.contract import Text
from culprit.domain.rules.finding import Citation

#: A name of ours in both languages, or a name from the host, which is data.
Label = Text | str


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that is shown: finite, with its unit (as in `collectors.metrics.registry`) and its source."""

    value: float
    unit: str
    citation: Citation


@dataclass(frozen=True, slots=True)
class FigureTrack:
    """Numbers of one unit over time. None is no data, which is not zero.

    `lines[i]` is the line of `citation` that `values[i]` was read from (0: not known); both are as long as the times of
    the body that holds the track.
    """

    id: str
    label: Label
    unit: str
    values: tuple[float | None, ...]
    lines: tuple[int, ...]
    citation: Citation
