"""Writes the chunks of one run, and keeps the lanes of its host and their hours in step with them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.core.chunks import HOUR_NS, read_summary
from culprit.core.rollup import HOURS, Row, combine, day_with
from culprit.kit.uuid7 import uuid7
from culprit.models import Run, Series, SeriesChunk, SeriesDay

BATCH = 500
Hours = set[tuple[UUID, int]]


@dataclass(frozen=True, slots=True)
class Lane:
    """One series of one run as the confined child wrote it, with the bytes of its chunks.

    `in_capture`: it was measured by the capture, and the span of the run is made of it. What was fetched from
    elsewhere reaches beyond.
    """

    run_collector_id: UUID
    artifact_id: UUID | None
    parser_version: int
    metric: str
    labels: Mapping[str, str]
    axis: str | None
    axis_values: list[str] | None
    chunks: list[dict[str, Any]]
    in_capture: bool = True

    @property
    def labels_key(self) -> str:
        """The canonical spelling of the labels."""
        return json.dumps(dict(self.labels), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def replace_series(session: Session, run: Run, lanes: list[Lane], *, only: UUID | None = None) -> None:
    """Put `lanes` in the place of everything that was read of this run before, or of its collector `only`."""
    stale = set()
    if run.host_id is not None:
        # One writer per host: hours are made of the chunks of all its runs.
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(str(run.host_id), 0))))
        stale = _hours_of(session, run.id, only)
    session.execute(delete(SeriesChunk).where(*_of(run.id, only)))
    ids = _lanes_of_host(session, run.host_id, lanes) if run.host_id is not None else {}
    rows: list[dict[str, Any]] = []
    for lane in lanes:
        series_id = ids.get((lane.metric, lane.labels_key))
        rows.extend(_row(run, lane, series_id, chunk) for chunk in lane.chunks)
    for at in range(0, len(rows), BATCH):
        session.execute(insert(SeriesChunk), rows[at : at + BATCH])
    measured = [chunk for lane in lanes if lane.in_capture for chunk in lane.chunks]
    if measured and only is None:
        run.t0_ns = min(chunk["t0_ns"] for chunk in measured)
        run.t1_ns = max(chunk["t1_ns"] for chunk in measured)
    fresh = {(row["series_id"], row["t0_ns"] // HOUR_NS) for row in rows if row["series_id"] is not None}
    roll_up(session, stale | fresh)


def _of(run_id: UUID, only: UUID | None) -> list[ColumnElement[bool]]:
    of_run = [SeriesChunk.run_id == run_id]
    return of_run if only is None else [*of_run, SeriesChunk.run_collector_id == only]


def _hours_of(session: Session, run_id: UUID, only: UUID | None) -> Hours:
    query = (
        select(SeriesChunk.series_id, SeriesChunk.t0_ns // HOUR_NS)
        .where(*_of(run_id, only), SeriesChunk.level == 0, SeriesChunk.series_id.is_not(None))
        .distinct()
    )
    return {(series_id, int(hour)) for series_id, hour in session.execute(query) if series_id is not None}


def _lanes_of_host(session: Session, host_id: UUID, lanes: list[Lane]) -> dict[tuple[str, str], UUID]:
    """The ids of the host's lanes by metric and labels; lanes that are new are added."""
    wanted: dict[tuple[str, str], dict[str, Any]] = {}
    for lane in lanes:
        first = min(chunk["t0_ns"] for chunk in lane.chunks)
        last = max(chunk["t1_ns"] for chunk in lane.chunks)
        row = wanted.setdefault(
            (lane.metric, lane.labels_key),
            {
                "id": uuid7(),
                "host_id": host_id,
                "metric": lane.metric,
                "labels": dict(lane.labels),
                "labels_key": lane.labels_key,
                "axis": lane.axis,
                "first_ns": first,
                "last_ns": last,
            },
        )
        row["first_ns"], row["last_ns"] = min(row["first_ns"], first), max(row["last_ns"], last)
    ids: dict[tuple[str, str], UUID] = {}
    rows = list(wanted.values())
    for at in range(0, len(rows), BATCH):
        statement = insert(Series).values(rows[at : at + BATCH])
        statement = statement.on_conflict_do_update(
            index_elements=["host_id", "metric", "labels_key"],
            set_={
                "first_ns": func.least(Series.first_ns, statement.excluded.first_ns),
                "last_ns": func.greatest(Series.last_ns, statement.excluded.last_ns),
                "axis": statement.excluded.axis,
            },
        )
        for series_id, metric, key in session.execute(
            statement.returning(Series.id, Series.metric, Series.labels_key)
        ):
            ids[metric, key] = series_id
    return ids


def _row(run: Run, lane: Lane, series_id: UUID | None, chunk: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": uuid7(),
        "series_id": series_id,
        "host_id": run.host_id,
        "run_id": run.id,
        "run_collector_id": lane.run_collector_id,
        "metric": lane.metric,
        "labels": dict(lane.labels),
        "axis": lane.axis,
        "axis_values": lane.axis_values,
        "artifact_id": lane.artifact_id,
        "parser_version": lane.parser_version,
        **chunk,
    }


def roll_up(session: Session, hours: Iterable[tuple[UUID, int]]) -> None:
    """Make these hours of these lanes anew out of the chunks that are there now."""
    wanted: dict[int, dict[UUID, set[int]]] = defaultdict(lambda: defaultdict(set))
    for series_id, hour in hours:
        wanted[hour // HOURS][series_id].add(hour)
    for day, lanes in sorted(wanted.items()):
        found = _summaries(session, day, lanes)
        stored = {
            row.series_id: row
            for row in session.scalars(
                select(SeriesDay).where(SeriesDay.day == day, SeriesDay.series_id.in_(list(lanes)))
            )
        }
        for series_id, of_lane in lanes.items():
            replaced = {hour % HOURS: combine(found[series_id, hour]) for hour in of_lane}
            _store_day(session, series_id, day, stored.get(series_id), replaced)
    session.flush()


def _summaries(
    session: Session, day: int, lanes: Mapping[UUID, set[int]]
) -> dict[tuple[UUID, int], list[Row]]:
    """Every chunk's summary within one day by lane and hour."""
    query = select(
        SeriesChunk.series_id, SeriesChunk.t0_ns, SeriesChunk.axis_values, SeriesChunk.summary
    ).where(
        SeriesChunk.series_id.in_(list(lanes)),
        SeriesChunk.t0_ns >= day * HOURS * HOUR_NS,
        SeriesChunk.t0_ns < (day + 1) * HOURS * HOUR_NS,
        SeriesChunk.level == 0,
    )
    found: dict[tuple[UUID, int], list[Row]] = defaultdict(list)
    for series_id, t0_ns, columns, summary in session.execute(query):
        hour = t0_ns // HOUR_NS
        if series_id is not None and summary is not None and hour in lanes[series_id]:
            found[series_id, hour].append(Row(tuple(columns or ("",)), read_summary(summary)))
    return found


def _store_day(
    session: Session, series_id: UUID, day: int, stored: SeriesDay | None, hours: Mapping[int, Row | None]
) -> None:
    if stored is None:
        columns, planes = day_with((), None, hours)
        stored = SeriesDay(series_id=series_id, day=day)
        session.add(stored)
    else:
        before = [stored.low, stored.mean, stored.high, stored.count]
        columns, planes = day_with(tuple(stored.axis_values), before, hours)
    stored.axis_values = list(columns)
    stored.low, stored.mean, stored.high, stored.count = planes
