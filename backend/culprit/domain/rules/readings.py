"""Reading numbers out of a view: reductions of series, and the derived measures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from collectors.contract import Text, Values
from collectors.metrics import CATALOGUE
from collectors.registry import COLLECTORS
from culprit.core.rules.contract import Citation, How, Measured, Missing, Over, Read, Reading, Subject
from culprit.core.rules.view import Lane, View

#: A rule holds where it is true in at least 60 % of the readings: that is what the 40th percentile says.
HELD = 40.0
#: What these bring home also tells of the time before the capture.
LOOK_BACK = frozenset({"app_metrics", "atop_history", "prom_import", "sar_history"})
#: A rate stands at the end of the second that it is of.
STEP_NS = 1_000_000_000


@lru_cache(maxsize=1)
def sources() -> dict[str, tuple[str, ...]]:
    """Metric id → the collectors that yield it."""
    found: dict[str, list[str]] = {}
    for one in COLLECTORS.values():
        for metric in one.yields:
            found.setdefault(metric, []).append(one.id)
    return {metric: tuple(ids) for metric, ids in found.items()}


def unit_of(read: Read) -> str:
    """The unit of a measure."""
    return CATALOGUE[read.metric].unit if isinstance(read, Over) else read.unit


def title_of(read: Read) -> Text:
    """What a measure is called."""
    return CATALOGUE[read.metric].title if isinstance(read, Over) else read.title


def needs_of(read: Read) -> tuple[tuple[str, ...], ...]:
    """The collectors that a measure reads: one of each inner tuple."""
    return (sources().get(read.metric, ()),) if isinstance(read, Over) else read.needs


def take(view: View, read: Read) -> Reading:
    """The numbers of one measure; Missing where what it reads did not come home."""
    for any_of in needs_of(read):
        if not any(view.has(one) for one in any_of):
            return Missing(view.why_not(any_of))
    if isinstance(read, Over):
        reduced_ = [one for lane in view.of(read.metric, read.where) for one in _reduce(lane, read)]
        return reduced_ or Missing(view.why_not(needs_of(read)[0]))
    found = read.read(view)
    return found if isinstance(found, Missing) else [one for one in found if np.isfinite(one.value)]


def _reduce(lane: Lane, read: Over) -> Iterator[Measured]:
    names = lane.axis_values if lane.axis is not None else ("",)
    for at, name in enumerate(names):
        if read.axis and name != read.axis:
            continue
        values = lane.values[:, at]
        rows = np.flatnonzero(~np.isnan(values))
        if not len(rows):
            continue
        pairs = dict(lane.labels)
        if lane.axis is not None:
            pairs[lane.axis] = name
        yield Measured(
            reduced(values[rows], read.how),
            tuple(sorted(pairs.items())),
            (cited(lane, values, rows, read.how),),
            len(rows),
        )


def reduced(values: Values, how: How) -> float:
    """One number of [n] readings without NaN, n > 0."""
    match how:
        case "mean":
            return float(values.mean())
        case "max":
            return float(values.max())
        case "min":
            return float(values.min())
        case "sum":
            return float(values.sum())
        case "first":
            return float(values[0])
        case "last":
            return float(values[-1])
        case "growth":
            return float(values[-1] - values[0])
        case "p95":
            return float(np.percentile(values, 95))
        case "held":
            return float(np.percentile(values, HELD, method="lower"))
        case "held_below":
            return float(np.percentile(values, 100 - HELD, method="higher"))


def cited(lane: Lane, values: Values, rows: np.ndarray[tuple[int], np.dtype[np.int64]], how: How) -> Citation:
    """The lines that the number rests on: those of the extreme for extremes, else first and last."""
    if lane.lines is None:
        return lane.cite
    pick = {"max": [int(rows[np.argmax(values[rows])])], "min": [int(rows[np.argmin(values[rows])])]}.get(
        how, [int(rows[0]), int(rows[-1])]
    )
    lines = tuple(dict.fromkeys(int(lane.lines[at]) for at in pick if lane.lines[at] > 0))
    one = lane.cite
    return Citation(one.run, one.collector, one.artifact, one.part, lines)


def compatible(one: Subject, other: Subject) -> bool:
    """Whether two numbers may be about the same thing: no name that both have differs."""
    mine = dict(one)
    return all(mine.get(name, value) == value for name, value in other)


def captured(view: View) -> tuple[int, int] | None:
    """From when to when was captured. A log and a Prometheus also tell of the time before, and so does the run's span.

    That time is neither this window's nor after a fix that was applied just now: it is cut off by what was sampled
    beside it, else by how long the collectors watched.
    """
    sampled = [lane for lane in view.lanes if lane.cite.collector not in LOOK_BACK and len(lane.t_ns)]
    if sampled:
        return min(int(one.t_ns[0]) for one in sampled) - STEP_NS, max(int(one.t_ns[-1]) for one in sampled)
    watched_ns = int(1e9 * max((one.seconds for one in view.outcomes.values()), default=0.0))
    if view.span_ns is None or not watched_ns:
        return view.span_ns
    return max(view.span_ns[0], view.span_ns[1] - watched_ns), view.span_ns[1]
