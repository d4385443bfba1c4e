"""Numbers of charts, each with its unit and the citation of its source."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.contract import Text
from culprit.domain.rules.finding import Citation

#: A name of Culprit in both languages, or a name from the host, which is not translated.
Label = Text | str


@dataclass(frozen=True, slots=True)
class Figure:
    """A finite number with its unit (as in `collectors.metrics.registry`) and its source."""

    value: float
    unit: str
    citation: Citation


@dataclass(frozen=True, slots=True)
class FigureTrack:
    """Numbers of one unit over time. None is no data, which is not zero.

    `lines[i]` is the source line of `values[i]` in `citation` (0: unknown). Both have one entry per time of the body.
    """

    id: str
    label: Label
    unit: str
    values: tuple[float | None, ...]
    lines: tuple[int, ...]
    citation: Citation
