"""Advisory locks of PostgreSQL, which are held until the end of a transaction."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session


def lock_transaction(session: Session, key: int) -> None:
    """Wait for the lock `key` and hold it until the transaction ends."""
    session.execute(select(func.pg_advisory_xact_lock(key)))


def try_lock_transaction(session: Session, key: int) -> bool:
    """Hold the lock `key` until the transaction ends; return False if another transaction holds it."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(key))))
