"""Body of table charts: the same numbers for each stage of a load test, route or thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure, Label


@dataclass(frozen=True, slots=True)
class StageColumn:
    """A column: one number of every row. `better` is the desired direction."""

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
    """Rows in a meaningful order. `row_label` is the title of the column of row labels."""

    row_label: Label
    columns: tuple[StageColumn, ...]
    rows: tuple[StageRow, ...]
    kind: Literal["stages"] = "stages"
