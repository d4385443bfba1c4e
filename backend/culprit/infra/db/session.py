"""Database engine of the process, and the session of a request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, sessionmaker

from culprit.infra.db.admission import RequestSlots, Slot
from culprit.infra.db.unit_of_work import on_release, unit_of_work
from culprit.infra.models import load_all
from culprit.infra.settings import get_settings

#: Connections of an API process in addition to those of requests with a slot: live streams, checks of their
#: access, second sessions of logins, /readyz, and requests that released their slot and read again.
RESERVED_CONNECTIONS = 8

#: The server ends the session of a client whose machine or network is gone after 30 + 3 * 10 s, and with it the locks
#: of its transaction. By default it waits for two hours. Connections by a Unix socket have no such settings.
KEEPALIVE = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"


class Database:
    """An engine with its session factory.

    With `request_slots` it serves requests: at most that many have a session at the same time, and the pool
    has a connection for each, so that none waits for a connection in a thread.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        statement_timeout_s: float = 60.0,
        request_slots: int | None = None,
    ) -> None:
        load_all()
        self.slots = RequestSlots(request_slots) if request_slots else None
        self.engine = create_engine(
            url,
            pool_size=request_slots + RESERVED_CONNECTIONS if request_slots else pool_size,
            max_overflow=0 if request_slots else 10,
            pool_pre_ping=True,
            pool_timeout=5 if request_slots else 10,
            connect_args={
                "connect_timeout": 10,
                "application_name": "culprit",
                "options": f"-c statement_timeout={int(statement_timeout_s * 1000)} -c timezone=UTC {KEEPALIVE}",
            },
        )
        self.sessions: sessionmaker[Session] = sessionmaker(self.engine, expire_on_commit=False)

    def ping(self) -> None:
        """Run a query. Raises sqlalchemy.exc.OperationalError if the database is unreachable."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@lru_cache(maxsize=1)
def get_database() -> Database:
    """Return the database of this process (workers, scheduler, command line)."""
    return Database(get_settings().sqlalchemy_url)


async def hold_slot(request: Request) -> AsyncIterator[Slot | None]:
    """Wait for the slot of this request. Raises DatabaseBusyError."""
    db: Database = request.app.state.database
    slot = await db.slots.acquire() if db.slots else None
    try:
        yield slot
    finally:
        if slot is not None:
            slot.release()


def get_session(
    request: Request, slot: Annotated[Slot | None, Depends(hold_slot, scope="function")]
) -> Iterator[Session]:
    """Yield the unit of work of one request; it commits before the answer is sent (see `DbDep`)."""
    db: Database = request.app.state.database
    with unit_of_work(db.sessions) as session:
        if slot is not None:
            on_release(session, slot.release)
        yield session
