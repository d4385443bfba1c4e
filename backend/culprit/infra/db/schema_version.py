"""Refuse to work on tables that a newer version of Culprit has migrated.

Migrations only add; an older program on newer tables would write rows that the newer version does not expect. Processes
that already run during an upgrade continue; no older one starts after it.
"""

from __future__ import annotations

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from culprit import VERSION
from culprit.infra.db.session import Database
from culprit.infra.settings import REPOSITORY, Settings, get_settings


class NewerSchemaError(Exception):
    """The tables are newer than this program; the text of the exception is for the operator."""


def list_revisions() -> list[str]:
    """Return the migrations of this version, the oldest first: file names begin with their number."""
    files = (REPOSITORY / "migrations" / "versions").glob("[0-9]*_*.py")
    return sorted(file.name.split("_", 1)[0] for file in files)


def get_head_revision() -> str:
    """Return the newest migration of this version."""
    return list_revisions()[-1]  # an installation without its migrations is incomplete


def read_revision(connection: Connection) -> str | None:
    """Return the migration of the database, or None without tables."""
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar() is None:
        return None
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return str(revision) if revision is not None else None


def check_revision(revision: str | None) -> None:
    """Raise NewerSchemaError for a migration that this version does not have."""
    if revision is None or revision in list_revisions():
        return
    raise NewerSchemaError(
        f"The database has migration {revision}, which a newer version of Culprit has made. "
        f"This version ({VERSION}) has migrations up to {get_head_revision()}. It does not start, and changed nothing. "
        "To continue with this data, install the newer version again. To return to this version, restore a backup "
        "that this version has made into an empty database: ./culprit restore FILE"
    )


def check_schema(db: Database) -> None:
    """Compare the tables with this version.

    Raises:
        NewerSchemaError: they are newer.
        sqlalchemy.exc.DBAPIError: the database is unreachable.
    """
    with db.engine.connect() as connection:
        check_revision(read_revision(connection))


def refuse_newer_schema(config: Settings | None = None) -> None:
    """End a program that starts on newer tables, with a message and exit code 1.

    A program may start before its database. It then checks again, or is not ready.
    """
    db = Database((config or get_settings()).sqlalchemy_url, pool_size=1)
    try:
        check_schema(db)
    except NewerSchemaError as error:
        raise SystemExit(str(error)) from None
    except DBAPIError:
        return
    finally:
        db.close()
