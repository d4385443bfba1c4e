"""The USE grid of one host, out of what rules said of it.

A cell is told by the finding that says most: what fired, the gravest first; else what could not be decided; else the
quiet number that comes nearest to firing. Where no rule of a cell had its data, the cell is unknown, which is not the
same as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Finding, Number
from culprit.core.rules.use import LETTERS, PLACES, RESOURCES, Letter, Place, Resource
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.use_grid import CellState, UseCell, UseGrid, UseRow

NAMES: dict[Resource, Text] = {
    "cpu": Text("CPU", "CPU"),
    "memory": Text("Memory", "内存"),
    "disk": Text("Disk", "磁盘"),
    "network": Text("Network", "网络"),
    "application": Text("Application", "应用"),
    "kernel": Text("Kernel and hardware", "内核与硬件"),
}
NOT_EVALUATED = Sentence("visual.no_rule_asked")
_GRAVITY = {"critical": 0, "warn": 1, "info": 2}
_STATES = {"fired": 0, "inconclusive": 1, "quiet": 2, "not_evaluated": 3}


def grid(findings: Iterable[Finding]) -> UseGrid:
    """The grid out of everything that rules said, also of what they could not say anything about."""
    said: dict[Place, list[Finding]] = {}
    for one in findings:
        place = PLACES.get(one.rule)
        if place is not None:
            said.setdefault(place, []).append(one)
    return UseGrid(
        tuple(
            UseRow(
                name,
                NAMES[name],
                tuple(_cell(letter, said.get(Place(name, letter), ())) for letter in LETTERS),
            )
            for name in RESOURCES
        )
    )


def _cell(letter: Letter, said: Sequence[Finding]) -> UseCell:
    if not said:
        return UseCell(letter, "unknown", reason=NOT_EVALUATED)
    best = min(said, key=_rank)
    number = best.numbers[0] if best.numbers else None
    return UseCell(
        letter,
        _state(best),
        best.rule,
        best.subject,
        _figure(number),
        number.op if number else None,
        number.threshold if number and math.isfinite(number.threshold or 0.0) else None,
        best.reason,
        len({one.rule for one in said if one.state == "fired"}),
        len({one.rule for one in said if one.state != "not_evaluated"}),
        len({one.rule for one in said}),
    )


def _state(one: Finding) -> CellState:
    if one.state == "fired":
        return one.severity
    return "unknown" if one.state == "not_evaluated" else one.state


def _rank(one: Finding) -> tuple[int, int, float, str]:
    """What says most comes first; among the quiet that which is nearest to firing."""
    gravity = _GRAVITY[one.severity] if one.state == "fired" else 0
    return _STATES[one.state], gravity, -_nearness(one), one.rule


def _nearness(one: Finding) -> float:
    """How near the number has come to its threshold; 1 is there.

    A number beyond its threshold whose other conditions did not hold is no good picture of a quiet cell: last.
    """
    number = one.numbers[0] if one.numbers else None
    if number is None or number.op is None or number.threshold is None or not math.isfinite(number.value):
        return -2.0
    value, threshold = abs(number.value), abs(number.threshold)
    if number.op.startswith("<"):
        near = threshold / value if value > 0 else 1.0
    else:
        near = value / threshold if threshold > 0 else min(value, 1.0)
    return -1.0 if one.state == "quiet" and near >= 1 else near


def _figure(number: Number | None) -> Figure | None:
    if number is None or not number.citations or not math.isfinite(number.value):
        return None
    return Figure(number.value, number.unit, number.citations[0])
