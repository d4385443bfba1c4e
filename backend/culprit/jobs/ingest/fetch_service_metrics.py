"""What a service's Prometheus measured around a capture: the task `culprit.fetch_service`.

It begins when the run has ended, as the collector `prom_import` of that run. Its answers become artifacts and
series like what came from the host, so that each number can be cited. Whatever goes wrong is the outcome of this one
collector and changes nothing else of the run. Rules are asked again once it is there, and a diagnosis waits for it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from collectors.parse.prometheus_import import ASKED
from collectors.parse.prometheus_range import lined
from culprit.imports.sources import PROM_IMPORT
from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.broker import announce
from culprit.infra.db import Database, database
from culprit.infra.outgoing import MAX_BYTES, OutgoingError
from culprit.infra.secrets import SecretUnreadable, vault
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Run, RunCollector
from culprit.services import prometheus
from culprit.services import queries as services
from culprit.services.prometheus import Asked, Window
from culprit.workflows.fetched_parts import keep_parts, readings_of, still_planned
from culprit.workflows.store_parsed import add, plan_usual

QUERY_S = 15.0
# As long before and after as the capture itself, so that there is something to compare it with.
MARGIN_MIN_S, MARGIN_MAX_S = 60.0, 900.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be asked for one run, or why it cannot be."""

    run_collector_id: UUID
    asked: Asked | None
    window: Window
    failure: Json | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """The parts that came back, by name; `failure` is a sentence where they did not."""

    parts: dict[str, bytes]
    started_ns: int
    failure: Json | None = None


def fetch_service(run_id: UUID) -> str | None:
    """Fetch for one run, and read it. Returns the state of the collector, None where there was nothing to do."""
    db, blobs = database(), artifact_store()
    order = _plan(db, run_id)
    if order is None:
        return None
    fetched = _fetch(order)
    state = _settle(db, blobs, run_id, order, fetched)
    if state == "done":
        return _read(db, blobs, run_id, order.run_collector_id)
    return state


def window_of(t0_ns: int, t1_ns: int, now_s: float) -> Window:
    """The span of a capture with its margins; never beyond now."""
    start, end = t0_ns / 1e9, t1_ns / 1e9
    margin = min(max(end - start, MARGIN_MIN_S), MARGIN_MAX_S)
    return Window(start - margin, max(min(end + margin, now_s), start))


def _plan(db: Database, run_id: UUID) -> Order | None:
    with db.sessions() as session:
        run, planned = session.get(Run, run_id), still_planned(session, run_id, PROM_IMPORT)
        if run is None or run.host is None or planned is None:
            return None
        now_s = time.time()
        now_ns = int(now_s * 1e9)
        window = window_of(run.t0_ns or now_ns, run.t1_ns or now_ns, now_s)
        service = services.measured(session, run.host)
        if service is None:
            return Order(planned.id, None, window, {"key": "service.gone", "params": {}})
        try:
            asked = prometheus.asked_of(service, services.rules(session), vault())
        except SecretUnreadable:
            why = {"key": "service.token_unreadable", "params": {"name": service.name}}
            return Order(planned.id, None, window, why)
        return Order(planned.id, asked, window)


def _fetch(order: Order) -> Fetched:
    """Every query once. The first that does not reach a Prometheus ends it: the others would wait as long."""
    started_ns = time.time_ns()
    if order.asked is None:
        return Fetched({}, started_ns, order.failure)
    parts = {ASKED: _told(order.asked, order.window)}
    for name in order.asked.queries:
        try:
            reply = prometheus.ask(order.asked, name, order.window, total_s=QUERY_S)
        except OutgoingError as error:
            return Fetched({}, started_ns, error.sentence)
        parts[f"{name}.json"] = lined(reply.body)
    return Fetched(parts, started_ns)


def _told(asked: Asked, window: Window) -> bytes:
    """What was asked of whom, as a part of its own; the token is not in it."""
    told = {
        "service": asked.service,
        "url": asked.url,
        "start_s": round(window.start_s, 3),
        "end_s": round(window.end_s, 3),
        "step_s": window.step_s,
        "latency_unit": asked.latency_unit,
        "queries": dict(asked.queries),
    }
    return json.dumps(told, indent=1, ensure_ascii=False).encode() + b"\n"


def _settle(db: Database, blobs: ArtifactStore, run_id: UUID, order: Order, fetched: Fetched) -> str | None:
    """Write down what came back. None where somebody else was faster."""
    stored = {name: blobs.put([body], 2 * MAX_BYTES) for name, body in fetched.parts.items()}
    with unit_of_work(db.sessions) as session:
        planned = still_planned(session, run_id, PROM_IMPORT, lock=True)
        if planned is None:
            return None
        planned.state = "failed" if fetched.failure else "done"
        planned.reason = fetched.failure
        keep_parts(session, planned, stored, fetched.started_ns)
        if order.asked is not None:
            planned.argv = f"query_range {order.asked.url}"
        if planned.state == "failed":
            announce(session, "culprit.evaluate_run", run_id)
        return planned.state


def _read(db: Database, blobs: ArtifactStore, run_id: UUID, run_collector_id: UUID) -> str | None:
    """Read the fetched parts alone; everything else of the run stays as it was read."""
    readings = readings_of(db, blobs, run_id, run_collector_id)
    with unit_of_work(db.sessions) as session:
        for reading in readings:
            add(session, run_id, reading)
        session.flush()
        announce(session, "culprit.evaluate_run", run_id)
        state = session.get_one(RunCollector, run_collector_id).state
        if state == "done" and plan_usual(session, run_id):
            announce(session, "culprit.fetch_usual", run_id)
        return state
