"""Definitions of the rule engine: measures, conditions and rules. All values are immutable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Op, Reading, Severity, Strength
from culprit.domain.rules.use_method import Use
from culprit.domain.rules.view import HostView

Reduction = Literal["mean", "max", "min", "held", "held_below", "sum", "first", "last", "growth", "p95"]


@dataclass(frozen=True, slots=True)
class MetricReading:
    """A stored metric, reduced over the window to one number per series and per column of a matrix.

    `held` is the value that at least 60 % of the readings reach (their 40th percentile); at least 60 % stay
    at or below `held_below`. `growth` is last minus first. `where` selects the series with these labels;
    `axis` selects one column.
    """

    metric: str
    reduction: Reduction = "mean"
    where: Mapping[str, str] = field(default_factory=dict)
    axis: str = ""

    @property
    def id(self) -> str:
        """The ID in findings and API responses."""
        labels = ",".join(f"{name}={value}" for name, value in sorted(self.where.items()))
        column = f"[{self.axis}]" if self.axis else ""
        return (
            f"{self.metric}{{{labels}}}{column}.{self.reduction}"
            if labels
            else f"{self.metric}{column}.{self.reduction}"
        )


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that is computed from more than one metric.

    `needs` are the required collectors, one of each inner tuple: (("cgroup_cpu",), ("perf_sched",
    "proc_schedstat")) requires the first and one of the other two. `read` may return MissingData with a
    reason.
    """

    id: str
    unit: str
    title: Text
    needs: tuple[tuple[str, ...], ...]
    read: Callable[[HostView], Reading]


RuleInput = MetricReading | Measure


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold with its default and the source of the default."""

    name: str
    value: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """Compare a number with a threshold, or with the same number of the baseline times the threshold."""

    read: RuleInput
    op: Op
    threshold: Threshold
    against: Literal["threshold", "baseline"] = "threshold"


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """Holds if at least one of its conditions holds."""

    conditions: tuple[Condition, ...]


def flatten_condition(condition: Condition | AnyCondition) -> tuple[Condition, ...]:
    """Return the single conditions of a condition."""
    return condition.conditions if isinstance(condition, AnyCondition) else (condition,)


@dataclass(frozen=True, slots=True)
class Guard:
    """A precondition of a rule, for example enough samples. If it does not hold, the finding is inconclusive
    with `reason`.

    With `skip_when_missing`, the guard passes if its number was not measured; otherwise the number is part of
    the finding. The guard is ignored where `unless` holds.
    """

    condition: Condition
    reason: Sentence
    skip_when_missing: bool = False
    unless: Condition | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It matches each subject whose number passes a threshold and all conditions of `also`.

    `thresholds` are (severity, threshold), mildest first. `also` must hold for the same subject or for the
    host. A guard that does not hold makes a match inconclusive. `related` numbers are shown with a match and
    compared with nothing. `use` is the column of the USE grid, None for rules about data quality. `causes`
    are supported by a match, `suspects` are causes whose hypothesis a match opens, and `refutes` are causes
    that a missing match contradicts. A match of a rule in `refuted_by` refutes the finding. `default_cause` is
    named as possible where no cause has support, "" for none. `harm` is True if a match alone shows that someone
    is worse off: requests slow, failing or refused, work queued, wanted packets lost, processes killed, or a limit
    reached.
    """

    id: str
    title: Text
    summary: Text
    measure: RuleInput
    op: Op
    thresholds: tuple[tuple[Severity, Threshold], ...]
    strength: Strength
    use: Use | None = None
    also: tuple[Condition | AnyCondition, ...] = ()
    guards: tuple[Guard, ...] = ()
    related: tuple[RuleInput, ...] = ()
    causes: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    refutes: tuple[str, ...] = ()
    refuted_by: tuple[str, ...] = ()
    default_cause: str = ""
    harm: bool = False
    caveats: Text | None = None
    source: str = ""

    def all_thresholds(self) -> tuple[Threshold, ...]:
        """Return all thresholds of the rule. Overrides are named `<rule id>.<threshold name>`."""
        thresholds = [limit for _, limit in self.thresholds]
        return (*thresholds, *(item.threshold for item in self.conditions()))

    def conditions(self) -> tuple[Condition, ...]:
        """Return all further conditions: first `also`, then guards."""
        guards = [
            condition
            for guard in self.guards
            for condition in (guard.condition, guard.unless)
            if condition is not None
        ]
        return (*(each for item in self.also for each in flatten_condition(item)), *guards)

    def inputs(self) -> tuple[RuleInput, ...]:
        """Return every number that a finding may show: the measure first, related numbers last."""
        return (self.measure, *(item.read for item in self.conditions()), *self.related)
