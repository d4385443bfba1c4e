"""The words of the rule engine: measures, conditions, rules, findings.

Everything here is an immutable value. A measure reads numbers out of a view; a condition compares them; a rule
is a condition with a grade, guards and the causes that it speaks for; a finding is what a rule made of a view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from collectors.contract import Sentence, Text

if TYPE_CHECKING:
    from culprit.core.rules.view import View

Subject = tuple[tuple[str, str], ...]
"""What on the host a number is about, as sorted (name, value) pairs; () is the whole host."""

Op = Literal[">", ">=", "<", "<=", "==", "!="]
Severity = Literal["info", "warn", "critical"]
State = Literal["fired", "quiet", "inconclusive", "not_evaluated"]
How = Literal["mean", "max", "min", "held", "held_below", "sum", "first", "last", "growth", "p95"]


class Grade(StrEnum):
    """How strongly a finding speaks for a cause.

    direct: the host says it itself (a log line, a bit, a counter of exactly that). mechanism: the working of
    the cause was seen (stacks, waits). correlational: something grew along with it. context: refuted as a
    signal by controls; shown, never evidence.
    """

    DIRECT = "direct"
    MECHANISM = "mechanism"
    CORRELATIONAL = "correlational"
    CONTEXT = "context"


STRENGTH: Mapping[Grade, int] = {
    Grade.DIRECT: 3,
    Grade.MECHANISM: 2,
    Grade.CORRELATIONAL: 1,
    Grade.CONTEXT: 0,
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
class Measured:
    """One number, what it is about, what it was made of, and where that was read.

    `n` counts the readings, samples or requests behind it. `doubts` are reasons not to build on it (lost events): a
    rule that would fire on it is inconclusive, one that would be quiet is not evaluated. The same holds where the
    value may lie anywhere in `between` (from, to, and why) and the rule would tell otherwise at its other end.
    `detail` fills the sentence.
    """

    value: float
    subject: Subject = ()
    citations: tuple[Citation, ...] = ()
    n: int = 0
    doubts: tuple[Sentence, ...] = ()
    detail: Mapping[str, str | int | float] = field(default_factory=dict)
    between: tuple[float, float, Sentence] | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no number at all: not collected, failed, not on this host."""

    reason: Sentence


Reading = Sequence[Measured] | Missing


@dataclass(frozen=True, slots=True)
class Over:
    """A stored metric, reduced over the window, one number for each series and each column of a matrix.

    `held`: what at least 60 % of the readings reach (their 40th percentile), `held_below`: what at least 60 %
    stay under. `growth`: last less first. `where` keeps the series with these labels; `axis` keeps one column.
    """

    metric: str
    how: How = "mean"
    where: Mapping[str, str] = field(default_factory=dict)
    axis: str = ""

    @property
    def id(self) -> str:
        """How it is called in answers."""
        labels = ",".join(f"{name}={value}" for name, value in sorted(self.where.items()))
        column = f"[{self.axis}]" if self.axis else ""
        return (
            f"{self.metric}{{{labels}}}{column}.{self.how}" if labels else f"{self.metric}{column}.{self.how}"
        )


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that takes more than one metric: a function of a view.

    `needs` are the collectors that it reads, any one of which suffices per inner tuple:
    (("cgroup_cpu",), ("perf_sched", "proc_schedstat")) wants the first and one of the other two. `read` may say for
    itself that there is no number, and why.
    """

    id: str
    unit: str
    title: Text
    needs: tuple[tuple[str, ...], ...]
    read: Callable[[View], Reading]


Read = Over | Measure


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold: its value where nobody set another, its unit, and where it is from."""

    name: str
    value: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A number against a limit, or against the same number of the baseline times the limit."""

    read: Read
    op: Op
    limit: Limit
    against: Literal["limit", "baseline"] = "limit"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds where one of these does."""

    conditions: tuple[Condition, ...]


def each_of(one: Condition | AnyOf) -> tuple[Condition, ...]:
    """The conditions that it is made of."""
    return one.conditions if isinstance(one, AnyOf) else (one,)


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold for the rule to say anything: small n, like load. `reason` is told where it does not.

    One `where_known` is passed where nobody measured it, and where somebody did its number belongs to the finding.
    Where `unless` holds, the guard has nothing to say.
    """

    condition: Condition
    reason: Sentence
    where_known: bool = False
    unless: Condition | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It fires for every subject whose number passes `warn` (or `critical`) and all of `also`.

    `measure` is compared with the levels, mildest first: (severity, limit). `also` must hold for the same subject
    (or for the host as a whole). A guard that does not hold makes a fired rule inconclusive, with its reason.
    `beside` is told with the others once the rule has fired, of the same subject or of what that is part of: it is
    compared with nothing, left out where nobody read it, and has no say in anything.
    `causes` are those that it speaks for, `refutes` those that its silence speaks against; `refuted_by` names
    the rules whose firing takes this one's word away. `says` is shown where it fired, `traps` beside it.
    """

    id: str
    title: Text
    says: Text
    measure: Read
    op: Op
    levels: tuple[tuple[Severity, Limit], ...]
    grade: Grade
    also: tuple[Condition | AnyOf, ...] = ()
    guards: tuple[Guard, ...] = ()
    beside: tuple[Read, ...] = ()
    causes: tuple[str, ...] = ()
    refutes: tuple[str, ...] = ()
    refuted_by: tuple[str, ...] = ()
    traps: Text | None = None
    source: str = ""

    def limits(self) -> tuple[Limit, ...]:
        """Every threshold of the rule; overrides are named `<rule id>.<limit name>`."""
        found = [limit for _, limit in self.levels]
        return (*found, *(one.limit for one in self.conditions()))

    def conditions(self) -> tuple[Condition, ...]:
        """Whatever it compares beside its measure: further conditions first, then guards."""
        guards = [one for guard in self.guards for one in (guard.condition, guard.unless) if one is not None]
        return (*(each for one in self.also for each in each_of(one)), *guards)

    def reads(self) -> tuple[Read, ...]:
        """Every number that a finding of it may show: its measure first, what is only told last."""
        return (self.measure, *(one.read for one in self.conditions()), *self.beside)


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a finding: the measure, its value and unit, what it was held against, where read.

    `op` and `threshold` are None where it was held against nothing and only stands beside the others. `subject` is
    what it is about where that is more than the finding's: the control group of a process, the host (()).
    """

    measure: str
    value: float
    unit: str
    op: Op | None
    threshold: float | None
    citations: tuple[Citation, ...]
    baseline: float | None = None
    n: int = 0
    subject: Subject | None = None

    @property
    def compared(self) -> bool:
        """Whether it was held against anything."""
        return self.op is not None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule made of one view for one subject.

    `numbers[0]` is the rule's own measure, then come its further conditions, and where it fired what it tells beside
    them. `reason` says why where the rule is inconclusive or was not evaluated; it is None otherwise. A quiet finding
    shows the number nearest to firing.
    """

    rule: str
    state: State
    severity: Severity
    grade: Grade
    subject: Subject
    numbers: tuple[Number, ...] = ()
    reason: Sentence | None = None
    detail: Mapping[str, str | int | float] = field(default_factory=dict)
