"""What is known of one host around one time: the only thing that rules may read.

A view is made of one or more runs (the stages of a diagnosis), of the database or straight from parsers. Where
several runs hold the same collector, the latest one that came home counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from collectors.contract import Sentence, Times, Values
from collectors.sched import SchedTable
from culprit.core.intervals import wilson
from culprit.core.rules.contract import Citation, Finding, Measured, Subject
from culprit.core.stack_search import matching, search
from culprit.core.stacks import Filter, Profile

Cell = str | int | float | None
HOME = frozenset({"done", "timed_out", "failed"})
MAX_LOST_SHARE = 0.01
MAX_UNKNOWN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one collector of one run; `seconds` is how long it watched."""

    collector: str
    state: str
    run: str = ""
    reason: Sentence | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One series: `t_ns` [n], `values` [n, k], `lines` [n] or None, and where it was read."""

    metric: str
    labels: Mapping[str, str]
    axis: str | None
    axis_values: tuple[str, ...]
    t_ns: Times
    values: Values
    lines: Sequence[int] | None
    cite: Citation


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table by column name, with the place it was read from."""

    cells: Mapping[str, Cell]
    cite: Citation

    def number(self, name: str) -> float | None:
        """The cell as a number; None where it is none."""
        value = self.cells.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, name: str) -> str:
        """The cell as text; empty where it is missing."""
        value = self.cells.get(name)
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Happening:
    """An event with its parameters."""

    kind: str
    t_ns: int
    severity: str
    params: Mapping[str, str | int | float]
    detail: str
    cite: Citation


@dataclass(frozen=True, slots=True, eq=False)
class Stacks:
    """One profile. `lost` and `unknown_share` are as the reader noted them."""

    kind: str
    profile: Profile
    cite: Citation
    lost: int = 0
    unknown_share: float = 0.0

    def share(self, pattern: str, pids: Iterable[int] = (), *, subject: Subject = ()) -> Measured:
        """Percent of the busy weight that runs through frames matching `pattern` (RE2), of `pids` or of all.

        With few samples it may lie anywhere in an interval; frames without names can only hide some of it.
        """
        view = self.profile.view(Filter(pid=tuple(pids), hide_idle=True))
        found = search(view, pattern, regex=True)
        cite = replace(self.cite, frame=pattern)
        return Measured(
            100.0 * found.share,
            subject,
            (cite,),
            view.samples,
            self.doubts(),
            {"frames": ", ".join(found.frames[:4]), "samples": view.samples},
            self.between(found.share, view.samples),
        )

    def between(self, share: float, samples: int) -> tuple[float, float, Sentence]:
        """From and to how many percent a share of so many samples may really be, and why."""
        low, high = wilson(share, max(samples, 1))
        if self.unknown_share > MAX_UNKNOWN_SHARE:
            why = Sentence("doubt.unknown_frames", {"share": round(100 * self.unknown_share)})
            return 100.0 * low, 100.0 * min(high + self.unknown_share, 1.0), why
        params = {"samples": samples, "low": round(100 * low, 1), "high": round(100 * high, 1)}
        return 100.0 * low, 100.0 * high, Sentence("doubt.between", params)

    def doubts(self) -> tuple[Sentence, ...]:
        """Why shares of this profile should not be built on."""
        total = self.lost + self.profile.table.samples
        if total and self.lost / total > MAX_LOST_SHARE:
            return (Sentence("doubt.lost", {"lost": self.lost, "total": total}),)
        return ()

    def names(self, pattern: str) -> list[str]:
        """The frames that match."""
        hit = matching(self.profile.names, pattern, regex=True)
        return sorted({name for name, found in zip(self.profile.names, hit, strict=True) if found})


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """What the scheduler did, event by event, and where that was read."""

    table: SchedTable
    cite: Citation


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Everything that rules may read. `scope` is what the capture looked at, as subject pairs.

    `span_ns` is from when to when it was captured; what was fetched from elsewhere may cover more.

    `baseline` is the same host, another time, or peers; None where there is none. `twins` are healthy hosts of
    the same kind at the same time, by name. `findings` are what rules said of it already, and `sched` the events of
    the scheduler: no rule reads these, pictures do.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    lanes: Sequence[Lane] = ()
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    events: Sequence[Happening] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    stacks: Mapping[str, Stacks] = field(default_factory=dict)
    scope: Subject = ()
    seconds: float = 0.0
    span_ns: tuple[int, int] | None = None
    capture_cpu_cores: float | None = None
    baseline: View | None = None
    twins: Mapping[str, View] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    sched: Scheduled | None = None

    def against(self, baseline: View) -> View:
        """The same view with something to compare with."""
        return replace(self, baseline=baseline)

    def beside(self, twins: Mapping[str, View]) -> View:
        """The same view with healthy twins."""
        return replace(self, twins=twins)

    def has(self, collector: str) -> bool:
        """Whether anything of that collector came home and could be read."""
        outcome = self.outcomes.get(collector)
        return outcome is not None and outcome.state in HOME

    def why_not(self, collectors: Sequence[str]) -> Sentence:
        """Why none of these collectors gave anything."""
        for name in collectors:
            outcome = self.outcomes.get(name)
            if outcome is not None:
                if outcome.reason is not None:
                    return Sentence(outcome.reason.key, {**outcome.reason.params, "collector": name})
                return Sentence("missing.no_data", {"collector": name, "state": outcome.state})
        return Sentence("missing.not_collected", {"collector": " | ".join(collectors)})

    def rows(self, kind: str) -> Sequence[Row]:
        """The rows of all tables of that kind."""
        return self.tables.get(kind, ())

    def of(self, metric: str, where: Mapping[str, str] | None = None) -> Iterator[Lane]:
        """The series of a metric whose labels include `where`."""
        wanted = (where or {}).items()
        for lane in self.lanes:
            if lane.metric == metric and all(lane.labels.get(name) == value for name, value in wanted):
                yield lane

    def happened(self, *kinds: str) -> list[Happening]:
        """The events of these kinds, oldest first."""
        return [one for one in self.events if one.kind in kinds]

    @property
    def cpus(self) -> int | None:
        """Online CPUs, as the host said."""
        value = self.facts.get("cpus")
        return value if isinstance(value, int) and value > 0 else None

    @property
    def target(self) -> Mapping[str, object]:
        """What the scope of the capture meant on the host, as the runner told (see `collectors.scope.found`)."""
        told = self.facts.get("target")
        return told if isinstance(told, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Reads:
    """What somebody wants to see of a view, by exact names: so much is read, and no more.

    `stacks` are kinds of profiles; the kind `sched` is `View.sched`. `findings` wants what rules said, and `peers` are
    the metrics that are wanted of the other hosts of the same capture.
    """

    metrics: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    stacks: frozenset[str] = frozenset()
    peers: frozenset[str] = frozenset()
    findings: bool = False

    def __or__(self, other: Reads) -> Reads:
        return Reads(
            self.metrics | other.metrics,
            self.tables | other.tables,
            self.events | other.events,
            self.stacks | other.stacks,
            self.peers | other.peers,
            self.findings or other.findings,
        )


def reads(
    *,
    metrics: Iterable[str] = (),
    tables: Iterable[str] = (),
    events: Iterable[str] = (),
    stacks: Iterable[str] = (),
    peers: Iterable[str] = (),
    findings: bool = False,
) -> Reads:
    """`Reads` of any collections of names."""
    return Reads(
        frozenset((*metrics, *peers)),
        frozenset(tables),
        frozenset(events),
        frozenset(stacks),
        frozenset(peers),
        findings,
    )


def column(lane: Lane, name: str) -> Values | None:
    """[n]: one column of a matrix by its name on the axis; None where it has none of that name."""
    if name not in lane.axis_values:
        return None
    return np.asarray(lane.values[:, lane.axis_values.index(name)])
