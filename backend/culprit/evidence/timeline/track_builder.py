"""Lanes out of rows of the database: which rows a zoom needs, and what they become."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.metrics import CATALOGUE
from culprit.core import chunks, timeline
from culprit.core.chunks import HOUR_NS, Rows
from culprit.core.rollup import HOURS
from culprit.core.timeline import Lane, Piece
from culprit.models import Series
from culprit.timeline import queries, usual
from culprit.timeline.queries import ChunkRow

MAX_SOURCES = 50
# What one answer may hold, whatever is asked for: some ten megabytes of JSON before compression.
MAX_NUMBERS = 900_000
Json = dict[str, Any]


def order(series: Series) -> tuple[int, str, str]:
    """Lanes in the order of the catalogue, then by name."""
    metric = CATALOGUE.get(series.metric)
    return (metric.lane.order if metric else 1 << 30, series.metric, series.labels_key)


def describe(series: Series) -> Json:
    """What the catalogue knows of a lane; a metric that it does not know is drawn as a line without unit."""
    metric = CATALOGUE.get(series.metric)
    return {
        "metric": series.metric,
        "labels": series.labels,
        "axis": series.axis,
        "unit": metric.unit if metric else "",
        "kind": metric.lane.kind if metric else "line",
    }


def draw(
    session: Session, series: Sequence[Series], *, from_ns: int, to_ns: int, width: int, plane: str
) -> list[Json]:
    """What each of `series` shows in the range at this width; `plane` is what matrices show of a cell."""
    width = min(width, max(50, MAX_NUMBERS // (4 * max(1, len(series)))))
    pixel = timeline.pixel_ns(from_ns, to_ns, width)
    ids = [one.id for one in series]
    sources: Mapping[UUID, list[Json]] = {}
    if pixel >= HOUR_NS:
        pieces = _days(session, series, from_ns, to_ns, _PLANES[plane])
        level: dict[UUID, int | str] = dict.fromkeys(ids, "hours")
    else:
        rows = queries.chunks(session, ids, from_ns, to_ns, pixel)
        pieces, level = _chunks(rows)
        sources = _sources(session, rows)
    drawn: list[Json] = []
    cells = MAX_NUMBERS // max(1, sum(one.axis is not None for one in series))
    usually = {} if pixel >= HOUR_NS else usual.of_lanes(session, series, from_ns, to_ns)
    for one in series:
        bins = width
        if one.axis is not None:
            k = len(timeline.union([piece.columns for piece in pieces[one.id]]))
            bins = max(1, min(width, cells // max(1, k)))
        lane = timeline.lane(pieces[one.id], from_ns, to_ns, bins)
        drawn.append(
            {
                **describe(one),
                **_values(lane, one.axis, from_ns, plane),
                "level": level.get(one.id, 0),
                "gaps": lane.gaps,
                "chunks": sources.get(one.id, []),
                "usual": usually.get(one.id, []),
            }
        )
    return drawn


def _values(lane: Lane, axis: str | None, from_ns: int, plane: str) -> Json:
    times = np.maximum(lane.rows.start_ns, from_ns).tolist()
    if axis is not None:
        values = timeline.significant(getattr(lane.rows, _PLANES[plane]))
        matrix = {"t_ns": times, "values": values.tolist()}
        return {"axis_values": list(lane.columns), "matrix": matrix, "points": None}
    shown = {name: timeline.significant(getattr(lane.rows, at)) for name, at in _PLANES.items()}
    first = {name: (values[:, 0].tolist() if values.shape[1] else []) for name, values in shown.items()}
    return {"axis_values": None, "matrix": None, "points": {"t_ns": times, **first}}


_PLANES = {"min": "low", "mean": "mean", "max": "high"}


def _days(
    session: Session, series: Sequence[Series], from_ns: int, to_ns: int, shown: str
) -> dict[UUID, list[Piece]]:
    """Rolled-up hours as pieces. Of matrices only the plane that is `shown` is fetched: it is all they cost."""
    lines = [one.id for one in series if one.axis is None]
    matrices = [one.id for one in series if one.axis is not None]
    pieces: dict[UUID, list[Piece]] = defaultdict(list)
    for ids, planes in ((lines, ("low", "mean", "high", "count")), (matrices, (shown, "count"))):
        alike: dict[tuple[UUID, tuple[str, ...]], list[Any]] = defaultdict(list)
        for row in queries.days(session, ids, from_ns, to_ns, planes) if ids else ():
            alike[row[0], tuple(row[2])].append(row)
        for (series_id, columns), rows in alike.items():
            pieces[series_id].append(_hours(rows, columns, planes))
    return pieces


def _hours(rows: Sequence[Any], columns: tuple[str, ...], planes: Sequence[str]) -> Piece:
    """Days on the same columns as one piece of hours; a plane that was not fetched shows what was."""
    shape = (len(rows) * HOURS, len(columns))
    fetched = {
        plane: np.frombuffer(b"".join(row[at] for row in rows), "<f4").reshape(shape)
        for at, plane in enumerate(planes, start=3)
    }
    day = np.array([row[1] for row in rows], np.int64)
    start = ((day * HOURS)[:, None] + np.arange(HOURS)).reshape(-1) * HOUR_NS
    known = fetched["count"].any(axis=1)
    kept = {plane: values[known].astype(np.float64) for plane, values in fetched.items()}
    low, mean, high = (kept.get(plane, kept[planes[0]]) for plane in ("low", "mean", "high"))
    return Piece(
        Rows(start[known], start[known] + HOUR_NS - 1, low, mean, high, kept["count"]), columns, HOUR_NS
    )


def _chunks(rows: Sequence[ChunkRow]) -> tuple[dict[UUID, list[Piece]], dict[UUID, int | str]]:
    """Chunks as pieces: opened ones one by one, the summaries of short ones together."""
    pieces: dict[UUID, list[Piece]] = defaultdict(list)
    levels: dict[UUID, int | str] = {}
    short: dict[tuple[UUID, tuple[str, ...]], list[ChunkRow]] = defaultdict(list)
    for row in rows:
        columns = tuple(row.axis_values or ("",))
        if row.data is None:
            short[row.series_id, columns].append(row)
            continue
        limit = chunks.gap_limit_ns(row.raw_step_ns)
        pieces[row.series_id].append(Piece(chunks.decode(row.data), columns, limit))
        levels[row.series_id] = row.level
    for (series_id, columns), alike in short.items():
        cube = np.frombuffer(b"".join(row.summary or b"" for row in alike), "<f4")
        cube = cube.reshape(len(alike), 4, len(columns)).astype(np.float64)
        table = Rows(
            np.array([row.t0_ns for row in alike], np.int64),
            np.array([row.t1_ns for row in alike], np.int64),
            *(cube[:, plane] for plane in range(4)),
        )
        limits = np.array([chunks.gap_limit_ns(row.raw_step_ns) for row in alike], np.int64)
        pieces[series_id].append(Piece(table, columns, limits))
        levels.setdefault(series_id, "chunks")
    return pieces, levels


def _sources(session: Session, rows: Sequence[ChunkRow]) -> dict[UUID, list[Json]]:
    """Whose bytes the newest chunks of each lane were read from."""
    newest: dict[UUID, list[ChunkRow]] = defaultdict(list)
    for row in reversed(rows):
        if len(newest[row.series_id]) < MAX_SOURCES:
            newest[row.series_id].append(row)
    shown = [row for of_lane in newest.values() for row in of_lane]
    names = queries.collector_names(session, list({r.run_collector_id for r in shown if r.run_collector_id}))
    return {
        series_id: [
            {
                "run_id": row.run_id,
                "artifact_id": row.artifact_id,
                "collector": names.get(row.run_collector_id) if row.run_collector_id else None,
            }
            for row in reversed(of_lane)
        ]
        for series_id, of_lane in newest.items()
    }
