"""Runs the migrations on the database of DATABASE_URL, or on the connection that a caller hands in."""

from __future__ import annotations

from alembic import context
from culprit.infra.models import load_all
from culprit.infra.models.base import Base
from culprit.infra.settings import get_settings
from sqlalchemy import Connection, create_engine, pool, text

LOCK = 0x43554C50  # one migration at a time

load_all()


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
    context.configure(url=get_settings().sqlalchemy_url, target_metadata=Base.metadata, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    supplied = context.config.attributes.get("connection")
    if supplied is not None:
        migrate(supplied)
    else:
        url = context.config.attributes.get("url") or get_settings().sqlalchemy_url
        engine = create_engine(url, poolclass=pool.NullPool)
        with engine.connect() as connection:
            migrate(connection)
        engine.dispose()
