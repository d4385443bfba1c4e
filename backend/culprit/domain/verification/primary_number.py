"""The primary number of a hypothesis out of what came home from one run: its readings, and the work done meanwhile.

The number is chosen when the hypothesis is written down; what on the host it is about (which disk, which route) is
chosen from the runs before the fix, by `subject_of`, and kept. So nobody picks the curve that looks best afterwards.

A run is one window, never several: what makes one second like the next (a garbage collection, a burst of the load, a
neighbour) often lasts longer than a capture, and pieces of one capture share it. Pieces may only count as windows if
they are as far apart as captures are; then they are captures, and one takes them as such.
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
from collectors.metrics import CATALOGUE
from culprit.core.rules.contract import Citation, Measure, Missing, Subject
from culprit.core.rules.read import captured, sources, take
from culprit.core.rules.registry import RULES
from culprit.core.rules.view import Lane, View
from culprit.core.verify import BLOCK_S, Better, Window

LoadKind = Literal["goodput", "accepts", "none"]

#: Numbers that double where the work doubles, so that they may be told per unit of it: CPU time, bytes, operations.
#: What is lost, refused or waited for is none of these: it grows faster than the work; a share does not grow at all.
GROWS_WITH_WORK = frozenset(
    {
        "cpu.busy_pct", "cpu.soft_pct", "cpu.sys_pct", "cpu.total_busy_pct", "cpu.total_soft_pct",
        "cpu.total_sys_pct", "cpu.total_usr_pct", "cpu.usr_pct", "db.cpu_pct", "disk.flush_per_s", "disk.r_iops",
        "disk.read_mb_s", "disk.w_iops", "disk.write_mb_s", "fd.sync_writes_per_s", "io.tiny_reads_per_s",
        "mem.pgfault_per_s", "mem.pgmajfault_per_s", "net.rx_mb_s", "net.rx_pps", "net.tx_mb_s", "net.tx_pps",
        "proc.kernel_thread_pct", "proc.serving_cpu_pct", "proc.thread_cpu_pct", "sched.switches_per_s",
        "softirq.total_per_s", "syscall.calls_per_s", "tcp.active_opens_per_s",
    }
)  # fmt: skip
#: Names of a subject that a restart changes: the same thing has another number after the fix.
_PASSING = frozenset({"pid", "tid", "start", "thread"})
_ALL_ROUTES = "*"


@dataclass(frozen=True, slots=True)
class Seen:
    """One run's window, with what is drawn of it: `t_ns` of each value, and where it was read.

    `missing` says why there are no values at all. A load that is `accepts` counts connections, not answers.
    """

    window: Window
    t_ns: Times
    subject: Subject
    load_kind: LoadKind
    citations: tuple[Citation, ...] = ()
    missing: Sentence | None = None


@dataclass(frozen=True, slots=True)
class _Track:
    """Readings of one subject, by time."""

    t_ns: Times
    values: Values
    citations: tuple[Citation, ...]


def measure_of(read: str) -> Measure | None:
    """The measure of the rules of that id; None for a metric, or for what nobody knows."""
    return _measures().get(read)


def unit_of(read: str) -> str:
    """The unit of a primary number, "" where nobody knows it."""
    if read in CATALOGUE:
        return CATALOGUE[read].unit
    one = measure_of(read)
    return one.unit if one else ""


def divisible(read: str) -> bool:
    """Whether the number grows in step with the work, and may be told per unit of it."""
    return read in GROWS_WITH_WORK


def single(read: str) -> bool:
    """Whether a run has one such number and no series of them."""
    return read not in CATALOGUE


def collectors_of(read: str) -> tuple[tuple[str, ...], ...]:
    """The collectors that the number takes: one of each inner tuple."""
    one = measure_of(read)
    if one is not None:
        return one.needs
    return (sources()[read],) if read in sources() else ()


def subject_of(views: Sequence[View], read: str, better: Better) -> Subject:
    """What the number is about on this host: the subject that is worst before the fix, by the median of the runs.

    Of routes it is all of them together where that is there. A subject that is missing in some runs comes after one
    that is in all. `()` where there is one number for the host, or none.
    """
    found: dict[Subject, list[float]] = defaultdict(list)
    for view in views:
        for subject, track in _tracks(view, read, better).items():
            found[subject].append(float(np.nanmean(track.values)))
    whole = [one for one in found if dict(one).get("route") == _ALL_ROUTES]
    if whole:
        return whole[0]
    sign = 1.0 if better == "lower" else -1.0
    return max(
        sorted(found),
        key=lambda one: (len(found[one]), sign * float(np.median(found[one]))),
        default=(),
    )


def seen(view: View, read: str, subject: Subject, better: Better = "lower") -> Seen:
    """The number in one run, of that subject.

    A measure that lists what is ill (waits, stuck tasks, what rules dropped) and that was taken and lists nothing at
    all is nought: none of it is left. One subject that is gone among others that are there is not told.
    """
    load, kind = load_of(view)
    tracks = _tracks(view, read, better)
    track = tracks.get(subject)
    if track is None and not tracks and better == "lower" and _lists_nothing(view, read):
        t0, t1 = view.span_ns or (0, 0)
        return Seen(Window(np.zeros(1), load, 1), np.array([(t0 + t1) // 2], np.int64), subject, kind)
    if track is None:
        nothing = Window(np.zeros(0), load)
        about = ", ".join(f"{name}={value}" for name, value in subject)
        gone = Sentence("verify.subject_gone", {"subject": about}) if tracks else _why_not(view, read)
        return Seen(nothing, np.zeros(0, np.int64), subject, kind, (), gone)
    block = 1 if single(read) else _block(track.t_ns)
    return Seen(Window(track.values, load, block), track.t_ns, subject, kind, track.citations)


def _lists_nothing(view: View, read: str) -> bool:
    """Whether a measure was taken and found nothing to list."""
    one = measure_of(read)
    taken = take(view, one) if one is not None else None
    return taken is not None and not isinstance(taken, Missing) and not taken


def load_of(view: View) -> tuple[float, LoadKind]:
    """Good answers a second while the run lasted; accepted connections where nobody counts answers; else NaN.

    The host's own log comes first, then what its Prometheus scraped.
    """
    for source in ("app_metrics", "prom_import"):
        rates = _by_route(view, "app.requests_per_s", source)
        wrong = _by_route(view, "app.errors_pct", source)
        if _ALL_ROUTES in rates:
            rates = {_ALL_ROUTES: rates[_ALL_ROUTES]}
        if rates:
            return sum(rate * (1 - wrong.get(route, 0.0) / 100) for route, rate in rates.items()), "goodput"
    accepted = _by_route(view, "app.accepts_per_s", "accepts")
    return (sum(accepted.values()), "accepts") if accepted else (math.nan, "none")


def _by_route(view: View, metric: str, source: str) -> dict[str, float]:
    """The mean over the run by route."""
    found: dict[str, float] = {}
    for lane in view.of(metric):
        if lane.cite.collector == source:
            values = _within(view, lane)[1][:, 0]
            if np.isfinite(values).any():
                found[lane.labels.get("route", "")] = float(np.nanmean(values))
    return found


def _tracks(view: View, read: str, better: Better) -> dict[Subject, _Track]:
    """The readings by subject; of several that a restart would make one, the worst."""
    found: dict[Subject, _Track] = {}
    for subject, track in _series(view, read) if read in CATALOGUE else _measured(view, read):
        lasting = tuple(pair for pair in subject if pair[0] not in _PASSING)
        known = found.get(lasting)
        if known is None or _worse(track, known, better):
            found[lasting] = track
    return found


def _worse(one: _Track, other: _Track, better: Better) -> bool:
    mine, yours = float(np.nanmean(one.values)), float(np.nanmean(other.values))
    return mine > yours if better == "lower" else mine < yours


def _series(view: View, metric: str) -> Iterator[tuple[Subject, _Track]]:
    """Each series of a metric, each column of a matrix."""
    for lane in view.of(metric):
        t_ns, values = _within(view, lane)
        for at, name in enumerate(lane.axis_values if lane.axis is not None else ("",)):
            if np.isfinite(values[:, at]).any():
                pairs = dict(lane.labels) | ({lane.axis: name} if lane.axis is not None else {})
                yield tuple(sorted(pairs.items())), _Track(t_ns, values[:, at], (lane.cite,))


def _measured(view: View, read: str) -> Iterator[tuple[Subject, _Track]]:
    """Each number of a measure: one reading, in the middle of the run. One with doubts is none."""
    one = measure_of(read)
    taken = take(view, one) if one is not None else ()
    if isinstance(taken, Missing):
        return
    t0, t1 = view.span_ns or (0, 0)
    for each in taken:
        if not each.doubts:
            middle = np.array([(t0 + t1) // 2], np.int64)
            yield each.subject, _Track(middle, np.array([each.value]), each.citations)


def _within(view: View, lane: Lane) -> tuple[Times, Values]:
    """The readings of the capture itself."""
    span = captured(view)
    if span is None:
        return lane.t_ns, lane.values
    kept = (lane.t_ns >= span[0]) & (lane.t_ns <= span[1])
    return lane.t_ns[kept], lane.values[kept]


def _block(t_ns: Times) -> int:
    """How many readings make a block of BLOCK_S seconds; at least one."""
    step_s = float(np.median(np.diff(t_ns))) / 1e9 if len(t_ns) > 1 else BLOCK_S
    return max(1, round(BLOCK_S / step_s)) if step_s > 0 else BLOCK_S


def _why_not(view: View, read: str) -> Sentence:
    one = measure_of(read)
    taken = take(view, one) if one is not None else ()
    if isinstance(taken, Missing):
        return taken.reason
    doubts = [doubt for each in taken for doubt in each.doubts]
    return doubts[0] if doubts else view.why_not([name for any_of in collectors_of(read) for name in any_of])


@lru_cache(maxsize=1)
def _measures() -> Mapping[str, Measure]:
    return {one.measure.id: one.measure for one in RULES.values() if isinstance(one.measure, Measure)}
