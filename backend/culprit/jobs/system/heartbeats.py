"""Signs of life: which processes of the platform were seen when."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert

from culprit.config import settings
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import WorkerState

FORGOTTEN_AFTER = timedelta(days=1)


def seen(db: Database, name: str, detail: dict[str, Any]) -> None:
    """Notes that `name` lives, and forgets those that did not for a day. Raises DBAPIError."""
    at = func.clock_timestamp()
    note = insert(WorkerState).values(name=name, seen_at=at, detail=detail)
    note = note.on_conflict_do_update(
        index_elements=[WorkerState.name], set_={"seen_at": at, "detail": detail}
    )
    with unit_of_work(db.sessions) as session:
        session.execute(note)
        session.execute(delete(WorkerState).where(WorkerState.seen_at < at - FORGOTTEN_AFTER))


def touch_alive_file() -> None:
    """Show the health check of a container that this process works, whatever the database does."""
    path = settings().alive_file
    if path is not None:
        with contextlib.suppress(OSError):
            path.touch()


def gone(db: Database, name: str) -> None:
    """Notes that `name` has ended properly. Raises DBAPIError."""
    with unit_of_work(db.sessions) as session:
        session.execute(delete(WorkerState).where(WorkerState.name == name))
