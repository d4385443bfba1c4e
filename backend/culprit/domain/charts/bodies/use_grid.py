"""Utilisation, saturation, errors of every resource: what the rules said of each, and what nobody looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.core.rules.contract import Op, Subject
from culprit.core.rules.use import Letter
from culprit.core.visuals.bodies.figure import Figure, Label

CellState = Literal["critical", "warn", "info", "quiet", "inconclusive", "unknown"]


@dataclass(frozen=True, slots=True)
class UseCell:
    """One question about one resource. `rule` is whose finding says most about it.

    `unknown` is not looked at, with the reason. `figure` is what the rule compared with `threshold`. Of the `asked`
    rules of the cell `said` had their data and `fired` fired.
    """

    letter: Letter
    state: CellState
    rule: str = ""
    subject: Subject = ()
    figure: Figure | None = None
    op: Op | None = None
    threshold: float | None = None
    reason: Sentence | None = None
    fired: int = 0
    said: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class UseRow:
    """One resource: its cells in the order of the letters."""

    id: str
    label: Label
    cells: tuple[UseCell, ...]


@dataclass(frozen=True, slots=True)
class UseGrid:
    """All resources of one host."""

    rows: tuple[UseRow, ...]
    kind: Literal["use_grid"] = "use_grid"
