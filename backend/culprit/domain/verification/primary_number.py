"""Measure the primary number of a hypothesis in a run: its readings, and the load at that time.

The number is chosen with the hypothesis. Its subject on the host (a disk, a route) is selected from the runs before the
fix by `select_subject` and kept, so that no curve can be picked after the fix.

A run is one window. Seconds of a run are correlated (garbage collection, load bursts, neighbors), often for longer than
a capture, so parts of a run do not count as windows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from collectors.contract import Sentence, Times, Values
from collectors.metrics.registry import METRICS
from culprit.domain.rules.finding import Citation, MissingData, Subject
from culprit.domain.rules.readings import collectors_by_metric, find_captured_span, take_reading
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, ViewSeries
from culprit.domain.verification.windows import BLOCK_S, Better, MeasurementWindow

LoadKind = Literal["goodput", "accepts", "none"]

#: Numbers that grow in proportion to the work: CPU time, bytes, operations. Losses, rejections and waiting times grow
#: faster than the work; shares do not grow.
GROWS_WITH_WORK = frozenset(
    {
        "cpu.busy_pct", "cpu.soft_pct", "cpu.sys_pct", "cpu.total_busy_pct", "cpu.total_soft_pct",
        "cpu.total_sys_pct", "cpu.total_usr_pct", "cpu.usr_pct", "db.cpu_pct", "disk.flush_per_s", "disk.r_iops",
        "disk.read_mb_s", "disk.w_iops", "disk.write_mb_s", "io.tiny_reads_per_s",
        "mem.pgfault_per_s", "mem.pgmajfault_per_s", "net.rx_mb_s", "net.rx_pps", "net.tx_mb_s", "net.tx_pps",
        "proc.kernel_thread_pct", "proc.serving_cpu_pct", "proc.thread_cpu_pct", "sched.switches_per_s",
        "softirq.total_per_s", "syscall.calls_per_s", "tcp.active_opens_per_s",
    }
)  # fmt: skip
#: Labels of a subject that change with a restart.
_RESTART_LABELS = frozenset({"pid", "tid", "start", "thread"})
_ALL_ROUTES = "*"


@dataclass(frozen=True, slots=True)
class MeasuredNumber:
    """The window of a run with its plot data: `t_ns` int64 [n] of each value, and the citations.

    `missing` is why there are no values. A load of kind `accepts` counts connections, not responses.
    """

    window: MeasurementWindow
    t_ns: Times
    subject: Subject
    load_kind: LoadKind
    citations: tuple[Citation, ...] = ()
    missing: Sentence | None = None


@dataclass(frozen=True, slots=True)
class _Track:
    """The readings of one subject over time."""

    t_ns: Times
    values: Values
    citations: tuple[Citation, ...]


def find_measure(read: str) -> Measure | None:
    """Return the measure with this ID; None for a metric or an unknown ID."""
    return _map_measures().get(read)


def get_unit(read: str) -> str:
    """Return the unit of a primary number, or ""."""
    if read in METRICS:
        return METRICS[read].unit
    measure = find_measure(read)
    return measure.unit if measure else ""


def is_divisible(read: str) -> bool:
    """Return whether the number grows in proportion to the work."""
    return read in GROWS_WITH_WORK


def is_single_reading(read: str) -> bool:
    """Return whether a run has a single value of this number instead of a series."""
    return read not in METRICS


def list_collectors(read: str) -> tuple[tuple[str, ...], ...]:
    """Return the collectors that the number needs: one of each inner tuple."""
    measure = find_measure(read)
    if measure is not None:
        return measure.needs
    return (collectors_by_metric()[read],) if read in collectors_by_metric() else ()


def select_subject(views: Sequence[HostView], read: str, better: Better) -> Subject:
    """Select the subject of the number on this host: the worst one before the fix, by the median of the runs.

    The total of all routes comes first. A subject that is missing in some runs comes after one that is in all runs.
    `()` if the host has a single number, or none.
    """
    result: dict[Subject, list[float]] = defaultdict(list)
    for view in views:
        for subject, track in _build_tracks(view, read, better).items():
            result[subject].append(float(np.nanmean(track.values)))
    whole = [item for item in result if dict(item).get("route") == _ALL_ROUTES]
    if whole:
        return whole[0]
    sign = 1.0 if better == "lower" else -1.0
    return max(
        sorted(result),
        key=lambda item: (len(result[item]), sign * float(np.median(result[item]))),
        default=(),
    )


def measure_primary(view: HostView, read: str, subject: Subject, better: Better = "lower") -> MeasuredNumber:
    """Measure the number of a subject in a run.

    A measure that lists problems (waits, stuck tasks, drops) and lists none is zero. A subject that is missing among
    others is reported as missing.
    """
    tracks = _build_tracks(view, read, better)
    track = tracks.get(subject)
    if track is None and not tracks and better == "lower" and _lists_nothing(view, read):
        t0, t1 = view.span_ns or (0, 0)
        track = _Track(np.array([(t0 + t1) // 2], np.int64), np.zeros(1), ())
    missing = None
    if track is None:
        about = ", ".join(f"{name}={value}" for name, value in subject)
        missing = (
            Sentence("verify.subject_gone", {"subject": about}) if tracks else _explain_missing(view, read)
        )
        track = _Track(np.zeros(0, np.int64), np.zeros(0), ())
    window, kind = _build_window(
        view, track, 1 if is_single_reading(read) else _count_block_readings(track.t_ns)
    )
    return MeasuredNumber(window, track.t_ns, subject, kind, track.citations, missing)


def _build_window(view: HostView, track: _Track, block: int) -> tuple[MeasurementWindow, LoadKind]:
    """Return the window of a track with the load, the failures and the utilization of its run."""
    load, kind = measure_load(view)
    failed, responses = _measure_failures(view)
    busy = [
        float(np.nanmean(values))
        for series in view.series_of("cpu.total_busy_pct")
        if np.isfinite(values := _select_within(view, series)[1]).any()
    ]
    window = MeasurementWindow(
        track.values,
        track.t_ns / 1e9,
        load,
        block,
        failed,
        responses,
        utilization=max(busy, default=math.nan) / 100,
    )
    return window, kind


def _measure_failures(view: HostView) -> tuple[float, float]:
    """Return the share of the responses that failed, and the number of responses; NaN if not measured."""
    span = find_captured_span(view)
    for source in ("app_metrics", "prom_service"):
        rates = _average_by_route(view, "app.requests_per_s", source)
        wrong = _average_by_route(view, "app.errors_pct", source)
        if _ALL_ROUTES in rates:
            rates = {_ALL_ROUTES: rates[_ALL_ROUTES]}
        total = sum(rates.values())
        if span is not None and total > 0 and set(rates) <= set(wrong):
            failed = sum(rate * wrong[route] / 100 for route, rate in rates.items())
            return failed / total, total * (span[1] - span[0]) / 1e9
    return math.nan, math.nan


def _lists_nothing(view: HostView, read: str) -> bool:
    """Return whether a measure was taken and lists nothing."""
    measure = find_measure(read)
    taken = take_reading(view, measure) if measure is not None else None
    return taken is not None and not isinstance(taken, MissingData) and not taken


def measure_load(view: HostView) -> tuple[float, LoadKind]:
    """Return the successful responses per second during the run; else accepted connections; else NaN.

    The log of the host comes first, then the metrics of its Prometheus.
    """
    for source in ("app_metrics", "prom_service"):
        rates = _average_by_route(view, "app.requests_per_s", source)
        wrong = _average_by_route(view, "app.errors_pct", source)
        if _ALL_ROUTES in rates:
            rates = {_ALL_ROUTES: rates[_ALL_ROUTES]}
        if rates:
            return sum(rate * (1 - wrong.get(route, 0.0) / 100) for route, rate in rates.items()), "goodput"
    accepted = _average_by_route(view, "app.accepts_per_s", "accepts")
    return (sum(accepted.values()), "accepts") if accepted else (math.nan, "none")


def _average_by_route(view: HostView, metric: str, source: str) -> dict[str, float]:
    """Return the mean over the run by route."""
    results: dict[str, float] = {}
    for series in view.series_of(metric):
        if series.citation.collector == source:
            values = _select_within(view, series)[1][:, 0]
            if np.isfinite(values).any():
                results[series.labels.get("route", "")] = float(np.nanmean(values))
    return results


def _build_tracks(view: HostView, read: str, better: Better) -> dict[Subject, _Track]:
    """Return the readings by subject; of subjects that differ only in restart labels, the worst."""
    tracks: dict[Subject, _Track] = {}
    for subject, track in _iter_series(view, read) if read in METRICS else _iter_measured(view, read):
        lasting = tuple(pair for pair in subject if pair[0] not in _RESTART_LABELS)
        known = tracks.get(lasting)
        if known is None or _is_worse(track, known, better):
            tracks[lasting] = track
    return tracks


def _is_worse(track: _Track, other: _Track, better: Better) -> bool:
    mine, yours = float(np.nanmean(track.values)), float(np.nanmean(other.values))
    return mine > yours if better == "lower" else mine < yours


def _iter_series(view: HostView, metric: str) -> Iterator[tuple[Subject, _Track]]:
    """Yield each series of a metric and each column of a matrix."""
    for series in view.series_of(metric):
        t_ns, values = _select_within(view, series)
        for at, name in enumerate(series.axis_values if series.axis is not None else ("",)):
            if np.isfinite(values[:, at]).any():
                pairs = dict(series.labels) | ({series.axis: name} if series.axis is not None else {})
                yield tuple(sorted(pairs.items())), _Track(t_ns, values[:, at], (series.citation,))


def _iter_measured(view: HostView, read: str) -> Iterator[tuple[Subject, _Track]]:
    """Yield each value of a measure, at the middle of the run, without values of doubtful quality."""
    measure = find_measure(read)
    taken = take_reading(view, measure) if measure is not None else ()
    if isinstance(taken, MissingData):
        return
    t0, t1 = view.span_ns or (0, 0)
    for each in taken:
        if not each.quality_issues:
            middle = np.array([(t0 + t1) // 2], np.int64)
            yield each.subject, _Track(middle, np.array([each.value]), each.citations)


def _select_within(view: HostView, series: ViewSeries) -> tuple[Times, Values]:
    """Return the readings within the captured time."""
    span = find_captured_span(view)
    if span is None:
        return series.t_ns, series.values
    stored = (series.t_ns >= span[0]) & (series.t_ns <= span[1])
    return series.t_ns[stored], series.values[stored]


def _count_block_readings(t_ns: Times) -> int:
    """Return the number of readings in a block of BLOCK_S seconds, at least one."""
    step_s = float(np.median(np.diff(t_ns))) / 1e9 if len(t_ns) > 1 else BLOCK_S
    return max(1, round(BLOCK_S / step_s)) if step_s > 0 else BLOCK_S


def _explain_missing(view: HostView, read: str) -> Sentence:
    measure = find_measure(read)
    taken = take_reading(view, measure) if measure is not None else ()
    if isinstance(taken, MissingData):
        return taken.reason
    doubts = [doubt for each in taken for doubt in each.quality_issues]
    return (
        doubts[0]
        if doubts
        else view.missing_reason([name for any_of in list_collectors(read) for name in any_of])
    )


@lru_cache(maxsize=1)
def _map_measures() -> Mapping[str, Measure]:
    return {read.id: read for rule in RULES.values() for read in rule.inputs() if isinstance(read, Measure)}
