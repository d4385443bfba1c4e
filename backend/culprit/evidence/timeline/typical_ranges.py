"""Load typical ranges of tracks: values that Prometheus measured at the same hours of earlier days, by run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.series.typical_range import COLUMNS, KIND, METRICS, PROM_TYPICAL
from culprit.evidence.timeline import queries
from culprit.infra.models.evidence.series import StoredSeries
from culprit.json_types import Json

MAX_RUNS = 24
# Prometheus data is fetched from this long before a capture until this long after it.
MARGIN_NS = 900 * 10**9
_METRIC, _ROUTE, _AT, _DAYS, _LOW, _MEDIAN, _HIGH = range(len(COLUMNS) - 1)
Key = tuple[str, str]


def load_typical_ranges(
    session: Session, series: Sequence[StoredSeries], from_ns: int, to_ns: int
) -> dict[UUID, list[Json]]:
    """Return the typical ranges of each series in a time range, by series ID. Newer runs replace older ones."""
    tracks: dict[Key, UUID] = {
        (series.metric, str(series.labels.get("route", ""))): series.id
        for series in series
        if series.metric in METRICS and set(series.labels) <= {"route"}
    }
    if not tracks:
        return {}
    host_id, within = series[0].host_id, (from_ns - MARGIN_NS, to_ns + MARGIN_NS)
    bands: dict[UUID, list[Json]] = defaultdict(list)
    metrics = sorted({metric for metric, _ in tracks})
    tables = queries.load_typical_tables(
        session, host_id, KIND, metrics, within=within, limit=MAX_RUNS * len(metrics)
    )
    for run_id, artifact_id, rows in tables:
        for key, of_track in _group_by_track(rows).items():
            if key in tracks:
                _append_range(bands[tracks[key]], _range_to_json(run_id, artifact_id, of_track))
    for run_id, t0_ns, t1_ns, reason in queries.list_failed_fetches(
        session, host_id, PROM_TYPICAL, within, MAX_RUNS
    ):
        for series_id in tracks.values():
            _append_range(bands[series_id], _failure_to_json(run_id, t0_ns, t1_ns, reason))
    return {
        series_id: sorted(
            (item for item in of_track if item["from_ns"] < to_ns and item["to_ns"] >= from_ns),
            key=lambda item: int(item["from_ns"]),
        )
        for series_id, of_track in bands.items()
    }


def _group_by_track(rows: Sequence[list[Any]]) -> dict[Key, list[list[Any]]]:
    result: dict[Key, list[list[Any]]] = defaultdict(list)
    for row in rows:
        result[row[_METRIC], row[_ROUTE]].append(row)
    return result


def _range_to_json(run_id: UUID, artifact_id: UUID | None, rows: Sequence[list[Any]]) -> Json:
    times = [round(datetime.fromisoformat(row[_AT]).timestamp() * 1e3) * 1_000_000 for row in rows]
    return {
        "run_id": run_id,
        "artifact_id": artifact_id,
        "from_ns": times[0],
        "to_ns": times[-1],
        "t_ns": times,
        "low": [row[_LOW] for row in rows],
        "median": [row[_MEDIAN] for row in rows],
        "high": [row[_HIGH] for row in rows],
        "days": [row[_DAYS] for row in rows],
        "failure": None,
    }


def _failure_to_json(run_id: UUID, t0_ns: int, t1_ns: int, reason: Json | None) -> Json:
    return {
        "run_id": run_id,
        "artifact_id": None,
        "from_ns": t0_ns,
        "to_ns": t1_ns,
        **{name: [] for name in ("t_ns", "low", "median", "high", "days")},
        "failure": reason or {"key": "ingest.unreadable", "params": {}},
    }


def _append_range(bands: list[Json], new: Json) -> None:
    """Append the part of a range that starts before the overlapping ranges of newer runs, if any is left."""
    for band in bands:
        if new["from_ns"] <= band["to_ns"] and new["to_ns"] >= band["from_ns"]:
            if new["failure"] is not None:
                return
            keep = [i for i, t in enumerate(new["t_ns"]) if t < band["from_ns"]]
            if not keep:
                return
            for name in ("t_ns", "low", "median", "high", "days"):
                new[name] = [new[name][i] for i in keep]
            new["to_ns"] = new["t_ns"][-1]
    bands.append(new)
