"""A database whose one statement burns the CPU, and an application that does so next to an innocent database."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from culprit.launcher.engines.postgres import EngineError, pg_tree, wheel_directory

from lab.application import LOG, LabApplication
from lab.environment import LabEnvironment, build_python_command
from lab.load import wait_for
from lab.scenario import Live, Scenario

UNPRIVILEGED_UID = 65534
PAYMENTS = """
CREATE TABLE payments (customer int NOT NULL, amount int NOT NULL, note text NOT NULL);
INSERT INTO payments SELECT i %% 5000, i, 'order ' || i || ' of customer ' || (i %% 5000) FROM generate_series(1, %s) i;
CREATE INDEX payments_customer ON payments (customer);
ANALYZE payments;
"""


class Ledger:
    """A PostgreSQL on the host, with a table of payments, and the application in front of it."""

    def __init__(self, application: LabApplication, rows: int) -> None:
        self.application = application
        self.data = application.environment.directory / "pg"
        self.data.mkdir()
        os.chown(self.data, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        binaries = pg_tree(wheel_directory()) / "bin"
        drop = [
            "setpriv",
            f"--reuid={UNPRIVILEGED_UID}",
            f"--regid={UNPRIVILEGED_UID}",
            "--clear-groups",
            "--",
        ]
        initdb = [
            str(binaries / "initdb"),
            "-D",
            str(self.data / "data"),
            "-U",
            "ledger",
            "-A",
            "trust",
            "--no-sync",
        ]
        subprocess.run([*drop, *initdb], check=True, capture_output=True, timeout=60, cwd="/")
        settings = (
            "listen_addresses=127.0.0.1", f"unix_socket_directories={self.data}", "fsync=off",
            "max_parallel_workers_per_gather=0", "jit=off",
        )  # fmt: skip
        options = [word for setting in settings for word in ("-c", setting)]
        application.environment.on_host(
            [*drop, str(binaries / "postgres"), "-D", str(self.data / "data"), *options]
        )
        self.url = f"postgresql://ledger@/postgres?host={self.data}"
        wait_for(self._answers, "PostgreSQL")
        self.run(PAYMENTS % rows)

    def run(self, script: str) -> None:
        """Runs statements; the socket is a file, so this works from outside of the host."""
        with psycopg.connect(self.url, autocommit=True) as database:
            database.execute(script)

    def serve(self, statement: str) -> None:
        words = (
            "--port",
            self.application.port,
            "--database",
            self.url,
            "--statement",
            statement,
            "--log",
            LOG,
        )
        self.application.serve(build_python_command("ledger.py", *words))

    def _answers(self) -> bool:
        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def _dropped_index(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the index, which was dropped."""
    application = LabApplication(environment, rng)
    rows, rate = rng.randrange(350_000, 500_000), rng.randrange(25, 35)
    ledger = Ledger(application, rows)
    ledger.serve("by-customer")
    application.clients(rate)
    application.baseline()
    ledger.run("DROP INDEX payments_customer")
    yield application.live(rows=rows, rate=rate, pid=False)


@contextmanager
def _regular_expression(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The release looks for customers in the text of the notes."""
    application = LabApplication(environment, rng)
    rows, rate = rng.randrange(8_000, 14_000), rng.randrange(15, 25)
    ledger = Ledger(application, rows)
    ledger.serve("by-customer")
    application.clients(rate, "--poisson")
    application.baseline()
    ledger.serve("by-note")
    yield application.live(rows=rows, rate=rate, pid=False)


@contextmanager
def _hot_application(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The database answers its clients as quickly as ever; what burns is a function of another application."""
    application = LabApplication(environment, rng)
    rows, rate, hot = rng.randrange(20_000, 40_000), rng.randrange(60, 90), rng.randrange(20, 28)
    ledger = Ledger(LabApplication(environment, rng), rows)
    ledger.application.port = application.port + 200
    ledger.serve("by-customer")
    ledger.application.clients(20)
    application.items(burn_us=700)
    application.clients(rate)
    application.baseline()
    application.items(burn_us=700, hot=hot)
    yield application.live(rows=rows, rate=rate, hot=hot)


def _available() -> tuple[str, ...]:
    """The programs that these scenarios need: PostgreSQL counts as one, by the path where it should be."""
    try:
        return (str(pg_tree(wheel_directory()) / "bin/postgres"),)
    except EngineError:
        return ("postgres (the embedded engine)",)


SCENARIOS = (
    Scenario(
        "hot-sql", "fault", "hot-sql", ("missing-index", "database-hot-sql"),
        "An index is gone: the one statement of the application reads the whole table.", _dropped_index,
        needs=_available(), global_effect=("cpu", "app-memory"),
    ),
    Scenario(
        "hot-sql-validation", "validation", "hot-sql", ("database-hot-sql",),
        "A new statement matches a regular expression with every row.", _regular_expression,
        needs=_available(), global_effect=("cpu",),
    ),
    Scenario(
        "hot-sql-decoy", "decoy", "hot-sql", ("cpu-hot-function",),
        "A function of a C service burns the CPU while the database is as quick as ever.", _hot_application,
        needs=(*_available(), "gcc"), global_effect=("cpu",),
    ),
)  # fmt: skip
