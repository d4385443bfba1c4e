"""Body of the USE grid: utilization, saturation and errors of every resource, as results of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.rules.finding import Op, Subject
from culprit.domain.rules.use_method import UseType

CellState = Literal["critical", "warn", "info", "not_matched", "inconclusive", "unknown"]


@dataclass(frozen=True, slots=True)
class UseCell:
    """One category of one resource. `rule` is the rule with the most severe finding.

    In state `unknown`, `reason` states why no rule was evaluated. `figure` is the number that the rule compared with
    `threshold`. Of the `total` rules of the cell, `evaluated` had their data and `matched` matched.
    """

    use_category: UseType
    state: CellState
    rule: str = ""
    subject: Subject = ()
    figure: Figure | None = None
    op: Op | None = None
    threshold: float | None = None
    reason: Sentence | None = None
    matched: int = 0
    evaluated: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class UseRow:
    """A resource with its cells in the order utilization, saturation, errors."""

    id: str
    label: Label
    cells: tuple[UseCell, ...]


@dataclass(frozen=True, slots=True)
class UseGrid:
    """All resources of one host."""

    rows: tuple[UseRow, ...]
    kind: Literal["use_grid"] = "use_grid"
