"""Runs the migrations on the database of DATABASE_URL, or on the connection that a caller hands in."""

from __future__ import annotations

from alembic import context
from culprit.config import settings
from culprit.models import Base
from sqlalchemy import Connection, create_engine, pool, text

LOCK = 0x43554C50  # one migration at a time, whoever starts two


def migrate(connection: Connection) -> None:
    """Run what was asked for in one transaction."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        context.run_migrations()


if context.is_offline_mode():
    context.configure(url=settings().sqlalchemy_url, target_metadata=Base.metadata, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    given = context.config.attributes.get("connection")
    if given is not None:
        migrate(given)
    else:
        url = context.config.attributes.get("url") or settings().sqlalchemy_url
        engine = create_engine(url, poolclass=pool.NullPool)
        with engine.connect() as connection:
            migrate(connection)
        engine.dispose()
