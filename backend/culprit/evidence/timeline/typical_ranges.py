"""The bands behind lanes: what a service's Prometheus measured at the same hours of earlier days, run by run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.core.usual import COLUMNS, KIND, METRICS, PROM_USUAL
from culprit.models import Series
from culprit.timeline import queries

MAX_RUNS = 24
# What is fetched around a capture reaches beyond it by as much.
MARGIN_NS = 900 * 10**9
_METRIC, _ROUTE, _AT, _DAYS, _LOW, _MEDIAN, _HIGH = range(len(COLUMNS) - 1)
Json = dict[str, Any]
Key = tuple[str, str]


def of_lanes(session: Session, series: Sequence[Series], from_ns: int, to_ns: int) -> dict[UUID, list[Json]]:
    """What is usual behind each of `series` in a range, of the newest runs; the newer one where two overlap."""
    lanes: dict[Key, UUID] = {
        (one.metric, str(one.labels.get("route", ""))): one.id
        for one in series
        if one.metric in METRICS and set(one.labels) <= {"route"}
    }
    if not lanes:
        return {}
    host_id, within = series[0].host_id, (from_ns - MARGIN_NS, to_ns + MARGIN_NS)
    bands: dict[UUID, list[Json]] = defaultdict(list)
    metrics = sorted({metric for metric, _ in lanes})
    tables = queries.usual_tables(
        session, host_id, KIND, metrics, within=within, limit=MAX_RUNS * len(metrics)
    )
    for run_id, artifact_id, rows in tables:
        for key, of_lane in _by_lane(rows).items():
            if key in lanes:
                _add(bands[lanes[key]], _band(run_id, artifact_id, of_lane))
    for run_id, t0_ns, t1_ns, reason in queries.unusual(session, host_id, PROM_USUAL, within, MAX_RUNS):
        for series_id in lanes.values():
            _add(bands[series_id], _failed(run_id, t0_ns, t1_ns, reason))
    return {
        series_id: sorted(
            (one for one in of_lane if one["from_ns"] < to_ns and one["to_ns"] >= from_ns),
            key=lambda one: int(one["from_ns"]),
        )
        for series_id, of_lane in bands.items()
    }


def _by_lane(rows: Sequence[list[Any]]) -> dict[Key, list[list[Any]]]:
    found: dict[Key, list[list[Any]]] = defaultdict(list)
    for row in rows:
        found[row[_METRIC], row[_ROUTE]].append(row)
    return found


def _band(run_id: UUID, artifact_id: UUID | None, rows: Sequence[list[Any]]) -> Json:
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


def _failed(run_id: UUID, t0_ns: int, t1_ns: int, reason: Json | None) -> Json:
    return {
        "run_id": run_id,
        "artifact_id": None,
        "from_ns": t0_ns,
        "to_ns": t1_ns,
        **{name: [] for name in ("t_ns", "low", "median", "high", "days")},
        "failure": reason or {"key": "ingest.unreadable", "params": {}},
    }


def _add(bands: list[Json], new: Json) -> None:
    """Beside those of newer runs, cut to where none of them is; left out where nothing remains."""
    for one in bands:
        if new["from_ns"] <= one["to_ns"] and new["to_ns"] >= one["from_ns"]:
            if new["failure"] is not None:
                return
            keep = [i for i, t in enumerate(new["t_ns"]) if t < one["from_ns"]]
            if not keep:
                return
            for name in ("t_ns", "low", "median", "high", "days"):
                new[name] = [new[name][i] for i in keep]
            new["to_ns"] = new["t_ns"][-1]
    bands.append(new)
