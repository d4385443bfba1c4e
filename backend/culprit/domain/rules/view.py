"""The data of one host around one time: the only input of rules.

A view contains one or more runs, such as the stages of a diagnosis, from the database or directly from
parsers. If several runs have the same collector, the latest stored one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from collectors.contract import Sentence, Times, Values
from collectors.profiles.scheduling import SchedTable
from culprit.domain.profiles.search import match_names, search_frames
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from culprit.domain.rules.finding import Citation, Finding, Measurement, Subject
from culprit.domain.rules.intervals import Interval, estimate_share

Cell = str | int | float | None
STORED_STATES = frozenset({"done", "timed_out", "failed"})
MAX_LOST_SHARE = 0.01
MAX_UNKNOWN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class CollectorOutcome:
    """The outcome of one collector in one run; `seconds` is its duration."""

    collector: str
    state: str
    run: str = ""
    reason: Sentence | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ViewSeries:
    """One series: `t_ns` [n], `values` [n, k], `lines` [n] or None, and its source."""

    metric: str
    labels: Mapping[str, str]
    axis: str | None
    axis_values: tuple[str, ...]
    t_ns: Times
    values: Values
    lines: Sequence[int] | None
    citation: Citation


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table by column name, with its source."""

    cells: Mapping[str, Cell]
    citation: Citation

    def number(self, name: str) -> float | None:
        """Return the cell as a number, or None."""
        value = self.cells.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, name: str) -> str:
        """Return the cell as text; empty if it is missing."""
        value = self.cells.get(name)
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class HostEvent:
    """An event with its parameters."""

    kind: str
    t_ns: int
    severity: str
    params: Mapping[str, str | int | float]
    detail: str
    citation: Citation


@dataclass(frozen=True, slots=True, eq=False)
class Stacks:
    """One profile. `lost` and `unknown_share` are as the reader recorded them."""

    kind: str
    profile: StackProfile
    citation: Citation
    lost: int = 0
    unknown_share: float = 0.0

    def share(self, pattern: str, pids: Iterable[int] = (), *, subject: Subject = ()) -> Measurement:
        """Return the percentage of the busy weight in frames that match `pattern` (RE2), of `pids` or of all.

        With few samples the value has an interval; frames without names can only hide a part of it.
        """
        view = self.profile.view(SampleFilter(pid=tuple(pids), hide_idle=True))
        frames = search_frames(view, pattern, regex=True)
        citation = replace(self.citation, frame=pattern)
        return Measurement(
            100.0 * frames.share,
            subject,
            (citation,),
            view.samples,
            self.quality_issues(),
            {"frames": ", ".join(frames.frames[:4]), "samples": view.samples},
            self.estimate_interval(frames.share, view.samples),
        )

    def estimate_interval(self, share: float, samples: int) -> Interval:
        """Return the interval of a share (0 to 1) of so many samples, in percent."""
        interval = estimate_share(share, samples)
        if self.unknown_share <= MAX_UNKNOWN_SHARE:
            return interval
        reason = Sentence("doubt.unknown_frames", {"share": round(100 * self.unknown_share)})
        high = min(interval.high + 100.0 * self.unknown_share, 100.0)
        return replace(interval, high=high, reason=reason)

    def quality_issues(self) -> tuple[Sentence, ...]:
        """Return reasons not to rely on shares of this profile."""
        total = self.lost + self.profile.table.samples
        if total and self.lost / total > MAX_LOST_SHARE:
            return (Sentence("doubt.lost", {"lost": self.lost, "total": total}),)
        return ()

    def matching_frames(self, pattern: str) -> list[str]:
        """Return the frames that match."""
        hit = match_names(self.profile.names, pattern, regex=True)
        return sorted({name for name, result in zip(self.profile.names, hit, strict=True) if result})


@dataclass(frozen=True, slots=True, eq=False)
class SchedulerEvents:
    """Scheduler events with their source."""

    table: SchedTable
    citation: Citation


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class HostView:
    """Everything that rules may read. `scope` is the capture scope as subject pairs.

    `span_ns` is the time of the capture; data from other systems may cover more. `baseline` is the same host
    at another time, or peers; None without one. `peers` are healthy hosts of the same kind at the same time,
    by name. Only charts read `findings` and the scheduler events in `sched`.
    """

    outcomes: Mapping[str, CollectorOutcome] = field(default_factory=dict)
    series: Sequence[ViewSeries] = ()
    tables: Mapping[str, Sequence[TableRow]] = field(default_factory=dict)
    events: Sequence[HostEvent] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    stacks: Mapping[str, Stacks] = field(default_factory=dict)
    scope: Subject = ()
    seconds: float = 0.0
    span_ns: tuple[int, int] | None = None
    capture_cpu_cores: float | None = None
    baseline: HostView | None = None
    peers: Mapping[str, HostView] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    sched: SchedulerEvents | None = None

    def with_baseline(self, baseline: HostView) -> HostView:
        """Return the view with a baseline."""
        return replace(self, baseline=baseline)

    def with_peers(self, peers: Mapping[str, HostView]) -> HostView:
        """Return the view with healthy peers."""
        return replace(self, peers=peers)

    def has_data(self, collector: str) -> bool:
        """Return whether the collector stored readable data."""
        outcome = self.outcomes.get(collector)
        return outcome is not None and outcome.state in STORED_STATES

    def covered_seconds(self, collector: str) -> float:
        """Return how long a collector ran, at least 1; the seconds of the whole view if that is unknown.

        A view covers all stages of a diagnosis. Counts that are computed from a rate need the time of its own source.
        """
        outcome = self.outcomes.get(collector)
        return max(outcome.seconds if outcome and outcome.seconds > 0 else self.seconds, 1.0)

    def missing_reason(self, collectors: Sequence[str]) -> Sentence:
        """Return why none of these collectors has data."""
        for name in collectors:
            outcome = self.outcomes.get(name)
            if outcome is not None:
                if outcome.reason is not None:
                    return Sentence(outcome.reason.key, {**outcome.reason.params, "collector": name})
                return Sentence("missing.no_data", {"collector": name, "state": outcome.state})
        return Sentence("missing.not_collected", {"collector": " | ".join(collectors)})

    def rows(self, kind: str) -> Sequence[TableRow]:
        """Return the rows of all tables of a kind."""
        return self.tables.get(kind, ())

    def series_of(self, metric: str, where: Mapping[str, str] | None = None) -> Iterator[ViewSeries]:
        """Yield the series of a metric whose labels include `where`."""
        requested_where = (where or {}).items()
        for series in self.series:
            if series.metric == metric and all(
                series.labels.get(name) == value for name, value in requested_where
            ):
                yield series

    def events_of(self, *kinds: str) -> list[HostEvent]:
        """Return the events of these kinds, oldest first."""
        return [event for event in self.events if event.kind in kinds]

    @property
    def cpus(self) -> int | None:
        """The number of online CPUs, or None if it is unknown."""
        value = self.facts.get("cpus")
        return value if isinstance(value, int) and value > 0 else None

    @property
    def target(self) -> Mapping[str, object]:
        """The resolved scope of the capture on the host (see `collectors.runner.scope`)."""
        fact = self.facts.get("target")
        return fact if isinstance(fact, Mapping) else {}


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The parts of a view to load, by exact name.

    `stacks` are kinds of profiles; the kind `sched` is `HostView.sched`. `peers` are metrics of the other
    hosts of the same capture.
    """

    metrics: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    stacks: frozenset[str] = frozenset()
    peers: frozenset[str] = frozenset()
    findings: bool = False

    def __or__(self, other: ViewRequest) -> ViewRequest:
        return ViewRequest(
            self.metrics | other.metrics,
            self.tables | other.tables,
            self.events | other.events,
            self.stacks | other.stacks,
            self.peers | other.peers,
            self.findings or other.findings,
        )


def request_view(
    *,
    metrics: Iterable[str] = (),
    tables: Iterable[str] = (),
    events: Iterable[str] = (),
    stacks: Iterable[str] = (),
    peers: Iterable[str] = (),
    findings: bool = False,
) -> ViewRequest:
    """Build a request from any collections of names."""
    return ViewRequest(
        frozenset((*metrics, *peers)),
        frozenset(tables),
        frozenset(events),
        frozenset(stacks),
        frozenset(peers),
        findings,
    )


def get_axis_column(series: ViewSeries, name: str) -> Values | None:
    """Return one column of a matrix [n] by its name on the axis, or None."""
    if name not in series.axis_values:
        return None
    return np.asarray(series.values[:, series.axis_values.index(name)])
