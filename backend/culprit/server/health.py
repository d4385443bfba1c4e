"""Liveness and readiness: /healthz and /readyz, without login and without secrets."""

from __future__ import annotations

import json
import os
import socket
from datetime import timedelta
from typing import Any

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from culprit.infra.db.clock import utc_now
from culprit.infra.db.schema_version import get_head_revision, read_revision
from culprit.infra.db.session import Database
from culprit.infra.sandbox.confinement import get_sandbox
from culprit.infra.settings import Settings
from culprit.server.queries import load_heartbeats

router = APIRouter(include_in_schema=False)
MAX_HEARTBEAT_AGE = timedelta(seconds=60)
RUNNING = "running.json"  # in CULPRIT_HOME, written by the supervisor of `./culprit up`
# Background processes, with the queue that a worker serves.
BACKGROUND = {"worker-ssh": "ssh", "worker-parse": "parse", "scheduler": None}
CHECKED = {name.replace("-", "_"): name for name in BACKGROUND}
Part = dict[str, Any]
SignsOfLife = dict[str, dict[str, Any]]
log = structlog.get_logger("culprit.server.health")


@router.get("/healthz")
def report_liveness() -> PlainTextResponse:
    """Answer that this process runs."""
    return PlainTextResponse("ok\n")


@router.get("/readyz")
def report_readiness(request: Request) -> JSONResponse:
    """Answer 200 while requests can be served (`ready`, or `degraded` without broker or a worker), else 503.

    Only the database decides: a dead worker must not remove the API from a load balancer, because all API
    processes would be removed at the same time. `parts` lists for each process its state, since when, its
    restarts and its last end.
    """
    settings: Settings = request.app.state.settings
    checks, seen = _check_database(request.app.state.database)
    parts = list_parts(settings, seen)
    checks |= {check: str(parts[part]["state"]) for check, part in CHECKED.items()}
    checks["broker"] = _check_broker(settings)
    served = checks["database"] == "ok" and checks["migrations"] == "ok"
    ready = all(value == "ok" for value in (*checks.values(), *(part["state"] for part in parts.values())))
    state = "ready" if ready else "degraded" if served else "not_ready"
    body = {
        "state": state,
        "checks": checks,
        "parts": parts,
        "sandbox": get_sandbox().describe(),
        "at": utc_now().isoformat(),
    }
    return JSONResponse(body, 200 if served else 503, {"Cache-Control": "no-store"})


def list_parts(settings: Settings, seen: SignsOfLife | None) -> dict[str, Part]:
    """Return the state of each process by name. `seen` is None while heartbeats cannot be read.

    Below `./culprit up` the supervisor knows immediately what ended; otherwise heartbeats, which are up to a
    minute old, decide.
    """
    supervised = _read_supervised(settings)
    parts = {name: _hide_details(noted) for name, (noted, _) in supervised.items()}
    for name, queue in BACKGROUND.items():
        if name not in supervised:
            known = seen is not None and any(is_serving(queue, *row) for row in seen.items())
            parts[name] = _hide_details(
                {"state": "unknown" if seen is None else "ok" if known else "not_seen"}
            )
            continue
        _, pid = supervised[name]
        sign = f"{name.partition('-')[0]}@{socket.gethostname()}:{pid}"
        if parts[name]["state"] == "ok" and seen is not None and sign not in seen:
            parts[name]["state"] = "starting"
    return parts


def is_serving(queue: str | None, name: str, detail: dict[str, Any]) -> bool:
    """Return whether the process with this heartbeat serves `queue`; None means that it is a scheduler."""
    if queue is None:
        return name.startswith("scheduler@")
    return name.startswith("worker@") and queue in detail.get("queues", [])


def _hide_details(noted: dict[str, Any]) -> Part:
    """Return what may be visible without login: no logs, and no messages of the operating system."""
    stored = ("state", "since", "restarts", "signal", "exit_code", "out_of_memory", "next_start_at")
    return {"restarts": 0} | {name: noted[name] for name in stored if noted.get(name) not in (None, False)}


def _read_supervised(settings: Settings) -> dict[str, tuple[dict[str, Any], int | None]]:
    """Return the supervisor's record of each part with its process; empty without a supervisor."""
    try:
        document = json.loads((settings.home / RUNNING).read_text("utf-8"))
        if document["supervisor"]["pid"] != os.getppid():
            return {}
        noted, processes = document.get("parts", {}), document.get("processes", {})
        return {
            name: (noted.get(name, {"state": "ok"}), processes.get(name, {}).get("pid"))
            for name in sorted({*noted, *processes})
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _check_database(database: Database) -> tuple[dict[str, str], SignsOfLife | None]:
    checks = {"database": "away", "migrations": "unknown"}
    try:
        with database.engine.connect() as connection:
            checks["database"] = "ok"
            revision = read_revision(connection)
            if revision is None:
                return checks | {"migrations": "missing"}, None
            if revision != get_head_revision():
                return checks | {"migrations": f"at {revision}, needs {get_head_revision()}"}, None
            checks["migrations"] = "ok"
            return checks, load_heartbeats(connection, utc_now() - MAX_HEARTBEAT_AGE)
    except SQLAlchemyError as error:
        log.warning("database_away", error=type(error).__name__)
    return checks, None


def _check_broker(settings: Settings) -> str:
    try:
        with Redis.from_url(settings.redis_url, socket_connect_timeout=1, socket_timeout=1) as redis:
            redis.ping()
    except (RedisError, OSError):
        return "away"
    return "ok"
