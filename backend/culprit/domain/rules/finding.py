"""Values of the rule engine: measurements with their sources, and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.rules.intervals import Interval, IntervalKind

Subject = tuple[tuple[str, str], ...]
"""What a number is about, as sorted (name, value) pairs; () is the whole host."""

Op = Literal[">", ">=", "<", "<=", "==", "!="]

Severity = Literal["info", "warn", "critical"]

FindingState = Literal["matched", "not_matched", "inconclusive", "not_evaluated"]


class Strength(StrEnum):
    """How strongly a finding supports a cause.

    direct: a log line, a flag or a dedicated counter of the host proves it. mechanism: stacks or waits show
    how the cause works. correlational: the number changed at the same time. context: healthy hosts show it
    too; displayed, never evidence.
    """

    DIRECT = "direct"
    MECHANISM = "mechanism"
    CORRELATIONAL = "correlational"
    CONTEXT = "context"


STRENGTH_ORDER: Mapping[Strength, int] = {
    Strength.DIRECT: 3,
    Strength.MECHANISM: 2,
    Strength.CORRELATIONAL: 1,
    Strength.CONTEXT: 0,
}


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a number was read: lines (1-based) of a part of an artifact, or a frame of a profile."""

    run: str
    collector: str
    artifact: str
    part: str
    lines: tuple[int, ...] = ()
    profile: str = ""
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number with its subject and its sources.

    `sample_count` counts the readings, samples or requests. `quality_issues` are reasons not to rely on it,
    such as lost events: a match becomes inconclusive, a missing match becomes not evaluated. `interval` is where
    the true value is; None for a number that is exact. `detail` fills the summary.
    """

    value: float
    subject: Subject = ()
    citations: tuple[Citation, ...] = ()
    sample_count: int = 0
    quality_issues: tuple[Sentence, ...] = ()
    detail: Mapping[str, str | int | float] = field(default_factory=dict)
    interval: Interval | None = None

    @property
    def low(self) -> float:
        """The lower end of the interval; -inf if nothing limits it."""
        return self.value if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        """The upper end of the interval; inf if nothing limits it."""
        return self.value if self.interval is None else self.interval.high

    @property
    def kind(self) -> IntervalKind:
        """How the number was obtained."""
        return "exact" if self.interval is None else self.interval.kind


@dataclass(frozen=True, slots=True)
class MissingData:
    """Why there is no number: not collected, failed, or not available on this host."""

    reason: Sentence


Reading = Sequence[Measurement] | MissingData


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a finding: measure, value, unit, threshold and source.

    `op` and `threshold` are None for related numbers. `subject` is set if the number is about more than the
    finding, for example the control group of a process, or the host (()). `interval` is the 95 % interval from
    `sample_count` readings; None if the number is exact.
    """

    measure: str
    value: float
    unit: str
    op: Op | None
    threshold: float | None
    citations: tuple[Citation, ...]
    baseline: float | None = None
    sample_count: int = 0
    subject: Subject | None = None
    interval: Interval | None = None

    @property
    def is_compared(self) -> bool:
        """Return whether the number is compared with a threshold."""
        return self.op is not None


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one rule for one subject.

    `numbers[0]` is the measure of the rule. Further conditions follow, then related numbers of a match.
    `reason` is set if the rule is inconclusive or was not evaluated. A finding in state `not_matched` has the
    number nearest to the threshold.
    """

    rule: str
    state: FindingState
    severity: Severity
    strength: Strength
    subject: Subject
    numbers: tuple[Number, ...] = ()
    reason: Sentence | None = None
    detail: Mapping[str, str | int | float] = field(default_factory=dict)
