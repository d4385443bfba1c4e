"""Rows of all tables out of one moment of a database, and into an empty one."""

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

from culprit.config import REPOSITORY
from culprit.models import Base
from culprit.storage.retain import STORE_LOCK

#: What is worth nothing on another day, or lets somebody in: sessions, links to log in, tries, who is alive.
LEFT_OUT = frozenset(
    {
        "doomed_blob", "idempotency_key", "login_attempt", "login_flow", "login_link", "login_session",
        "upload_address", "worker_state",
    }
)  # fmt: skip
#: Where one row says that somebody has used it.
SIGNS = ("user_account", "host", "capture", "incident", "audit_entry")
# Every digest that a row says is there. The file that an import was made of is named by its run.
DIGESTS = """
    SELECT sha256 FROM artifact WHERE removed_at IS NULL
    UNION SELECT store_key FROM profile WHERE store_key IS NOT NULL AND removed_at IS NULL
    UNION SELECT tree_key FROM profile WHERE tree_key IS NOT NULL AND removed_at IS NULL
    UNION SELECT result_key FROM profile_diff WHERE result_key IS NOT NULL AND removed_at IS NULL
    UNION SELECT spec ->> 'sha256' FROM run WHERE spec ->> 'sha256' ~ '^[0-9a-f]{64}$'
"""
Connection = psycopg.Connection[tuple[Any, ...]]


def tables() -> list[str]:
    """The tables that a backup holds."""
    return [table.name for table in Base.metadata.sorted_tables if table.name not in LEFT_OUT]


@contextmanager
def one_moment(url: str) -> Iterator[Connection]:
    """A connection that sees one moment for as long as it is open, and keeps artifacts from being deleted so long."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (STORE_LOCK,))
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection
        connection.execute("COMMIT")


def columns(connection: Connection, table: str) -> list[str]:
    """The columns of a table as the database has them."""
    query = (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
    )
    return [row[0] for row in connection.execute(query + " ORDER BY ordinal_position", (table,))]


def copy_out(connection: Connection, table: str, names: Sequence[str]) -> Iterator[bytes]:
    """All rows, in COPY's text form."""
    listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    query = sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table), listed)
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for piece in copy:
            yield bytes(piece)


def copy_in(connection: Connection, table: str, names: Sequence[str], pieces: Iterable[bytes]) -> int:
    """Rows as `copy_out` has given them. Returns how many."""
    listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), listed)
    with connection.cursor() as cursor:
        with cursor.copy(query) as copy:
            for piece in pieces:
                copy.write(piece)
        return cursor.rowcount


def digests(connection: Connection) -> Iterator[str]:
    """What of the artifact store belongs to this moment, in order."""
    with connection.cursor(name="digests") as cursor:
        cursor.execute(f"{DIGESTS} ORDER BY 1")
        for row in cursor:
            yield row[0]


def revision(connection: Connection) -> str | None:
    """The migration that the database is at; None where it has no tables."""
    there = connection.execute("SELECT to_regclass('public.alembic_version')").fetchone()
    if there is None or there[0] is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row[0] if row else None


def in_use(connection: Connection) -> str | None:
    """A table that says somebody has used this database; None where it is empty."""
    if revision(connection) is None:
        return None
    for table in SIGNS:
        query = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(sql.Identifier(table))
        row = connection.execute(query).fetchone()
        if row and row[0]:
            return table
    return None


def _alembic(url: str) -> Config:
    config = Config(REPOSITORY / "migrations" / "alembic.ini")
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    return config


def knows(wanted: str) -> bool:
    """Whether this version of Culprit has that migration."""
    try:
        return ScriptDirectory.from_config(_alembic("postgresql://nowhere")).get_revision(wanted) is not None
    except CommandError:
        return False


def newest() -> str:
    """The newest migration of this version of Culprit."""
    return str(ScriptDirectory.from_config(_alembic("postgresql://nowhere")).get_current_head())


def bring_to(url: str, now: str | None, wanted: str) -> None:
    """An empty database to the tables of that migration, up or down."""
    if now == wanted:
        return
    if now is not None:
        command.downgrade(_alembic(url), "base")
    command.upgrade(_alembic(url), wanted)


def bring_up(url: str) -> None:
    """To the newest migration."""
    command.upgrade(_alembic(url), "head")


@contextmanager
def without_references(connection: Connection) -> Iterator[None]:
    """Foreign keys away, and again at the end, which holds every one of them against the rows.

    Tables refer to each other in circles, so no order of filling them would do.
    """
    found = connection.execute(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE contype = 'f' AND connamespace = 'public'::regnamespace"
    ).fetchall()
    for table, name, _ in found:
        connection.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.SQL(table), sql.Identifier(name))
        )
    yield
    for table, name, definition in found:
        add = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}")
        connection.execute(add.format(sql.SQL(table), sql.Identifier(name), sql.SQL(definition)))


def count_on(connection: Connection) -> None:
    """Numbers that the database gives go on behind the last one."""
    found = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND is_identity = 'YES'"
    ).fetchall()
    for table, column in found:
        query = sql.SQL(
            "SELECT setval(pg_get_serial_sequence(%s, %s), coalesce(max({}), 0) + 1, false) FROM {}"
        )
        connection.execute(query.format(sql.Identifier(column), sql.Identifier(table)), (table, column))
