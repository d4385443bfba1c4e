"""SELECTs of the checks of an installation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import Connection, Row, func, select, text
from sqlalchemy.orm import Session

from culprit.accounts.queries.sealed_rows import SealedRow
from culprit.accounts.sealed_columns import SEALED_TABLES
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat


def read_connection_use(connection: Connection) -> tuple[int, int]:
    """Return the number of connections of clients, and the maximum."""
    clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    used = connection.execute(text(clients)).scalar_one()
    return int(used), int(connection.execute(text("SHOW max_connections")).scalar_one())


def list_heartbeats(connection: Connection) -> Sequence[Row[str, dict[str, Any], timedelta]]:
    """Return name, details and age of each heartbeat of the last day, newest first."""
    age = func.clock_timestamp() - ProcessHeartbeat.seen_at
    return connection.execute(
        select(ProcessHeartbeat.name, ProcessHeartbeat.detail, age).order_by(ProcessHeartbeat.seen_at.desc())
    ).all()


def list_newest_sealed(session: Session) -> list[SealedRow]:
    """Return the row of each table with secrets that was created last."""
    rows = []
    for table, _ in SEALED_TABLES:
        query = select(table).where(table.ciphertext.is_not(None)).order_by(table.id.desc())
        rows.append(cast(SealedRow | None, session.scalar(query.limit(1))))
    return [row for row in rows if row is not None]


def read_platform_age(connection: Connection) -> timedelta | None:
    """Return the time since the first account was created, or None without accounts."""
    age = func.clock_timestamp() - func.min(UserAccount.created_at)
    result: timedelta | None = connection.execute(select(age)).scalar()
    return result
