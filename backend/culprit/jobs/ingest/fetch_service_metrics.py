"""The job that queries the Prometheus of a service around a capture.

It starts when the run has ended, as its collector `prom_service`. The answers become artifacts and series, so
that each number has a source. A failure affects only this collector. The rules are evaluated again
afterwards, and a diagnosis waits for it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from uuid import UUID

from collectors.parse.reports.prometheus_import import QUERY_PART
from collectors.parse.reports.prometheus_range import split_into_lines
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.domain.imports.file_kinds import PROM_SERVICE
from culprit.hosts.services import prometheus
from culprit.hosts.services import queries as services
from culprit.hosts.services.prometheus import PrometheusSource, QueryRange
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.network.http_client import MAX_BYTES, OutgoingError
from culprit.infra.task_queue import enqueue_after_commit
from culprit.infra.vault import SecretUnreadableError, get_vault
from culprit.jobs.ingest.fetched_artifacts import keep_parts, parse_stored_artifacts
from culprit.jobs.ingest.queries import find_planned_collector, pending_fetches
from culprit.jobs.ingest.store_run import add_readings, plan_typical_fetch
from culprit.jobs.job import Job
from culprit.json_types import Json

QUERY_S = 15.0
# Bounds of the margin before and after the capture, for comparison. Within them it has the length of the capture.
MARGIN_MIN_S, MARGIN_MAX_S = 60.0, 900.0


@dataclass(frozen=True, slots=True)
class MetricFetchSpec:
    """The queries of one run, or the reason why there are none."""

    run_collector_id: UUID
    source: PrometheusSource | None
    window: QueryRange
    failure: Json | None = None


@dataclass(frozen=True, slots=True)
class MetricFetchResult:
    """The received parts by name; `failure` is the message if there are none."""

    parts: dict[str, bytes]
    started_ns: int
    failure: Json | None = None


def fetch_service_metrics(run_id: UUID) -> str | None:
    """Fetch and parse the metrics of one run.

    Return the state of the collector, or None if there was nothing to do.
    """
    db, blobs = get_database(), artifact_store()
    order = _plan_fetch(db, run_id)
    if order is None:
        return None
    fetched = _fetch_metrics(order)
    state = _store_result(db, blobs, run_id, order, fetched)
    if state == "done":
        return _parse_parts(db, blobs, run_id, order.run_collector_id)
    return state


def build_query_range(t0_ns: int, t1_ns: int, now_s: float) -> QueryRange:
    """Return the time range of a capture with its margins, not beyond now."""
    start, end = t0_ns / 1e9, t1_ns / 1e9
    margin = min(max(end - start, MARGIN_MIN_S), MARGIN_MAX_S)
    return QueryRange(start - margin, max(min(end + margin, now_s), start))


def _plan_fetch(db: Database, run_id: UUID) -> MetricFetchSpec | None:
    with db.sessions() as session:
        run, planned = session.get(Run, run_id), find_planned_collector(session, run_id, PROM_SERVICE)
        if run is None or run.host is None or planned is None:
            return None
        now_s = time.time()
        now_ns = int(now_s * 1e9)
        window = build_query_range(run.t0_ns or now_ns, run.t1_ns or now_ns, now_s)
        service = services.find_measured_service(session, run.host)
        if service is None:
            return MetricFetchSpec(planned.id, None, window, {"key": "service.gone", "params": {}})
        try:
            source = prometheus.load_source(service, load_network_rules(session), get_vault())
        except SecretUnreadableError:
            why = {"key": "service.token_unreadable", "params": {"name": service.name}}
            return MetricFetchSpec(planned.id, None, window, why)
        return MetricFetchSpec(planned.id, source, window)


def _fetch_metrics(order: MetricFetchSpec) -> MetricFetchResult:
    """Send every query once. Stop at the first connection failure: each further query would wait as long."""
    started_ns = time.time_ns()
    if order.source is None:
        return MetricFetchResult({}, started_ns, order.failure)
    parts = {QUERY_PART: _describe_queries(order.source, order.window)}
    for name in order.source.queries:
        try:
            reply = prometheus.query_range(order.source, name, order.window, total_s=QUERY_S)
        except OutgoingError as error:
            return MetricFetchResult({}, started_ns, error.sentence)
        parts[f"{name}.json"] = split_into_lines(reply.body)
    return MetricFetchResult(parts, started_ns)


def _describe_queries(prometheus_source: PrometheusSource, window: QueryRange) -> bytes:
    """Return the queries and their server as a separate part, without the token."""
    reported = {
        "service": prometheus_source.service,
        "url": prometheus_source.url,
        "start_s": round(window.start_s, 3),
        "end_s": round(window.end_s, 3),
        "step_s": window.step_s,
        "latency_unit": prometheus_source.latency_unit,
        "queries": dict(prometheus_source.queries),
    }
    return json.dumps(reported, indent=1, ensure_ascii=False).encode() + b"\n"


def _store_result(
    db: Database, blobs: ArtifactStore, run_id: UUID, order: MetricFetchSpec, fetched: MetricFetchResult
) -> str | None:
    """Store the result. Return None if another worker was faster."""
    stored = {name: blobs.put([body], 2 * MAX_BYTES) for name, body in fetched.parts.items()}
    with unit_of_work(db.sessions) as session:
        planned = find_planned_collector(session, run_id, PROM_SERVICE, lock=True)
        if planned is None:
            return None
        planned.state = "failed" if fetched.failure else "done"
        planned.reason = fetched.failure
        keep_parts(session, planned, stored, fetched.started_ns)
        if order.source is not None:
            planned.argv = f"query_range {order.source.url}"
        if planned.state == "failed":
            enqueue_after_commit(session, "culprit.evaluate_run", run_id)
        return planned.state


def _parse_parts(db: Database, blobs: ArtifactStore, run_id: UUID, run_collector_id: UUID) -> str | None:
    """Parse only the fetched parts; other results of the run are unchanged."""
    readings = parse_stored_artifacts(db, blobs, run_id, run_collector_id)
    with unit_of_work(db.sessions) as session:
        for reading in readings:
            add_readings(session, run_id, reading)
        session.flush()
        enqueue_after_commit(session, "culprit.evaluate_run", run_id)
        state = session.get_one(RunCollector, run_collector_id).state
        if state == "done" and plan_typical_fetch(session, run_id):
            enqueue_after_commit(session, "culprit.fetch_typical_ranges", run_id)
        return state


JOB = Job(
    "culprit.fetch_service_metrics", "parse", fetch_service_metrics, lambda: pending_fetches(PROM_SERVICE)
)
