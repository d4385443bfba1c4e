"""Store the chunks of one run, and update the series of its host and their hourly summaries."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.domain.series.chunks import HOUR_NS, decode_summary
from culprit.domain.series.rollup import HOURS, SummaryRow, combine_rows, update_day
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.evidence.series_day import SeriesDay
from culprit.jobs.ingest.locks import lock_host_series
from culprit.jobs.ingest.queries import list_chunk_summaries, list_hours, list_series_days

BATCH = 500
Hours = set[tuple[UUID, int]]


@dataclass(frozen=True, slots=True)
class SeriesWrite:
    """One series of one run from the sandboxed child, with the bytes of its chunks.

    `in_capture`: the capture measured it, and it counts for the time range of the run. Fetched series extend
    beyond it.
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
        """Return the canonical form of the labels."""
        return json.dumps(dict(self.labels), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def replace_series(
    session: Session, run: Run, series_list: list[SeriesWrite], *, only: UUID | None = None
) -> None:
    """Replace all series of this run, or those of its collector `only`."""
    stale = set()
    if run.host_id is not None:
        # One writer per host: hourly summaries use the chunks of all its runs.
        lock_host_series(session, run.host_id)
        stale = _list_hours(session, run.id, only)
    session.execute(delete(SeriesChunk).where(*_build_chunk_conditions(run.id, only)))
    ids = _upsert_host_series(session, run.host_id, series_list) if run.host_id is not None else {}
    rows: list[dict[str, Any]] = []
    for series in series_list:
        series_id = ids.get((series.metric, series.labels_key))
        rows.extend(_build_row(run, series, series_id, chunk) for chunk in series.chunks)
    for at in range(0, len(rows), BATCH):
        session.execute(insert(SeriesChunk), rows[at : at + BATCH])
    measured = [chunk for series in series_list if series.in_capture for chunk in series.chunks]
    if measured and only is None:
        run.t0_ns = min(chunk["t0_ns"] for chunk in measured)
        run.t1_ns = max(chunk["t1_ns"] for chunk in measured)
    fresh = {(row["series_id"], row["t0_ns"] // HOUR_NS) for row in rows if row["series_id"] is not None}
    roll_up(session, stale | fresh)


def _build_chunk_conditions(run_id: UUID, only: UUID | None) -> list[ColumnElement[bool]]:
    of_run = [SeriesChunk.run_id == run_id]
    return of_run if only is None else [*of_run, SeriesChunk.run_collector_id == only]


def _list_hours(session: Session, run_id: UUID, only: UUID | None) -> Hours:
    rows = list_hours(session, _build_chunk_conditions(run_id, only), HOUR_NS)
    return {(series_id, int(hour)) for series_id, hour in rows if series_id is not None}


def _upsert_host_series(
    session: Session, host_id: UUID, series_list: list[SeriesWrite]
) -> dict[tuple[str, str], UUID]:
    """Return the IDs of the host's series by metric and labels; add new series."""
    requested: dict[tuple[str, str], dict[str, Any]] = {}
    for series in series_list:
        first = min(chunk["t0_ns"] for chunk in series.chunks)
        last = max(chunk["t1_ns"] for chunk in series.chunks)
        row = requested.setdefault(
            (series.metric, series.labels_key),
            {
                "id": new_uuid7(),
                "host_id": host_id,
                "metric": series.metric,
                "labels": dict(series.labels),
                "labels_key": series.labels_key,
                "axis": series.axis,
                "first_ns": first,
                "last_ns": last,
            },
        )
        row["first_ns"], row["last_ns"] = min(row["first_ns"], first), max(row["last_ns"], last)
    ids: dict[tuple[str, str], UUID] = {}
    rows = list(requested.values())
    for at in range(0, len(rows), BATCH):
        statement = insert(StoredSeries).values(rows[at : at + BATCH])
        statement = statement.on_conflict_do_update(
            index_elements=["host_id", "metric", "labels_key"],
            set_={
                "first_ns": func.least(StoredSeries.first_ns, statement.excluded.first_ns),
                "last_ns": func.greatest(StoredSeries.last_ns, statement.excluded.last_ns),
                "axis": statement.excluded.axis,
            },
        )
        for series_id, metric, key in session.execute(
            statement.returning(StoredSeries.id, StoredSeries.metric, StoredSeries.labels_key)
        ):
            ids[metric, key] = series_id
    return ids


def _build_row(
    run: Run, series: SeriesWrite, series_id: UUID | None, chunk: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "id": new_uuid7(),
        "series_id": series_id,
        "host_id": run.host_id,
        "run_id": run.id,
        "run_collector_id": series.run_collector_id,
        "metric": series.metric,
        "labels": dict(series.labels),
        "axis": series.axis,
        "axis_values": series.axis_values,
        "artifact_id": series.artifact_id,
        "parser_version": series.parser_version,
        **chunk,
    }


def roll_up(session: Session, hours: Iterable[tuple[UUID, int]]) -> None:
    """Compute these hours of these series from the existing chunks."""
    requested: dict[int, dict[UUID, set[int]]] = defaultdict(lambda: defaultdict(set))
    for series_id, hour in hours:
        requested[hour // HOURS][series_id].add(hour)
    for day, series_list in sorted(requested.items()):
        result = _load_summaries(session, day, series_list)
        stored = {row.series_id: row for row in list_series_days(session, day, list(series_list))}
        for series_id, of_series in series_list.items():
            replaced = {hour % HOURS: combine_rows(result[series_id, hour]) for hour in of_series}
            _store_day(session, series_id, day, stored.get(series_id), replaced)
    session.flush()


def _load_summaries(
    session: Session, day: int, series_list: Mapping[UUID, set[int]]
) -> dict[tuple[UUID, int], list[SummaryRow]]:
    """Return the summary of every chunk of one day by series and hour."""
    rows = list_chunk_summaries(
        session, list(series_list), day * HOURS * HOUR_NS, (day + 1) * HOURS * HOUR_NS
    )
    summary_rows: dict[tuple[UUID, int], list[SummaryRow]] = defaultdict(list)
    for series_id, t0_ns, columns, summary in rows:
        hour = t0_ns // HOUR_NS
        if series_id is not None and summary is not None and hour in series_list[series_id]:
            summary_rows[series_id, hour].append(SummaryRow(tuple(columns or ("",)), decode_summary(summary)))
    return summary_rows


def _store_day(
    session: Session,
    series_id: UUID,
    day: int,
    stored: SeriesDay | None,
    hours: Mapping[int, SummaryRow | None],
) -> None:
    if stored is None:
        columns, planes = update_day((), None, hours)
        stored = SeriesDay(series_id=series_id, day=day)
        session.add(stored)
    else:
        before = [stored.low, stored.mean, stored.high, stored.count]
        columns, planes = update_day(tuple(stored.axis_values), before, hours)
    stored.axis_values = list(columns)
    stored.low, stored.mean, stored.high, stored.count = planes
