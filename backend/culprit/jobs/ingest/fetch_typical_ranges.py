"""The job that fetches typical values of the hour of a capture.

It starts when the metrics of the Prometheus of a service were parsed, and sends the same queries for the same
time of day on earlier days, as the collector `prom_typical` of the run. The typical range is stored with the
run, so that a timeline needs no connection. A failure affects only this collector; no diagnosis waits for it.
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.parse.reports.prometheus_import import QUERY_PART
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.imports.file_kinds import PROM_SERVICE
from culprit.domain.imports.typical_ranges import MAX_ROUTES
from culprit.domain.series.chunks import decode_summary
from culprit.domain.series.rollup import HIGH
from culprit.domain.series.typical_range import DAY_S, DAYS, METRICS, PROM_TYPICAL, WINDOW_HALF_S
from culprit.hosts.services import prometheus
from culprit.hosts.services import queries as services
from culprit.hosts.services.prometheus import PrometheusSource, QueryRange
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.network.http_client import MAX_BYTES, OutgoingError
from culprit.infra.vault import SecretUnreadableError, get_vault
from culprit.jobs.ingest.fetch_service_metrics import build_query_range
from culprit.jobs.ingest.fetched_artifacts import keep_parts, parse_stored_artifacts
from culprit.jobs.ingest.queries import (
    find_planned_collector,
    find_run_collector,
    list_summaries,
    pending_fetches,
)
from culprit.jobs.ingest.store_run import add_readings
from culprit.jobs.job import Job
from culprit.json_types import Json

QUERY_S = 10.0
# Timeout for all days together. Days that were not reached are reported as missing.
TOTAL_S = 60.0
MIN_FETCH_S = 1.0
MAX_TOTAL_BYTES = 2 * MAX_BYTES
# Values are aggregated by hour: a value per minute is sufficient.
STEP_S = 60
MAX_STEPS = 240


@dataclass(frozen=True, slots=True)
class TypicalFetchSpec:
    """The queries of one run, or the reason why there are none. `routes`: metric → the routes of the run."""

    run_collector_id: UUID
    source: PrometheusSource | None
    window: QueryRange
    routes: dict[str, list[str]]
    failure: Json | None = None


@dataclass(slots=True)
class TypicalFetchResult:
    """The answers of each query, the newest day first; `ended` is the message if days are missing."""

    answers: dict[str, list[bytes]]
    started_ns: int
    ended: Json | None = None


def fetch_typical_ranges(run_id: UUID) -> str | None:
    """Fetch and parse the typical values of one run.

    Return the state of the collector, or None if there was nothing to do.
    """
    db, blobs = get_database(), artifact_store()
    order = _plan_fetch(db, run_id)
    if order is None:
        return None
    fetched = _fetch_ranges(order)
    state = _store_result(db, blobs, run_id, order, fetched)
    return _parse_parts(db, blobs, run_id, order.run_collector_id) if state == "done" else state


def shift_query_range(window: QueryRange, back: int) -> QueryRange:
    """Return the same time of day `back` days earlier, extended by the aggregation range on both sides."""
    moved = back * DAY_S
    return QueryRange(
        window.start_s - WINDOW_HALF_S - moved, window.end_s + WINDOW_HALF_S - moved, MAX_STEPS, STEP_S
    )


def _plan_fetch(db: Database, run_id: UUID) -> TypicalFetchSpec | None:
    with db.sessions() as session:
        run, planned = session.get(Run, run_id), find_planned_collector(session, run_id, PROM_TYPICAL)
        if run is None or run.host is None or planned is None:
            return None
        now = find_run_collector(session, run_id, PROM_SERVICE)
        requested_ns = (now.started_ns if now is not None else None) or time.time_ns()
        window = build_query_range(run.t0_ns or requested_ns, run.t1_ns or requested_ns, requested_ns / 1e9)
        routes = _load_routes(session, now.id) if now is not None else {}
        service = services.find_measured_service(session, run.host)
        if service is None:
            return TypicalFetchSpec(planned.id, None, window, routes, {"key": "service.gone", "params": {}})
        if not routes:
            return TypicalFetchSpec(
                planned.id, None, window, routes, {"key": "reports.prometheus_empty", "params": {}}
            )
        try:
            source = prometheus.load_source(service, load_network_rules(session), get_vault())
        except SecretUnreadableError:
            why = {"key": "service.token_unreadable", "params": {"name": service.name}}
            return TypicalFetchSpec(planned.id, None, window, routes, why)
        return TypicalFetchSpec(planned.id, source, window, routes)


def _load_routes(session: Session, run_collector_id: UUID) -> dict[str, list[str]]:
    """Return the routes of each metric with the highest values first: the timeline shows no more of them."""
    most: dict[str, dict[str, float]] = defaultdict(dict)
    for metric, labels, summary in list_summaries(session, run_collector_id, METRICS):
        route = str(labels.get("route", ""))
        high = float(decode_summary(summary or b"")[HIGH].max(initial=0.0))
        most[metric][route] = max(most[metric].get(route, 0.0), 0.0 if math.isnan(high) else high)
    return {
        metric: sorted(routes, key=lambda route: (-routes[route], route))[:MAX_ROUTES]
        for metric, routes in sorted(most.items())
    }


def _fetch_ranges(order: TypicalFetchSpec) -> TypicalFetchResult:
    """Query day by day, the newest first. After a failure, the completed days count."""
    fetched = TypicalFetchResult({}, time.time_ns(), order.failure)
    if order.source is None:
        return fetched
    fetched.answers = {name: [] for name in order.source.queries}
    until, size = time.monotonic() + TOTAL_S, 0
    for back in range(1, DAYS + 1):
        window = shift_query_range(order.window, back)
        for name in order.source.queries:
            left_s = until - time.monotonic()
            if left_s < MIN_FETCH_S or size > MAX_TOTAL_BYTES:
                key = "typical.too_large" if size > MAX_TOTAL_BYTES else "typical.too_slow"
                fetched.ended = {"key": key, "params": {"days": back - 1, "source": DAYS}}
                return fetched
            try:
                reply = prometheus.query_range(order.source, name, window, total_s=min(QUERY_S, left_s))
            except OutgoingError as error:
                fetched.ended = error.sentence
                return fetched
            size += len(reply.body)
            # JSON has line breaks only between tokens: without them an answer is one line.
            fetched.answers[name].append(reply.body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
    return fetched


def _describe_queries(order: TypicalFetchSpec, fetched: TypicalFetchResult) -> bytes:
    """Return the queries and their server as a separate part, without the token."""
    assert order.source is not None
    reported = {
        "service": order.source.service,
        "url": order.source.url,
        "start_s": round(order.window.start_s, 3),
        "end_s": round(order.window.end_s, 3),
        "earlier": [
            {"start_s": round(item.start_s, 3), "end_s": round(item.end_s, 3), "step_s": item.step_s}
            for item in (shift_query_range(order.window, back) for back in range(1, DAYS + 1))
        ],
        "latency_unit": order.source.latency_unit,
        "queries": dict(order.source.queries),
        "routes": order.routes,
        "ended": fetched.ended,
    }
    return json.dumps(reported, indent=1, ensure_ascii=False).encode() + b"\n"


def _store_result(
    db: Database, blobs: ArtifactStore, run_id: UUID, order: TypicalFetchSpec, fetched: TypicalFetchResult
) -> str | None:
    """Store the result. Return None if another worker was faster. No answer at all is a failure."""
    bodies = {f"{name}.jsonl": b"".join(lines) for name, lines in fetched.answers.items() if lines}
    if bodies:
        bodies[QUERY_PART] = _describe_queries(order, fetched)
    stored = {name: blobs.put([body], 2 * MAX_TOTAL_BYTES) for name, body in bodies.items()}
    with unit_of_work(db.sessions) as session:
        planned = find_planned_collector(session, run_id, PROM_TYPICAL, lock=True)
        if planned is None:
            return None
        planned.state = "done" if bodies else "failed"
        planned.reason = None if bodies else fetched.ended
        keep_parts(session, planned, stored, fetched.started_ns)
        if order.source is not None:
            planned.argv = f"query_range {order.source.url}"
        return planned.state


def _parse_parts(db: Database, blobs: ArtifactStore, run_id: UUID, run_collector_id: UUID) -> str | None:
    """Parse only the fetched parts; other results of the run are unchanged."""
    readings = parse_stored_artifacts(db, blobs, run_id, run_collector_id)
    with unit_of_work(db.sessions) as session:
        for reading in readings:
            add_readings(session, run_id, reading)
        session.flush()
        return session.get_one(RunCollector, run_collector_id).state


JOB = Job(
    "culprit.fetch_typical_ranges", "parse", fetch_typical_ranges, lambda: pending_fetches(PROM_TYPICAL)
)
