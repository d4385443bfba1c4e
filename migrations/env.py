"""Runs the migrations on the database of DATABASE_URL, or on the connection that a caller hands in.

The command `alembic downgrade` is refused: it deletes what the older tables cannot hold. Developers of migrations add
`-x downgrade=allow`.
"""

from __future__ import annotations

from alembic import command, context
from alembic.util.exc import CommandError
from culprit.infra.db.schema_version import NewerSchemaError, check_revision, read_revision
from culprit.infra.models import load_all
from culprit.infra.models.base import Base
from culprit.infra.settings import get_settings
from sqlalchemy import Connection, create_engine, pool, text

LOCK = 0x43554C50  # one migration at a time

load_all()


def refuse_downgrade() -> None:
    """Raise CommandError for the command line `alembic downgrade`. A restore into empty tables calls the function."""
    name, *_ = getattr(context.config.cmd_opts, "cmd", None) or (None,)
    if name is command.downgrade and context.get_x_argument(as_dictionary=True).get("downgrade") != "allow":
        raise CommandError(
            "Culprit does not downgrade a database: that deletes what the older tables cannot hold. Nothing was "
            "changed. To return to an older version, restore a backup that it has made into an empty database: "
            "./culprit restore FILE"
        )


refuse_downgrade()


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
        try:
            check_revision(read_revision(connection))
        except NewerSchemaError as error:
            raise CommandError(str(error)) from None
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
