"""Types of charts: the input of a builder, and its output for the renderers.

Everything here is an immutable value. A builder reads a view and makes charts; a chart has a body of one kind,
which one renderer draws. Bodies are in `bodies`, one file per kind. Their size is bounded for every host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies import ChartBody
from culprit.domain.rules.finding import Subject
from culprit.domain.rules.view import HostView, ViewRequest

ChartState = Literal["ok", "no_data"]

#: Maximum number of charts of a builder for one view (one per destination, process or device).
MAX_PER_BUILDER = 8


@dataclass(frozen=True, slots=True)
class RunChart:
    """One chart. `id` is the ID of the builder, followed by a colon and the subject if there are several.

    `body` is None if there is no data, and `reason` then states why. `left_out` counts the smallest items, which were
    left out because of the size limit. `notes` are the limitations that a reader of the chart must know.
    """

    id: str
    builder: str
    title: Text
    subject: Subject = ()
    state: ChartState = "ok"
    reason: Sentence | None = None
    body: ChartBody | None = None
    left_out: int = 0
    notes: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class ChartBuilder:
    """One kind of chart: how to read it, its input, and the rules that it illustrates.

    `summary` explains how to read the chart. `collectors` are its sources, any of which suffices; `rules` are the
    IDs of the findings that it illustrates. `build` yields nothing if the run has no results of its collectors.
    """

    id: str
    title: Text
    summary: Text
    reads: ViewRequest
    collectors: tuple[str, ...]
    rules: tuple[str, ...]
    build: Callable[[HostView], Sequence[RunChart]]


@dataclass(frozen=True, slots=True)
class ChartResult:
    """The charts of one builder for one view: at least one, which can be empty with a reason."""

    builder: ChartBuilder
    charts: tuple[RunChart, ...] = field(default_factory=tuple)
