"""Heartbeats: which processes of the platform are alive."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert

from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat
from culprit.infra.settings import get_settings

FORGET_AFTER = timedelta(days=1)


def record_heartbeat(db: Database, name: str, detail: dict[str, Any]) -> None:
    """Record that process `name` is alive, and delete heartbeats older than a day. Raises DBAPIError."""
    at = func.clock_timestamp()
    row = insert(ProcessHeartbeat).values(name=name, seen_at=at, detail=detail)
    row = row.on_conflict_do_update(
        index_elements=[ProcessHeartbeat.name], set_={"seen_at": at, "detail": detail}
    )
    with unit_of_work(db.sessions) as session:
        session.execute(row)
        session.execute(delete(ProcessHeartbeat).where(ProcessHeartbeat.seen_at < at - FORGET_AFTER))


def touch_alive_file() -> None:
    """Update the file for the health check of a container. It does not depend on the database."""
    path = get_settings().alive_file
    if path is not None:
        with contextlib.suppress(OSError):
            path.touch()


def remove_heartbeat(db: Database, name: str) -> None:
    """Delete the heartbeat of a process that ended normally. Raises DBAPIError."""
    with unit_of_work(db.sessions) as session:
        session.execute(delete(ProcessHeartbeat).where(ProcessHeartbeat.name == name))
