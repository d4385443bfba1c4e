"""Find what differs between two selections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.metrics.registry import METRICS
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.series import tracks
from culprit.domain.series.differences import Float, ValueDifference, compare_columns, summarize_values
from culprit.domain.series.tracks import TimelineTrack
from culprit.evidence.context import fact_changes
from culprit.evidence.differences import queries
from culprit.evidence.timeline import queries as timeline_queries
from culprit.evidence.timeline import service as timeline_service
from culprit.evidence.timeline import track_builder
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.hosts.host import Host
from culprit.json_types import Json
from culprit.web.errors import InvalidRequestError, NotFoundError

MAX_SERIES = 500
MAX_UNMATCHED = 100
MAX_EVENTS = 100
MAX_FACTS = 200
WIDTH = 400
"""Maximum number of values per series of a selection: enough for a spread and its correlation."""
POINTS = 60
"""Maximum number of values that are sent for a sparkline."""
SECONDS_PER_HOUR = 3600.0
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TimeSelection:
    """A time range of a host, in UTC nanoseconds."""

    host_id: UUID
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class LoadedSelection:
    """The series of a selection by metric and labels, with their values."""

    selection: TimeSelection
    host: Host
    series: Mapping[Key, StoredSeries]
    tracks: Mapping[UUID, TimelineTrack]

    def get_track(self, key: Key) -> TimelineTrack:
        """Return the values of a series."""
        return self.tracks[self.series[key].id]

    @property
    def duration_hours(self) -> float:
        """Return the length of the range in hours."""
        return (self.selection.to_ns - self.selection.from_ns) / 1e9 / SECONDS_PER_HOUR


def find_differences(
    session: Session, actor: Actor, before: TimeSelection, after: TimeSelection, limit: int
) -> Json:
    """Compare all series, events and facts of two selections.

    Raises:
        NotFoundError: a host does not exist for this actor.
        InvalidRequestError: a range is empty, or both selections are the same.
    """
    if before == after:
        raise InvalidRequestError("differences.same_selection")
    first, second = _load_selection(session, actor, before), _load_selection(session, actor, after)
    common = [key for key in second.series if key in first.series]
    compared = [item for key in common if (item := _compare_series(first, second, key)) is not None]
    changed = sorted((item for item in compared if item[1].is_clear), key=lambda item: item[1].rank)
    metrics_before, metrics_after = ({metric for metric, _ in side.series} for side in (first, second))
    appeared = _list_unmatched(second, first, metrics_before)
    vanished = _list_unmatched(first, second, metrics_after)
    events = _compare_events(session, first, second)
    return {
        "before": _selection_to_json(first),
        "after": _selection_to_json(second),
        "series": [item[0] for item in changed[:limit]],
        "series_changed": len(changed),
        "series_equal": len(compared) - len(changed),
        "metrics_before_only": sorted(metrics_before - metrics_after),
        "metrics_after_only": sorted(metrics_after - metrics_before),
        "appeared": appeared[:MAX_UNMATCHED],
        "appeared_total": len(appeared),
        "vanished": vanished[:MAX_UNMATCHED],
        "vanished_total": len(vanished),
        "events": events[:MAX_EVENTS],
        "events_total": len(events),
        **_compare_facts(session, actor, before, after),
    }


def _load_selection(session: Session, actor: Actor, selection: TimeSelection) -> LoadedSelection:
    host = timeline_queries.find_host(session, actor, selection.host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    authorize(actor, "host.read", host)
    begin, end = selection.from_ns, selection.to_ns
    if begin >= end:
        raise InvalidRequestError("timeline.empty_range", from_ns=begin, to_ns=end)
    series = queries.list_series(session, host.id, begin, end)
    pixel = tracks.compute_pixel_ns(begin, end, WIDTH)
    pieces, _, _ = track_builder.load_pieces(session, series, begin, end, pixel_ns=pixel, plane="mean")
    loaded = {
        item.id: track
        for item in series
        if (track := tracks.build_track(pieces.get(item.id, ()), begin, end, WIDTH)).rows.n
    }
    by_key = {(item.metric, item.labels_key): item for item in series if item.id in loaded}
    return LoadedSelection(selection, host, by_key, loaded)


def _selection_to_json(side: LoadedSelection) -> Json:
    return {
        "host": {"id": side.host.id, "name": side.host.name},
        "from_ns": side.selection.from_ns,
        "to_ns": side.selection.to_ns,
        "series": len(side.series),
    }


def _compare_series(
    first: LoadedSelection, second: LoadedSelection, key: Key
) -> tuple[Json, ValueDifference] | None:
    """Compare one series; of a matrix, its columns, of which the one that differs most represents it."""
    before, after = first.get_track(key), second.get_track(key)
    series = second.series[key]
    unit = METRICS[series.metric].unit if series.metric in METRICS else ""
    where = {name: at for at, name in enumerate(before.columns)}
    names = [name for name in after.columns if name in where]
    here = {name: at for at, name in enumerate(after.columns)}
    sides = (
        before.rows.mean[:, [where[name] for name in names]],
        after.rows.mean[:, [here[name] for name in names]],
    )
    compared = compare_columns(*sides, unit)
    largest = compared.find_largest()
    if largest is None:
        return None
    difference = compared.get_difference(largest)
    summaries = (difference.before, difference.after)
    return {
        "metric": series.metric,
        "labels": series.labels,
        "unit": unit,
        "axis": series.axis,
        "column": names[largest] if series.axis is not None else None,
        "columns": int(compared.is_known.sum()),
        "columns_changed": int(compared.is_clear.sum()),
        **{
            name: {
                "n": summary.n,
                "mean": summary.mean,
                "min": summary.low,
                "max": summary.high,
                "points": _reduce_points(values[:, largest]),
            }
            for name, summary, values in zip(("before", "after"), summaries, sides, strict=True)
        },
        "steps": difference.steps,
        "ratio": difference.ratio,
    }, difference


def _reduce_points(values: Float) -> list[float | None]:
    """Return at most `POINTS` means of neighboring values, as JSON."""
    groups = np.array_split(values, min(len(values), POINTS))
    means = [float(known.mean()) if len(known := group[np.isfinite(group)]) else None for group in groups]
    return [None if mean is None else float(f"{mean:.4g}") for mean in means]


def _list_unmatched(side: LoadedSelection, other: LoadedSelection, metrics: set[str]) -> list[Json]:
    """Return the series of `side` that `other` lacks, although it has their metric, the largest of each unit first."""
    result: list[tuple[float, Json]] = []
    for key, series in side.series.items():
        if key in other.series or series.metric not in metrics:
            continue
        summary = summarize_values(side.get_track(key).rows.mean.ravel())
        if summary is None:
            continue
        unit = METRICS[series.metric].unit if series.metric in METRICS else ""
        values = {"n": summary.n, "mean": summary.mean, "min": summary.low, "max": summary.high}
        result.append(
            (-abs(summary.mean), {"metric": series.metric, "labels": series.labels, "unit": unit, **values})
        )
    return [item for _, item in sorted(result, key=lambda pair: (pair[1]["unit"], pair[0]))]


def _compare_events(session: Session, first: LoadedSelection, second: LoadedSelection) -> list[Json]:
    """Return the kinds of events that occurred, those first whose number per hour changed most."""
    sides = [_count_events(session, side) for side in (first, second)]
    result: list[Json] = []
    for key in sides[0].keys() | sides[1].keys():
        groups = [side.get(key) for side in sides]
        counts = [item[0] if item else 0 for item in groups]
        rates = [number / side.duration_hours for number, side in zip(counts, (first, second), strict=True)]
        _, last_ns, title = max((item for item in groups if item), key=lambda item: item[1])
        kind, severity, _ = key
        result.append(
            {
                "kind": kind,
                "severity": severity,
                "title": title,
                "last_ns": last_ns,
                "before": counts[0],
                "after": counts[1],
                "before_per_hour": rates[0],
                "after_per_hour": rates[1],
            }
        )
    return sorted(result, key=_sort_event)


def _sort_event(event: Mapping[str, Any]) -> tuple[bool, int, float, str]:
    severity = {"critical": 0, "warn": 1}.get(event["severity"], 2)
    change = abs(event["after_per_hour"] - event["before_per_hour"])
    is_exclusive = not event["before"] or not event["after"]
    return not is_exclusive, severity, -change, event["kind"]


def _count_events(
    session: Session, side: LoadedSelection
) -> dict[tuple[str, str, str], tuple[int, int, Json]]:
    """Return the number, newest time and title by kind and severity; reported events each count by their text."""
    host_id, from_ns, to_ns = side.host.id, side.selection.from_ns, side.selection.to_ns
    counts = {
        (kind, severity, ""): (number, t_ns, title)
        for kind, severity, number, t_ns, title in queries.count_events(session, host_id, from_ns, to_ns)
    }
    reported, _ = timeline_queries.list_reported_events(session, host_id, from_ns, to_ns, MAX_EVENTS)
    grouped: dict[str, list[Json]] = defaultdict(list)
    for event, name in reported:
        grouped[event.what].append(timeline_service.reported_event_to_json(event, name))
    for text, group in grouped.items():
        newest = group[-1]
        counts[newest["kind"], "info", text] = (len(group), newest["t_ns"], newest["title"])
    return counts


def _compare_facts(session: Session, actor: Actor, before: TimeSelection, after: TimeSelection) -> Json:
    """Return the changes of the facts of one host, or the differences of two hosts."""
    result: dict[str, Any] = {"facts": [], "facts_total": 0, "settings": [], "settings_total": 0}
    if before.host_id == after.host_id:
        changes = fact_changes.list_changes(
            session,
            actor,
            before.host_id,
            since_ns=min(before.from_ns, after.from_ns),
            until_ns=max(before.to_ns, after.to_ns),
        )
        result |= {"facts": changes.changes[:MAX_FACTS], "facts_total": changes.changes_total}
        return result
    rows, total = queries.list_setting_differences(
        session, (before.host_id, before.to_ns), (after.host_id, after.to_ns), MAX_FACTS
    )
    names: Sequence[str] = ("source", "name", "before", "after")
    return result | {"settings": _rows_to_json(rows, names), "settings_total": total}


def _rows_to_json(rows: Iterable[Any], names: Sequence[str]) -> list[Json]:
    return [dict(zip(names, row, strict=True)) for row in rows]
