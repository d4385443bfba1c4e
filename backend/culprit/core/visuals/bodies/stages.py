"""The stages of a test, side by side: what was asked, what was got, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.core.visuals.bodies.figure import Figure, Label


@dataclass(frozen=True, slots=True)
class StageColumn:
    """One number of every stage; `better` is the direction that one wants."""

    id: str
    label: Label
    better: Literal["more", "less", "none"]


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage: a number for each column, None where its tool did not measure it."""

    label: str
    cells: tuple[Figure | None, ...]
    seconds: Figure | None = None


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages in the order of the test."""

    columns: tuple[StageColumn, ...]
    rows: tuple[StageRow, ...]
    kind: Literal["stages"] = "stages"
