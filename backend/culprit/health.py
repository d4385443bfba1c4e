"""Is it alive, is it ready, and in figures: /healthz, /readyz and /metrics; no login, no secrets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from culprit.config import REPOSITORY, Settings
from culprit.infra.db import Database
from culprit.infra.sandbox import get_sandbox
from culprit.kit.clock import now
from culprit.models import Run, WorkerState

router = APIRouter(include_in_schema=False)
ALIVE = timedelta(seconds=60)
log = structlog.get_logger("culprit.health")


def head_revision() -> str:
    """The newest migration in this checkout: they are numbered, and their files begin with the number."""
    files = sorted((REPOSITORY / "migrations" / "versions").glob("[0-9]*_*.py"))
    return files[-1].name.split("_", 1)[0] if files else ""


@router.get("/healthz")
def healthz() -> PlainTextResponse:
    """This process answers."""
    return PlainTextResponse("ok\n")


@router.get("/readyz")
def readyz(request: Request) -> JSONResponse:
    """200 while requests can be served (`ready`, or `degraded` without broker or worker), else 503."""
    settings: Settings = request.app.state.settings
    checks = _database(request.app.state.database) | {"broker": _broker(settings)}
    served = checks["database"] == "ok" and checks["migrations"] == "ok"
    whole = all(value == "ok" for value in checks.values())
    state = "ready" if whole else "degraded" if served else "not_ready"
    answer = {"state": state, "checks": checks, "sandbox": get_sandbox().describe()}
    return JSONResponse(answer, 200 if served else 503)


def _database(database: Database) -> dict[str, str]:
    checks = {"database": "away", "migrations": "unknown", "worker": "unknown", "scheduler": "unknown"}
    try:
        with database.engine.connect() as connection:
            checks["database"] = "ok"
            if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar() is None:
                return checks | {"migrations": "missing"}
            revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
            if revision != head_revision():
                return checks | {"migrations": f"at {revision or 'nothing'}, needs {head_revision()}"}
            checks["migrations"] = "ok"
            recent = select(WorkerState.name).where(WorkerState.seen_at > now() - ALIVE)
            kinds = {str(name).split("@", 1)[0] for name in connection.execute(recent).scalars()}
            for kind in ("worker", "scheduler"):
                checks[kind] = "ok" if kind in kinds else "not_seen"
    except SQLAlchemyError as error:
        log.warning("database_away", error=type(error).__name__)
    return checks


def _broker(settings: Settings) -> str:
    try:
        with Redis.from_url(settings.redis_url, socket_connect_timeout=1, socket_timeout=1) as redis:
            redis.ping()
    except (RedisError, OSError):
        return "away"
    return "ok"


class PlatformFigures(Collector):
    """Figures that are read from the database when somebody asks."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def collect(self) -> Any:
        """Runs by state, and living processes by kind. Nothing while the database is away."""
        runs = GaugeMetricFamily("culprit_runs", "Runs by state", labels=["state"])
        alive = GaugeMetricFamily(
            "culprit_processes_alive", "Processes seen in the last minute", labels=["kind"]
        )
        up = GaugeMetricFamily("culprit_database_up", "Whether the database answers")
        try:
            with self.database.engine.connect() as connection:
                for state, count in connection.execute(select(Run.state, func.count()).group_by(Run.state)):
                    runs.add_metric([state], count)
                kind = func.split_part(WorkerState.name, "@", 1)
                living = select(kind, func.count()).where(WorkerState.seen_at > now() - ALIVE).group_by(kind)
                for name, count in connection.execute(living):
                    alive.add_metric([name], count)
            up.add_metric([], 1)
        except SQLAlchemyError:
            up.add_metric([], 0)
        return [runs, alive, up]


def registry(database: Database) -> CollectorRegistry:
    """The figures of one application."""
    figures = CollectorRegistry()
    figures.register(PlatformFigures(database))
    return figures


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """In Prometheus' text format."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
