"""The latest findings of one host, combined into the cells of the USE grid.

The newest evaluations describe a host. An evaluation of few rules (a stage of a diagnosis) does not remove the findings
of the one before it: each rule counts with its newest finding, which has the age of its own evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from culprit.domain.rules.finding import Op, Severity
from culprit.domain.rules.registry import USE_BY_RULE
from culprit.domain.rules.use_method import Use

RuleResultState = Literal["matched", "inconclusive", "not_matched"]
SEVERITIES: tuple[Severity, ...] = ("info", "warn", "critical")
_STATES: tuple[RuleResultState, ...] = ("not_matched", "inconclusive", "matched")
_UP = (">", ">=", "==", "!=")


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The finding of one rule in one evaluation; `run_index` is 0 for the newest run.

    `value` and `threshold` are those of the worst subject, None if nothing was measured; `subjects` counts the
    subjects that matched.
    """

    rule: str
    state: RuleResultState
    severity: Severity
    op: Op
    run_index: int
    value: float | None = None
    threshold: float | None = None
    subject: Mapping[str, str] = field(default_factory=dict)
    subjects: int = 0

    @property
    def threshold_ratio(self) -> float:
        """The ratio of the number to its threshold: 1 at the threshold, more beyond it."""
        if self.value is None or self.threshold is None:
            return 0.0
        if self.op not in _UP:
            return self.threshold / self.value if self.value > 0 else 0.0
        return self.value / self.threshold if self.threshold > 0 else 0.0

    @property
    def rank(self) -> tuple[int, int, float]:
        """Return the sort key: matched by severity, then inconclusive, then the number nearest to its threshold.

        A number beyond its threshold that failed another condition would mislead in a cell without a match: it is last.
        """
        near = self.threshold_ratio
        if self.state == "not_matched" and near >= 1:
            near = -1.0
        severity = SEVERITIES.index(self.severity) if self.state == "matched" else 0
        return _STATES.index(self.state), severity, near


@dataclass(frozen=True, slots=True)
class HostUseCell:
    """One resource and USE category of a host: its worst state, and the numbers of rules evaluated and matched."""

    result: RuleResult
    evaluated: int
    matched: int


def build_use_cells(results: Mapping[str, RuleResult]) -> dict[Use, HostUseCell]:
    """Return the cells with evaluated rules; rules without a category are in none."""
    rule_results: dict[Use, list[RuleResult]] = {}
    for rule, result in results.items():
        place = USE_BY_RULE.get(rule)
        if place is not None:
            rule_results.setdefault(place, []).append(result)
    return {
        place: HostUseCell(
            max(each, key=lambda item: item.rank), len(each), sum(item.state == "matched" for item in each)
        )
        for place, each in rule_results.items()
    }


def find_worst_severity(results: Iterable[RuleResult]) -> Severity | None:
    """Return the highest severity of the matched rules, or None without a match."""
    matched = [SEVERITIES.index(result.severity) for result in results if result.state == "matched"]
    return SEVERITIES[max(matched)] if matched else None
