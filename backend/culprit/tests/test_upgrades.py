"""Upgrades of a database with rows in every table, from each revision to the next, to the newest, and back."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from alembic import command
from alembic.script import ScriptDirectory
from culprit.tests.conftest import alembic_config
from culprit.tests.support.filled_tables import digest_columns, fill_tables, list_columns
from sqlalchemy import text
from sqlalchemy.engine import Engine

#: Rows that a downgrade to a revision deletes, because the older tables cannot hold them: table, column and value.
LOST_BY_DOWNGRADE = {"0001": ("verification", "kind", "alternating"), "0003": ("profile", "unit", "bytes")}


def list_revisions(url: str) -> list[str]:
    return [item.revision for item in ScriptDirectory.from_config(alembic_config(url)).walk_revisions()][::-1]


def read_revision(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())


def clear_tables(engine: Engine) -> None:
    names = ", ".join(f'"{table}"' for table in list_columns(engine))
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        connection.execute(text(f"TRUNCATE {names}"))


def count_rows(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f'SELECT count(*) FROM "{table}"')).scalar() or 0)


def set_first_row(engine: Engine, table: str, column: str, value: str) -> None:
    """Set a column of a single row."""
    first = f'SELECT min(ctid) FROM "{table}"'
    query = f'UPDATE "{table}" SET "{column}" = :value WHERE ctid = ({first})'
    with engine.begin() as connection:
        assert connection.execute(text(query), {"value": value}).rowcount == 1


def test_upgrade_from_each_revision_keeps_all_values_and_downgrade_loses_only_what_is_new(
    empty: tuple[str, Engine],
) -> None:
    url, engine = empty
    config = alembic_config(url)
    revisions = list_revisions(url)
    command.upgrade(config, revisions[0])
    for older, newer in pairwise(revisions):
        counts = fill_tables(engine)
        assert len(counts) > 60
        columns = list_columns(engine)
        before = digest_columns(engine, columns)
        command.upgrade(config, newer)
        assert digest_columns(engine, columns) == before, newer
        fill_tables(engine, only=set(list_columns(engine)) - set(columns))
        table, column, value = LOST_BY_DOWNGRADE.get(older, ("", "", ""))
        if table:
            set_first_row(engine, table, column, value)
        kept = {name: names for name, names in columns.items() if name != table}
        command.downgrade(config, older)
        assert list_columns(engine) == columns, older
        assert digest_columns(engine, kept) == {name: before[name] for name in kept}, older
        if table:
            assert count_rows(engine, table) == counts[table] - 1
        clear_tables(engine)
        command.upgrade(config, newer)


def test_upgrade_from_the_first_and_the_previous_revision_to_the_newest_keeps_all_values(
    empty: tuple[str, Engine],
) -> None:
    url, engine = empty
    config = alembic_config(url)
    first, *_, previous, newest = list_revisions(url)
    for revision in (first, previous):
        command.upgrade(config, revision)
        fill_tables(engine)
        columns = list_columns(engine)
        before = digest_columns(engine, columns)
        command.upgrade(config, newest)
        assert digest_columns(engine, columns) == before, revision
        clear_tables(engine)
        command.downgrade(config, first)


def test_killed_upgrade_leaves_the_old_tables_and_can_be_repeated(empty: tuple[str, Engine]) -> None:
    """A transaction of another process holds the upgrade up between its first and its last revision."""
    url, engine = empty
    config = alembic_config(url)
    oldest = list_revisions(url)[0]
    command.upgrade(config, oldest)
    fill_tables(engine)
    columns = list_columns(engine)
    before = digest_columns(engine, columns)
    context = multiprocessing.get_context("spawn")
    with engine.connect() as holder:
        holder.execute(text("LOCK TABLE incident IN ROW EXCLUSIVE MODE"))  # 0005 refers to this table
        process = context.Process(target=upgrade_to_head, args=(url,))
        process.start()
        assert process.pid is not None
        backend = wait_for(lambda: find_blocked_backend(engine), 60)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        holder.rollback()
    wait_for(lambda: backend not in list_backends(engine), 30)
    assert process.exitcode == -signal.SIGKILL
    assert read_revision(engine) == oldest
    assert list_columns(engine) == columns
    assert digest_columns(engine, columns) == before
    command.upgrade(config, "head")
    assert digest_columns(engine, columns) == before


def upgrade_to_head(url: str) -> None:
    """Run in a process of its own."""
    command.upgrade(alembic_config(url), "head")


def find_blocked_backend(engine: Engine) -> int | None:
    """Return the process of the database that waits for a lock, or None."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with engine.connect() as connection:
        return connection.execute(text(query)).scalar()


def list_backends(engine: Engine) -> list[int]:
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    with engine.connect() as connection:
        return list(connection.execute(text(query)).scalars())


def wait_for(find: Callable[[], Any], seconds: float) -> Any:
    """Wait until a value is true and return it."""
    end = time.monotonic() + seconds
    while not (result := find()):
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.05)
    return result
