"""An older version stops at tables that a newer version has migrated, and changes nothing in them."""

import os
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import psycopg
import pytest
from culprit.infra.db.schema_version import get_head_revision
from culprit.infra.settings import REPOSITORY
from culprit.tests.conftest import at_database
from culprit.tests.support.command_line import PYTHON
from culprit.tests.support.product_process import ProductProcess
from culprit.tests.support.sshd import free_port

#: A migration that no version of this checkout has.
NEWER = "9999"
PROGRAMS = {
    "api": ("api", "--port", "0"),
    "ssh worker": ("worker", "ssh"),
    "parse worker": ("worker", "parse"),
    "scheduler": ("scheduler",),
    "bootstrap": ("bootstrap", "--login-link", "admin"),
}
ALEMBIC = ("-m", "alembic", "-c", "migrations/alembic.ini")


@pytest.fixture
def set_revision(config):
    def change(revision):
        with psycopg.connect(config.database_url, autocommit=True) as connection:
            connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))

    return change


def read_rows(url):
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        ).fetchall()
        return {
            name: connection.execute(
                f"SELECT count(*), md5(string_agg(t::text, '')) FROM \"{name}\" t"
            ).fetchone()
            for (name,) in tables
        }


def run_command(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **PYTHON},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def check_message(text):
    assert f"The database has migration {NEWER}, which a newer version of Culprit has made." in text
    assert f"has migrations up to {get_head_revision()}" in text
    assert "install the newer version again" in text
    assert "./culprit restore FILE" in text
    assert "Traceback" not in text


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_stops_with_a_message_at_newer_tables(config, set_revision, tmp_path, name):
    set_revision(NEWER)
    before = read_rows(config.database_url)
    log = tmp_path / "log"
    log.touch()
    program, *arguments = PROGRAMS[name]
    process = ProductProcess(program, *arguments, stdout=log)
    try:
        assert process.wait(30) == 1
    finally:
        process.kill()
    check_message(log.read_text())
    assert read_rows(config.database_url) == before


@pytest.mark.parametrize(
    ("program", "argument"),
    [pytest.param("worker", ("ssh",), marks=pytest.mark.slow), ("scheduler", ())],
    ids=["worker", "scheduler"],
)
def test_program_that_starts_before_its_database_stops_when_that_answers(
    config, set_revision, tmp_path, program, argument
):
    """The first attempt fails because the name of the database is taken away for a moment."""
    set_revision(NEWER)
    database = urlsplit(config.database_url).path[1:]
    log = tmp_path / "log"
    log.touch()

    def rename(old, new):
        with psycopg.connect(at_database(config.database_url, "postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {old} RENAME TO {new}")

    rename(database, "away")
    try:
        process = ProductProcess(program, *argument, stdout=log)
        end = time.monotonic() + 30
        while "database_away" not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        assert process.poll() is None
    finally:
        rename("away", database)
    try:
        process.wait(40)
    finally:
        process.kill()
    check_message(log.read_text())


@pytest.mark.parametrize("arguments", [("upgrade", "head"), ("downgrade", "-1")])
def test_migration_command_stops_with_a_message_at_newer_tables(config, set_revision, arguments):
    set_revision(NEWER)
    before = read_rows(config.database_url)
    done = run_command(*ALEMBIC, *arguments)
    assert done.returncode != 0
    if arguments[0] == "upgrade":
        check_message(done.stdout + done.stderr)
    assert "Traceback" not in done.stdout + done.stderr
    assert read_rows(config.database_url) == before


def test_downgrade_command_is_refused_with_what_to_do(config):
    before = read_rows(config.database_url)
    done = run_command(*ALEMBIC, "downgrade", "-1")
    assert done.returncode != 0
    assert "Culprit does not downgrade a database" in done.stdout + done.stderr
    assert "./culprit restore FILE" in done.stdout + done.stderr
    assert read_rows(config.database_url) == before
    allowed = run_command(
        "-m", "alembic", "-c", "migrations/alembic.ini", "-x", "downgrade=allow", "downgrade", "-1"
    )
    assert allowed.returncode == 0, allowed.stderr
    assert read_rows(config.database_url)["alembic_version"] != before["alembic_version"]


def test_backup_and_restore_stop_with_a_message_at_newer_tables(config, set_revision, tmp_path):
    result = run_command("-m", "culprit.server.backup", "make", str(tmp_path / "a.culprit-backup"))
    assert result.returncode == 0, result.stderr
    set_revision(NEWER)
    before = read_rows(config.database_url)
    for command in (("make", tmp_path / "b.culprit-backup"), ("restore", tmp_path / "a.culprit-backup")):
        refused = run_command("-m", "culprit.server.backup", *map(str, command))
        assert refused.returncode == 2
        check_message(refused.stderr)
    assert not (tmp_path / "b.culprit-backup").exists()
    assert read_rows(config.database_url) == before


def test_programs_start_at_their_own_tables(config, tmp_path):
    log = tmp_path / "log"
    log.touch()
    process = ProductProcess("api", "--port", str(free_port()), stdout=log)
    end = time.monotonic() + 30
    while "Uvicorn running" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    process.stop(signal.SIGTERM)
