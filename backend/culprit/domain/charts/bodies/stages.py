"""The same numbers of several things, side by side: of the stages of a test, of routes, of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label


@dataclass(frozen=True, slots=True)
class StageColumn:
    """One number of every row; `better` is the direction that one wants."""

    id: str
    label: Label
    better: Literal["more", "less", "none"]


@dataclass(frozen=True, slots=True)
class StageRow:
    """One row: a number for each column, None if it was not measured, and the duration of the measurement."""

    label: str
    cells: tuple[Figure | None, ...]
    seconds: Figure | None = None


@dataclass(frozen=True, slots=True)
class Stages:
    """Rows in an order that means something; `row_label` names what one row is."""

    row_label: Label
    columns: tuple[StageColumn, ...]
    rows: tuple[StageRow, ...]
    kind: Literal["stages"] = "stages"
