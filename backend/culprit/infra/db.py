"""The database: one engine per process, and the session of a request."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, sessionmaker

from culprit.config import settings
from culprit.kit.unit_of_work import unit_of_work


class Database:
    """An engine with its session factory. `close` gives the connections back."""

    def __init__(self, url: str, *, pool_size: int = 10, statement_timeout_s: float = 60.0) -> None:
        self.engine = create_engine(
            url,
            pool_size=pool_size,
            max_overflow=10,
            pool_pre_ping=True,
            pool_timeout=10,
            connect_args={
                "connect_timeout": 10,
                "application_name": "culprit",
                "options": f"-c statement_timeout={int(statement_timeout_s * 1000)} -c timezone=UTC",
            },
        )
        self.sessions: sessionmaker[Session] = sessionmaker(self.engine, expire_on_commit=False)

    def ping(self) -> None:
        """Raises sqlalchemy.exc.OperationalError where the database is away."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@lru_cache(maxsize=1)
def database() -> Database:
    """The database of this process (workers, scheduler, command line)."""
    return Database(settings().sqlalchemy_url)


def get_session(request: Request) -> Iterator[Session]:
    """The unit of work of one request; it commits before the answer is sent (see `Db`)."""
    db: Database = request.app.state.database
    with unit_of_work(db.sessions) as session:
        yield session


# scope="function": with FastAPI's default the commit would happen after the answer was sent, and a client
# that reads at once what it has just written would not find it.
Db = Annotated[Session, Depends(get_session, scope="function")]
