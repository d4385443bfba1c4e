"""Checks of PostgreSQL: reachable, version, tables, connections, clock, and the rows that report on other parts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from culprit.accounts.sealed_columns import open_secret
from culprit.infra.db.schema_version import get_head_revision, read_revision
from culprit.infra.models import load_all
from culprit.infra.settings import Settings
from culprit.infra.vault import SecretUnreadableError, Vault
from culprit.server.doctor import queries
from culprit.server.doctor.commands import RepairCommands
from culprit.server.doctor.process_checks import check_processes
from culprit.server.doctor.results import ServiceCheck, State, get_first_line
from culprit.server.queries import find_last_backup, read_clock, read_file_checks

VERSIONS = range(15, 19)
CONNECT_S = 5
MAX_CONNECTION_SHARE = 0.8
CLOCK_WARNING_S, CLOCK_PROBLEM_S = 1.0, 10.0
BACKUP_AGE = timedelta(days=7)
NAME = "database"


def check_database(
    config: Settings, commands: RepairCommands, queued: dict[str, int] | None
) -> Iterator[ServiceCheck]:
    """Yield the checks of the database; `queued` is the number of messages of each queue, None where unknown."""
    refusal = find_connection_error(config.database_url)
    if refusal is not None:
        yield refusal
        return
    load_all()
    options = {"connect_timeout": CONNECT_S, "options": "-c statement_timeout=20000 -c timezone=UTC"}
    engine = create_engine(config.sqlalchemy_url, connect_args=options)
    try:
        with engine.connect() as connection:
            yield from _check_connected(connection, config, commands, queued)
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        yield ServiceCheck(
            NAME, "problem", f"A query failed: {get_first_line(cause)}.", 'psql "$DATABASE_URL"'
        )
    finally:
        engine.dispose()


def find_connection_error(url: str) -> ServiceCheck | None:
    """Connect once; return the problem, or None. Errors of psycopg may quote the address, so they are replaced."""
    try:
        psycopg.connect(url, connect_timeout=CONNECT_S).close()
    except psycopg.OperationalError as error:
        message = f"PostgreSQL does not accept the connection: {get_first_line(error)}."
        return ServiceCheck(NAME, "problem", message, "psql \"$DATABASE_URL\" -c 'SELECT 1'")
    except (psycopg.Error, ValueError):
        message = "DATABASE_URL is not an address of PostgreSQL."
        return ServiceCheck(
            NAME, "problem", message, "export DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/NAME"
        )
    return None


def _check_connected(
    connection: Connection, config: Settings, commands: RepairCommands, queued: dict[str, int] | None
) -> Iterator[ServiceCheck]:
    yield check_version(connection)
    yield check_connections(connection)
    yield check_clock(connection)
    tables = check_tables(read_revision(connection), commands)
    yield tables
    if tables.state != "ok":
        return
    yield check_key_fit(connection, config)
    yield from check_processes(connection, commands, queued)
    yield check_stored_files(connection, config)
    yield check_backup(connection, commands)


def check_version(connection: Connection) -> ServiceCheck:
    """Check the version of the server."""
    major = (connection.dialect.server_version_info or (0,))[0]
    if major in VERSIONS:
        return ServiceCheck(NAME, "ok", f"PostgreSQL {major} answers.")
    message = f"PostgreSQL {major} is not supported: Culprit needs {VERSIONS[0]} to {VERSIONS[-1]}."
    return ServiceCheck(NAME, "problem", message, f"move the database to PostgreSQL {VERSIONS[-1]}")


def check_connections(connection: Connection) -> ServiceCheck:
    """Check that connections are left for more processes."""
    used, limit = queries.read_connection_use(connection)
    text = f"{used} of {limit} connections are open"
    if used > limit * MAX_CONNECTION_SHARE:
        command = f"ALTER SYSTEM SET max_connections = {2 * limit}, then restart PostgreSQL"
        return ServiceCheck("connections", "warning", f"{text}, so more processes may be refused.", command)
    return ServiceCheck("connections", "ok", f"{text}.")


def check_clock(connection: Connection) -> ServiceCheck:
    """Compare the clock of this machine with that of the database; the time of the query is an uncertainty."""
    before = datetime.now(UTC)
    at = read_clock(connection)
    after = datetime.now(UTC)
    off_s = (
        (before - at).total_seconds() if at < before else (at - after).total_seconds() if at > after else 0.0
    )
    direction = "behind" if at > after else "ahead of"
    if off_s < CLOCK_WARNING_S:
        return ServiceCheck(
            "clock", "ok", f"The clocks of this machine and the database differ by {off_s:.1f} s."
        )
    message = f"The clock of this machine is {off_s:.1f} s {direction} the clock of the database."
    state: State = "problem" if off_s >= CLOCK_PROBLEM_S else "warning"
    return ServiceCheck("clock", state, message, "timedatectl set-ntp true, on both machines")


def check_tables(revision: str | None, commands: RepairCommands) -> ServiceCheck:
    """Compare the migration of the database with the newest of this program."""
    newest = get_head_revision()
    if revision is None:
        return ServiceCheck("migrations", "problem", "The database has no tables.", commands.migrate)
    if revision == newest:
        return ServiceCheck("migrations", "ok", f"The tables are up to date (migration {revision}).")
    if revision < newest:
        message = f"The tables are older than the program: migration {revision} instead of {newest}."
        return ServiceCheck("migrations", "problem", message, commands.migrate)
    message = f"The tables are newer than the program: migration {revision}, the program knows {newest}."
    return ServiceCheck(
        "migrations", "problem", message, "install the version of Culprit that migrated the database"
    )


def check_key_fit(connection: Connection, config: Settings) -> ServiceCheck:
    """Open the newest secret of each table with the configured keys."""
    name = "stored secrets"
    try:
        vault = Vault(config.key_ring(), config.secret_key_version)
    except (ValueError, OSError):
        message = "Stored secrets cannot be opened, because no valid key is set."
        return ServiceCheck(name, "problem", message, "set the key that the check `secret key` describes")
    with Session(connection) as session:
        rows = queries.list_newest_sealed(session)
        try:
            for row in rows:
                open_secret(row, vault)
        except SecretUnreadableError:
            message = f"The key does not open the newest secret of the table {row.__tablename__}."
            return ServiceCheck(name, "problem", message, "set the key that this platform used before")
    if not rows:
        return ServiceCheck(name, "ok", "No secrets are stored.")
    return ServiceCheck(name, "ok", "The key opens the stored secrets.")


def check_stored_files(connection: Connection, config: Settings) -> ServiceCheck:
    """Check the result of the daily check of stored files, and its age."""
    name, hours = "stored files", config.file_check_hours
    altered, oldest_s = read_file_checks(connection)
    if altered:
        message = f"{altered} stored files are altered or missing."
        return ServiceCheck(name, "problem", message, "./culprit storage check")
    if hours == 0:
        message = "Stored files are not checked, because CULPRIT_FILE_CHECK_HOURS is 0."
        return ServiceCheck(name, "warning", message, "unset CULPRIT_FILE_CHECK_HOURS")
    if oldest_s > 2 * hours * 3600:
        message = f"The oldest check of a stored file is {oldest_s / 3600:.0f} h old, twice the interval."
        return ServiceCheck(name, "warning", message, "start a second scheduler")
    return ServiceCheck(
        name, "ok", f"No stored file is altered; the oldest check is {oldest_s / 3600:.1f} h old."
    )


def check_backup(connection: Connection, commands: RepairCommands) -> ServiceCheck:
    """Check the age of the last backup."""
    at = find_last_backup(connection)
    if at is not None:
        age = read_clock(connection) - at
        text = f"The last backup is {_format_age(age)} old"
        if age > BACKUP_AGE:
            return ServiceCheck("backup", "warning", f"{text}.", commands.backup)
        return ServiceCheck("backup", "ok", f"{text}.")
    since = queries.read_platform_age(connection)
    if since is not None and since > timedelta(days=1):
        return ServiceCheck("backup", "warning", "This platform has no backup.", commands.backup)
    return ServiceCheck("backup", "ok", "No backup yet: this platform is less than a day old.")


def _format_age(age: timedelta) -> str:
    return f"{age.days} d" if age.days else f"{age.total_seconds() / 3600:.1f} h"
