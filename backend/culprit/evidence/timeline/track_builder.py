"""Build timeline tracks from stored chunks and rolled-up days, at the resolution of the request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.metrics.registry import METRICS
from culprit.domain.series import chunks, tracks
from culprit.domain.series.chunks import HOUR_NS, SeriesRows
from culprit.domain.series.rollup import HOURS
from culprit.domain.series.tracks import TimelineTrack, TrackPiece
from culprit.evidence.timeline import queries, typical_ranges
from culprit.evidence.timeline.queries import ChunkRow
from culprit.infra.models.evidence.series import StoredSeries
from culprit.json_types import Json

MAX_SOURCES = 50
# Maximum number of values in one response: about ten megabytes of JSON before compression.
MAX_NUMBERS = 900_000


def sort_key(series: StoredSeries) -> tuple[int, str, str]:
    """Sort tracks in the order of the catalog, then by name."""
    metric = METRICS.get(series.metric)
    return (metric.track.order if metric else 1 << 30, series.metric, series.labels_key)


def describe_series(series: StoredSeries) -> Json:
    """Return the style of a track in the catalog; an unknown metric is a line without unit."""
    metric = METRICS.get(series.metric)
    return {
        "metric": series.metric,
        "labels": series.labels,
        "axis": series.axis,
        "unit": metric.unit if metric else "",
        "kind": metric.track.kind if metric else "line",
    }


def build_tracks(
    session: Session, series: Sequence[StoredSeries], *, from_ns: int, to_ns: int, width: int, plane: str
) -> list[Json]:
    """Return the track of each series in the range. `width` is in pixels; `plane` (min, mean, max) is for matrices."""
    width = min(width, max(50, MAX_NUMBERS // (4 * max(1, len(series)))))
    pixel = tracks.compute_pixel_ns(from_ns, to_ns, width)
    pieces, level, rows = load_pieces(session, series, from_ns, to_ns, pixel_ns=pixel, plane=plane)
    sources = _load_sources(session, rows)
    rendered: list[Json] = []
    cells = MAX_NUMBERS // max(1, sum(series.axis is not None for series in series))
    typical = {} if pixel >= HOUR_NS else typical_ranges.load_typical_ranges(session, series, from_ns, to_ns)
    for item in series:
        bins = width
        if item.axis is not None:
            k = len(tracks.merge_columns([piece.columns for piece in pieces[item.id]]))
            bins = max(1, min(width, cells // max(1, k)))
        track = tracks.build_track(pieces[item.id], from_ns, to_ns, bins)
        rendered.append(
            {
                **describe_series(item),
                **_values_to_json(track, item.axis, from_ns, plane),
                "level": level.get(item.id, 0),
                "gaps": track.gaps,
                "chunks": sources.get(item.id, []),
                "typical": typical.get(item.id, []),
            }
        )
    return rendered


def load_pieces(
    session: Session, series: Sequence[StoredSeries], from_ns: int, to_ns: int, *, pixel_ns: int, plane: str
) -> tuple[Mapping[UUID, list[TrackPiece]], Mapping[UUID, int | str], Sequence[ChunkRow]]:
    """Return the rows of each of `series` in a range, no finer than a pixel needs: pieces, levels, chunks.

    Of matrices that are rolled up to hours, `plane` is the only one that is loaded.
    """
    ids = [item.id for item in series]
    if pixel_ns >= HOUR_NS:
        return _load_days(session, series, from_ns, to_ns, _PLANES[plane]), dict.fromkeys(ids, "hours"), ()
    rows = queries.load_chunks(session, ids, from_ns, to_ns, pixel_ns)
    return *_join_chunks(rows), rows


def _values_to_json(track: TimelineTrack, axis: str | None, from_ns: int, plane: str) -> Json:
    times = np.maximum(track.rows.start_ns, from_ns).tolist()
    if axis is not None:
        values = tracks.round_significant(getattr(track.rows, _PLANES[plane]))
        matrix = {"t_ns": times, "values": values.tolist()}
        return {"axis_values": list(track.columns), "matrix": matrix, "points": None}
    displayed = {name: tracks.round_significant(getattr(track.rows, at)) for name, at in _PLANES.items()}
    first = {name: (values[:, 0].tolist() if values.shape[1] else []) for name, values in displayed.items()}
    return {"axis_values": None, "matrix": None, "points": {"t_ns": times, **first}}


_PLANES = {"min": "low", "mean": "mean", "max": "high"}


def _load_days(
    session: Session, series: Sequence[StoredSeries], from_ns: int, to_ns: int, displayed: str
) -> dict[UUID, list[TrackPiece]]:
    """Return pieces of rolled-up hours by series. Of matrices, read only the plane `displayed`, to limit the cost."""
    lines = [series.id for series in series if series.axis is None]
    matrices = [series.id for series in series if series.axis is not None]
    pieces: dict[UUID, list[TrackPiece]] = defaultdict(list)
    for ids, planes in ((lines, ("low", "mean", "high", "count")), (matrices, (displayed, "count"))):
        by_columns: dict[tuple[UUID, tuple[str, ...]], list[Any]] = defaultdict(list)
        for row in queries.load_days(session, ids, from_ns, to_ns, planes) if ids else ():
            by_columns[row[0], tuple(row[2])].append(row)
        for (series_id, columns), rows in by_columns.items():
            pieces[series_id].append(_join_hours(rows, columns, planes))
    return pieces


def _join_hours(rows: Sequence[Any], columns: tuple[str, ...], planes: Sequence[str]) -> TrackPiece:
    """Join days with the same columns into one piece of hours. The first plane replaces planes that were not read."""
    shape = (len(rows) * HOURS, len(columns))
    fetched = {
        plane: np.frombuffer(b"".join(row[at] for row in rows), "<f4").reshape(shape)
        for at, plane in enumerate(planes, start=3)
    }
    day = np.array([row[1] for row in rows], np.int64)
    start = ((day * HOURS)[:, None] + np.arange(HOURS)).reshape(-1) * HOUR_NS
    known = fetched["count"].any(axis=1)
    stored = {plane: values[known].astype(np.float64) for plane, values in fetched.items()}
    low, mean, high = (stored.get(plane, stored[planes[0]]) for plane in ("low", "mean", "high"))
    return TrackPiece(
        SeriesRows(start[known], start[known] + HOUR_NS - 1, low, mean, high, stored["count"]),
        columns,
        HOUR_NS,
    )


def _join_chunks(rows: Sequence[ChunkRow]) -> tuple[dict[UUID, list[TrackPiece]], dict[UUID, int | str]]:
    """Return pieces and levels by series: each chunk with rows is one piece, all summaries together are another."""
    pieces: dict[UUID, list[TrackPiece]] = defaultdict(list)
    levels: dict[UUID, int | str] = {}
    short: dict[tuple[UUID, tuple[str, ...]], list[ChunkRow]] = defaultdict(list)
    for row in rows:
        columns = tuple(row.axis_values or ("",))
        if row.data is None:
            short[row.series_id, columns].append(row)
            continue
        limit = chunks.compute_gap_limit_ns(row.raw_step_ns)
        pieces[row.series_id].append(TrackPiece(chunks.decode_rows(row.data), columns, limit))
        levels[row.series_id] = row.level
    for (series_id, columns), summaries in short.items():
        cube = np.frombuffer(b"".join(row.summary or b"" for row in summaries), "<f4")
        cube = cube.reshape(len(summaries), 4, len(columns)).astype(np.float64)
        table = SeriesRows(
            np.array([row.t0_ns for row in summaries], np.int64),
            np.array([row.t1_ns for row in summaries], np.int64),
            *(cube[:, plane] for plane in range(4)),
        )
        limits = np.array([chunks.compute_gap_limit_ns(row.raw_step_ns) for row in summaries], np.int64)
        pieces[series_id].append(TrackPiece(table, columns, limits))
        levels.setdefault(series_id, "chunks")
    return pieces, levels


def _load_sources(session: Session, rows: Sequence[ChunkRow]) -> dict[UUID, list[Json]]:
    """Return the runs, artifacts and collectors of the newest `MAX_SOURCES` chunks of each series, oldest first."""
    newest: dict[UUID, list[ChunkRow]] = defaultdict(list)
    for row in reversed(rows):
        if len(newest[row.series_id]) < MAX_SOURCES:
            newest[row.series_id].append(row)
    listed = [row for of_track in newest.values() for row in of_track]
    names = queries.load_collector_names(
        session, list({r.run_collector_id for r in listed if r.run_collector_id})
    )
    return {
        series_id: [
            {
                "run_id": row.run_id,
                "artifact_id": row.artifact_id,
                "collector": names.get(row.run_collector_id) if row.run_collector_id else None,
            }
            for row in reversed(of_track)
        ]
        for series_id, of_track in newest.items()
    }
