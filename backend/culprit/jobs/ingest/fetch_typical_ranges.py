"""What is usual at the hour of a capture: the task `culprit.fetch_usual`.

It begins when what a service's Prometheus measured around the capture has been read, and asks the same queries over
the same time of day of earlier days, as the collector `prom_usual` of that run. So the band behind a lane is stored
with the run, and nobody who looks at a timeline makes the server dial. Whatever goes wrong is the outcome of this
collector alone; no diagnosis waits for it.
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.parse.prometheus_import import ASKED
from culprit.core.chunks import read_summary
from culprit.core.rollup import HIGH
from culprit.core.usual import DAY_S, DAYS, METRICS, PROM_USUAL, REACH_S
from culprit.imports.sources import PROM_IMPORT
from culprit.imports.usual import MAX_ROUTES
from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.db import Database, database
from culprit.infra.outgoing import MAX_BYTES, OutgoingError
from culprit.infra.secrets import SecretUnreadable, vault
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Run, RunCollector, SeriesChunk
from culprit.services import prometheus
from culprit.services import queries as services
from culprit.services.prometheus import Asked, Window
from culprit.workflows.fetch_service import window_of
from culprit.workflows.fetched_parts import keep_parts, readings_of, still_planned
from culprit.workflows.store_parsed import add

QUERY_S = 10.0
# For all days together. What could not be asked by then is said to be missing, and the days before it count.
TOTAL_S = 60.0
LEAST_S = 1.0
MAX_TOTAL_BYTES = 2 * MAX_BYTES
# The values of an hour are looked at together, so that one a minute tells as much as one a second.
STEP_S = 60
MAX_STEPS = 240
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be asked for one run, or why it cannot be. `lanes`: metric → the routes that the run has."""

    run_collector_id: UUID
    asked: Asked | None
    window: Window
    lanes: dict[str, list[str]]
    failure: Json | None = None


@dataclass(slots=True)
class Fetched:
    """The answers of each query from the newest day on; `ended` is a sentence where not all could be asked."""

    answers: dict[str, list[bytes]]
    started_ns: int
    ended: Json | None = None


def fetch_usual(run_id: UUID) -> str | None:
    """Fetch for one run, and read it. Returns the state of the collector, None where there was nothing to do."""
    db, blobs = database(), artifact_store()
    order = _plan(db, run_id)
    if order is None:
        return None
    fetched = _fetch(order)
    state = _settle(db, blobs, run_id, order, fetched)
    return _read(db, blobs, run_id, order.run_collector_id) if state == "done" else state


def earlier(window: Window, back: int) -> Window:
    """The same time of day `back` days before, with the reach of what is looked at together on both sides."""
    moved = back * DAY_S
    return Window(window.start_s - REACH_S - moved, window.end_s + REACH_S - moved, MAX_STEPS, STEP_S)


def _plan(db: Database, run_id: UUID) -> Order | None:
    with db.sessions() as session:
        run, planned = session.get(Run, run_id), still_planned(session, run_id, PROM_USUAL)
        if run is None or run.host is None or planned is None:
            return None
        now = session.scalar(
            select(RunCollector).where(RunCollector.run_id == run_id, RunCollector.collector == PROM_IMPORT)
        )
        asked_ns = (now.started_ns if now is not None else None) or time.time_ns()
        window = window_of(run.t0_ns or asked_ns, run.t1_ns or asked_ns, asked_ns / 1e9)
        lanes = _lanes(session, now.id) if now is not None else {}
        service = services.measured(session, run.host)
        if service is None:
            return Order(planned.id, None, window, lanes, {"key": "service.gone", "params": {}})
        if not lanes:
            return Order(planned.id, None, window, lanes, {"key": "reports.prometheus_empty", "params": {}})
        try:
            asked = prometheus.asked_of(service, services.rules(session), vault())
        except SecretUnreadable:
            why = {"key": "service.token_unreadable", "params": {"name": service.name}}
            return Order(planned.id, None, window, lanes, why)
        return Order(planned.id, asked, window, lanes)


def _lanes(session: Session, run_collector_id: UUID) -> dict[str, list[str]]:
    """The routes of each metric, those first that reach highest: the timeline draws no more of them than these."""
    query = select(SeriesChunk.metric, SeriesChunk.labels, SeriesChunk.summary).where(
        SeriesChunk.run_collector_id == run_collector_id,
        SeriesChunk.level == 0,
        SeriesChunk.metric.in_(METRICS),
        SeriesChunk.summary.is_not(None),
    )
    most: dict[str, dict[str, float]] = defaultdict(dict)
    for metric, labels, summary in session.execute(query):
        route = str(labels.get("route", ""))
        high = float(read_summary(summary or b"")[HIGH].max(initial=0.0))
        most[metric][route] = max(most[metric].get(route, 0.0), 0.0 if math.isnan(high) else high)
    return {
        metric: sorted(routes, key=lambda route: (-routes[route], route))[:MAX_ROUTES]
        for metric, routes in sorted(most.items())
    }


def _fetch(order: Order) -> Fetched:
    """Day by day from the newest. Whatever ends it, the days that came before count."""
    fetched = Fetched({}, time.time_ns(), order.failure)
    if order.asked is None:
        return fetched
    fetched.answers = {name: [] for name in order.asked.queries}
    until, size = time.monotonic() + TOTAL_S, 0
    for back in range(1, DAYS + 1):
        window = earlier(order.window, back)
        for name in order.asked.queries:
            left_s = until - time.monotonic()
            if left_s < LEAST_S or size > MAX_TOTAL_BYTES:
                key = "usual.too_large" if size > MAX_TOTAL_BYTES else "usual.too_slow"
                fetched.ended = {"key": key, "params": {"days": back - 1, "asked": DAYS}}
                return fetched
            try:
                reply = prometheus.ask(order.asked, name, window, total_s=min(QUERY_S, left_s))
            except OutgoingError as error:
                fetched.ended = error.sentence
                return fetched
            size += len(reply.body)
            # JSON has line breaks only between its tokens: without them an answer is one line.
            fetched.answers[name].append(reply.body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
    return fetched


def _told(order: Order, fetched: Fetched) -> bytes:
    """What was asked of whom, as a part of its own; the token is not in it."""
    assert order.asked is not None
    told = {
        "service": order.asked.service,
        "url": order.asked.url,
        "start_s": round(order.window.start_s, 3),
        "end_s": round(order.window.end_s, 3),
        "earlier": [
            {"start_s": round(one.start_s, 3), "end_s": round(one.end_s, 3), "step_s": one.step_s}
            for one in (earlier(order.window, back) for back in range(1, DAYS + 1))
        ],
        "latency_unit": order.asked.latency_unit,
        "queries": dict(order.asked.queries),
        "lanes": order.lanes,
        "ended": fetched.ended,
    }
    return json.dumps(told, indent=1, ensure_ascii=False).encode() + b"\n"


def _settle(db: Database, blobs: ArtifactStore, run_id: UUID, order: Order, fetched: Fetched) -> str | None:
    """Write down what came back. None where somebody else was faster. No answer at all is a failure."""
    bodies = {f"{name}.jsonl": b"".join(lines) for name, lines in fetched.answers.items() if lines}
    if bodies:
        bodies[ASKED] = _told(order, fetched)
    stored = {name: blobs.put([body], 2 * MAX_TOTAL_BYTES) for name, body in bodies.items()}
    with unit_of_work(db.sessions) as session:
        planned = still_planned(session, run_id, PROM_USUAL, lock=True)
        if planned is None:
            return None
        planned.state = "done" if bodies else "failed"
        planned.reason = None if bodies else fetched.ended
        keep_parts(session, planned, stored, fetched.started_ns)
        if order.asked is not None:
            planned.argv = f"query_range {order.asked.url}"
        return planned.state


def _read(db: Database, blobs: ArtifactStore, run_id: UUID, run_collector_id: UUID) -> str | None:
    """Read the fetched parts alone; everything else of the run stays as it was read."""
    readings = readings_of(db, blobs, run_id, run_collector_id)
    with unit_of_work(db.sessions) as session:
        for reading in readings:
            add(session, run_id, reading)
        session.flush()
        return session.get_one(RunCollector, run_collector_id).state
