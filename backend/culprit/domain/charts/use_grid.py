"""The USE grid of one host, from the findings of its rules.

A cell shows its most important finding: the most severe match; else an inconclusive finding; else the number nearest
to its threshold. If no rule of a cell had its data, the cell is unknown, which does not mean healthy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.use_grid import CellState, UseCell, UseGrid, UseRow
from culprit.domain.rules.finding import Finding, Number
from culprit.domain.rules.registry import USE_BY_RULE
from culprit.domain.rules.use_method import RESOURCES, USE_TYPES, Resource, Use, UseType

NAMES: dict[Resource, Text] = {
    "cpu": Text("CPU", "CPU"),
    "memory": Text("Memory", "内存"),
    "disk": Text("Disk", "磁盘"),
    "network": Text("Network", "网络"),
    "application": Text("Application", "应用"),
    "kernel": Text("Kernel and hardware", "内核与硬件"),
}
NOT_EVALUATED = Sentence("chart.no_rule_asked")
_SEVERITY_ORDER = {"critical": 0, "warn": 1, "info": 2}
_STATE_ORDER = {"matched": 0, "inconclusive": 1, "not_matched": 2, "not_evaluated": 3}


def build_use_grid(findings: Iterable[Finding]) -> UseGrid:
    """Build the grid from all findings, those without data included."""
    by_use: dict[Use, list[Finding]] = {}
    for finding in findings:
        use = USE_BY_RULE.get(finding.rule)
        if use is not None:
            by_use.setdefault(use, []).append(finding)
    return UseGrid(
        tuple(
            UseRow(
                name,
                NAMES[name],
                tuple(
                    _build_cell(use_category, by_use.get(Use(name, use_category), ()))
                    for use_category in USE_TYPES
                ),
            )
            for name in RESOURCES
        )
    )


def _build_cell(use_category: UseType, findings: Sequence[Finding]) -> UseCell:
    if not findings:
        return UseCell(use_category, "unknown", reason=NOT_EVALUATED)
    best = min(findings, key=_rank_finding)
    number = best.numbers[0] if best.numbers else None
    return UseCell(
        use_category,
        _get_cell_state(best),
        best.rule,
        best.subject,
        _make_figure(number),
        number.op if number else None,
        number.threshold if number and math.isfinite(number.threshold or 0.0) else None,
        best.reason,
        len({finding.rule for finding in findings if finding.state == "matched"}),
        len({finding.rule for finding in findings if finding.state != "not_evaluated"}),
        len({finding.rule for finding in findings}),
    )


def _get_cell_state(finding: Finding) -> CellState:
    if finding.state == "matched":
        return finding.severity
    return "unknown" if finding.state == "not_evaluated" else finding.state


def _rank_finding(finding: Finding) -> tuple[int, int, float, str]:
    """Return the sort key: the most important finding first; of those not matched, the one nearest to its threshold."""
    gravity = _SEVERITY_ORDER[finding.severity] if finding.state == "matched" else 0
    return _STATE_ORDER[finding.state], gravity, -_compute_nearness(finding), finding.rule


def _compute_nearness(finding: Finding) -> float:
    """Return the ratio of the number to its threshold: 1 at the threshold, -2 without a comparable number.

    Return -1 for a finding that did not match although its number is beyond the threshold, because another condition
    did not hold: such a number does not represent the cell.
    """
    number = finding.numbers[0] if finding.numbers else None
    if number is None or number.op is None or number.threshold is None or not math.isfinite(number.value):
        return -2.0
    value, threshold = abs(number.value), abs(number.threshold)
    if number.op.startswith("<"):
        near = threshold / value if value > 0 else 1.0
    else:
        near = value / threshold if threshold > 0 else min(value, 1.0)
    return -1.0 if finding.state == "not_matched" and near >= 1 else near


def _make_figure(number: Number | None) -> Figure | None:
    if number is None or not number.citations or not math.isfinite(number.value):
        return None
    return Figure(number.value, number.unit, number.citations[0])
