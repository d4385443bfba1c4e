"""Copy rows of all tables out of a database snapshot, and into an empty database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from psycopg import sql

from culprit.evidence.retention.retain import STORE_LOCK
from culprit.infra.models import load_all
from culprit.infra.models.base import Base
from culprit.infra.settings import REPOSITORY

#: Tables that are not backed up: sessions, login links, login attempts, heartbeats, checks of this store.
EXCLUDED_TABLES = frozenset(
    {
        "blob_check", "blob_deletion", "idempotency_key", "login_attempt", "login_flow", "login_link", "login_session",
        "upload_address", "process_heartbeat",
    }
)  # fmt: skip
#: Tables whose rows show that the platform was used.
USAGE_TABLES = ("user_account", "host", "capture", "incident", "audit_entry")
# Every referenced digest. The file of an import is referenced by its run.
DIGESTS = """
    SELECT sha256 FROM artifact WHERE removed_at IS NULL
    UNION SELECT store_key FROM profile WHERE store_key IS NOT NULL AND removed_at IS NULL
    UNION SELECT tree_key FROM profile WHERE tree_key IS NOT NULL AND removed_at IS NULL
    UNION SELECT result_key FROM profile_comparison WHERE result_key IS NOT NULL AND removed_at IS NULL
    UNION SELECT spec ->> 'sha256' FROM run WHERE spec ->> 'sha256' ~ '^[0-9a-f]{64}$'
"""
Connection = psycopg.Connection[tuple[Any, ...]]


def list_tables() -> list[str]:
    """Return the tables of a backup."""
    load_all()
    return [table.name for table in Base.metadata.sorted_tables if table.name not in EXCLUDED_TABLES]


@contextmanager
def read_snapshot(url: str) -> Iterator[Connection]:
    """Yield a connection with one snapshot, and prevent the deletion of artifacts while it is open."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (STORE_LOCK,))
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection
        connection.execute("COMMIT")


def list_columns(connection: Connection, table: str) -> list[str]:
    """Return the columns of a table in the order of the database."""
    query = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
    )
    return [row[0] for row in connection.execute(query + " ORDER BY ordinal_position", (table,))]


def copy_out(connection: Connection, table: str, names: Sequence[str]) -> Iterator[bytes]:
    """Yield all rows in the text format of COPY."""
    listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    query = sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table), listed)
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for piece in copy:
            yield bytes(piece)


def copy_in(connection: Connection, table: str, names: Sequence[str], pieces: Iterable[bytes]) -> int:
    """Insert rows of `copy_out`. Return their number."""
    listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), listed)
    with connection.cursor() as cursor:
        with cursor.copy(query) as copy:
            for piece in pieces:
                copy.write(piece)
        return cursor.rowcount


def list_digests(connection: Connection) -> Iterator[str]:
    """Yield the digests of the referenced artifacts of this snapshot, in order."""
    with connection.cursor(name="digests") as cursor:
        cursor.execute(f"{DIGESTS} ORDER BY 1")
        for row in cursor:
            yield row[0]


def get_revision(connection: Connection) -> str | None:
    """Return the migration of the database, or None without tables."""
    there = connection.execute("SELECT to_regclass('public.alembic_version')").fetchone()
    if there is None or there[0] is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row[0] if row else None


def is_in_use(connection: Connection) -> str | None:
    """Return a table that shows that the database was used, or None if it is empty."""
    if get_revision(connection) is None:
        return None
    for table in USAGE_TABLES:
        query = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(table))
        row = connection.execute(query).fetchone()
        if row and row[0]:
            return table
    return None


def _alembic(url: str) -> Config:
    config = Config(REPOSITORY / "migrations" / "alembic.ini")
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    return config


def has_revision(requested: str) -> bool:
    """Return whether this version of Culprit has that migration."""
    try:
        return (
            ScriptDirectory.from_config(_alembic("postgresql://nowhere")).get_revision(requested) is not None
        )
    except CommandError:
        return False


def get_newest_revision() -> str:
    """Return the newest migration of this version of Culprit."""
    return str(ScriptDirectory.from_config(_alembic("postgresql://nowhere")).get_current_head())


def upgrade_to(url: str, now: str | None, requested: str) -> None:
    """Migrate an empty database to that revision, up or down."""
    if now == requested:
        return
    if now is not None:
        command.downgrade(_alembic(url), "base")
    command.upgrade(_alembic(url), requested)


def upgrade_schema(url: str) -> None:
    """Migrate to the newest revision."""
    command.upgrade(_alembic(url), "head")


@contextmanager
def disable_references(connection: Connection) -> Iterator[None]:
    """Drop foreign keys and add them again at the end, which checks them against the rows.

    Tables refer to each other in cycles, so no insertion order satisfies all foreign keys.
    """
    row = connection.execute(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE contype = 'f' AND connamespace = 'public'::regnamespace"
    ).fetchall()
    for table, name, _ in row:
        connection.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.SQL(table), sql.Identifier(name))
        )
    yield
    for table, name, definition in row:
        add = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}")
        connection.execute(add.format(sql.SQL(table), sql.Identifier(name), sql.SQL(definition)))


def reset_sequences(connection: Connection) -> None:
    """Set the sequences of identity columns behind their last value."""
    row = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND is_identity = 'YES'"
    ).fetchall()
    for table, column in row:
        query = sql.SQL(
            "SELECT setval(pg_get_serial_sequence(%s, %s), coalesce(max({}), 0) + 1, false) FROM {}"
        )
        connection.execute(query.format(sql.Identifier(column), sql.Identifier(table)), (table, column))
