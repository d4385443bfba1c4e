"""Metrics of the platform at /metrics, in Prometheus text format, read at each request."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from culprit.infra.artifacts.store import StoreSpace
from culprit.infra.db.schema_version import get_head_revision, read_revision
from culprit.infra.db.session import Database
from culprit.infra.settings import Settings
from culprit.server import queries
from culprit.server.health import BACKGROUND, MAX_HEARTBEAT_AGE, is_serving

router = APIRouter(include_in_schema=False)
QUEUES = ("ssh", "parse", "default")
QUEUE_TIMEOUT_S = 1
BACKUP_EVERY_S = 300


def build_gauge(
    name: str, text: str, values: Iterable[tuple[str, float]], label: str | None = None
) -> GaugeMetricFamily:
    """Return a gauge with one value for each label, or a single value without a label."""
    gauge = GaugeMetricFamily(f"culprit_{name}", text, labels=[label] if label else None)
    for item, value in values:
        gauge.add_metric([item] if label else [], value)
    return gauge


class PlatformFigures(Collector):
    """Metrics that are read from the database, the queue and the disk at each request."""

    def __init__(self, database: Database, config: Settings) -> None:
        self.database = database
        self.config = config
        self._backup_at: float | None = None
        self._backup_read = 0.0

    def collect(self) -> Any:
        """Yield the gauges. Without the database or the queue, yield their reachability and what else is known."""
        yield from self._read_disk()
        yield from self._read_queue()
        try:
            with self.database.engine.connect() as connection:
                yield from read_database(connection, self._find_backup)
            up = 1
        except SQLAlchemyError:
            up = 0
        yield build_gauge("database_up", "Whether the database answers", [("", up)])

    def _find_backup(self, connection: Connection) -> float:
        """Return the time of the last backup in s since 1970; a long audit log is not searched at each request."""
        now = time.monotonic()
        if self._backup_at is None or now - self._backup_read > BACKUP_EVERY_S:
            at = queries.find_last_backup(connection)
            self._backup_at, self._backup_read = (at.timestamp() if at else 0.0), now
        return self._backup_at

    def _read_disk(self) -> Iterable[GaugeMetricFamily]:
        try:
            usage = shutil.disk_usage(self.config.home)
        except OSError:
            return
        low = StoreSpace(usage.total, usage.free).is_low
        yield build_gauge("home_free_bytes", "Free bytes of the disk of CULPRIT_HOME", [("", usage.free)])
        yield build_gauge("home_size_bytes", "Size of the disk of CULPRIT_HOME", [("", usage.total)])
        yield build_gauge("home_low", "Whether new captures are refused for lack of space", [("", low)])

    def _read_queue(self) -> Iterable[GaugeMetricFamily]:
        lengths: list[tuple[str, float]] = []
        try:
            with Redis.from_url(
                self.config.redis_url,
                socket_connect_timeout=QUEUE_TIMEOUT_S,
                socket_timeout=QUEUE_TIMEOUT_S,
                retry=None,
            ) as client:
                lengths = [(name, float(client.llen(name))) for name in QUEUES]
        except (RedisError, OSError, ValueError):
            pass
        yield build_gauge("queue_up", "Whether Redis or Valkey answers", [("", bool(lengths))])
        yield build_gauge("queue_jobs", "Jobs that wait in a queue", lengths, "queue")


def read_database(
    connection: Connection, find_backup: Callable[[Connection], float]
) -> Iterable[GaugeMetricFamily]:
    """Yield the gauges that are read from the database. Raises SQLAlchemyError."""
    before = datetime.now(UTC)
    at = queries.read_clock(connection)
    off_s = max((before - at).total_seconds(), (at - datetime.now(UTC)).total_seconds(), 0.0)
    yield build_gauge(
        "clock_difference_seconds", "Difference of the clocks of API and database", [("", off_s)]
    )
    current = read_revision(connection) == get_head_revision()
    yield build_gauge("migrations_current", "Whether the tables fit the program", [("", current)])
    if not current:
        return
    yield build_gauge("runs", "Runs by state", queries.count_runs(connection), "state")
    _, oldest_wait = queries.read_oldest_wait(connection)
    wait_s = oldest_wait.total_seconds() if oldest_wait else 0.0
    yield build_gauge("runs_due_oldest_seconds", "How long the oldest run that is due waits", [("", wait_s)])
    yield build_gauge(
        "processes_alive", "Processes seen in the last minute", count_processes(connection), "kind"
    )
    altered, oldest_s = queries.read_file_checks(connection)
    yield build_gauge("stored_files_altered", "Stored files that do not match their SHA-256", [("", altered)])
    yield build_gauge(
        "stored_files_oldest_check_seconds",
        "Age of the oldest of the last checks of all files",
        [("", oldest_s)],
    )
    yield build_gauge(
        "last_backup_timestamp_seconds",
        "Time of the last backup, 0 without one",
        [("", find_backup(connection))],
    )


def count_processes(connection: Connection) -> list[tuple[str, float]]:
    """Return the number of processes of each kind with a heartbeat in the last minute, 0 included."""
    rows = queries.load_heartbeats(connection, queries.read_clock(connection) - MAX_HEARTBEAT_AGE)
    return [
        (kind, float(sum(is_serving(queue, name, detail) for name, detail in rows.items())))
        for kind, queue in BACKGROUND.items()
    ]


def build_registry(database: Database, config: Settings) -> CollectorRegistry:
    """Return the metrics registry of one application."""
    figures = CollectorRegistry()
    figures.register(PlatformFigures(database, config))
    return figures


@router.get("/metrics")
def report_metrics(request: Request) -> Response:
    """Answer in Prometheus text format."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
