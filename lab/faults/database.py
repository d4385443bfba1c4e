"""A database whose one statement burns the CPU, and an application that does so beside an innocent database."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from culprit.launch.postgres import EngineError, pg_tree, wheel_directory

from e2e.lab.load import wait_for
from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site, python
from e2e.lab.stage import LOG, Stage

NOBODY = 65534
PAYMENTS = """
CREATE TABLE payments (customer int NOT NULL, amount int NOT NULL, note text NOT NULL);
INSERT INTO payments SELECT i %% 5000, i, 'order ' || i || ' of customer ' || (i %% 5000) FROM generate_series(1, %s) i;
CREATE INDEX payments_customer ON payments (customer);
ANALYZE payments;
"""


class Ledger:
    """A PostgreSQL on the host, with a table of payments, and the application in front of it."""

    def __init__(self, stage: Stage, rows: int) -> None:
        self.stage = stage
        self.data = stage.site.directory / "pg"
        self.data.mkdir()
        os.chown(self.data, NOBODY, NOBODY)
        binaries = pg_tree(wheel_directory()) / "bin"
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
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
        stage.site.on_host([*drop, str(binaries / "postgres"), "-D", str(self.data / "data"), *options])
        self.url = f"postgresql://ledger@/postgres?host={self.data}"
        wait_for(self._answers, "PostgreSQL")
        self.run(PAYMENTS % rows)

    def run(self, script: str) -> None:
        """Runs statements; the socket is a file, so this works from outside of the host."""
        with psycopg.connect(self.url, autocommit=True) as database:
            database.execute(script)

    def serve(self, statement: str) -> None:
        words = ("--port", self.stage.port, "--database", self.url, "--statement", statement, "--log", LOG)
        self.stage.serve(python("ledger.py", *words))

    def _answers(self) -> bool:
        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def _dropped_index(site: Site, rng: random.Random) -> Iterator[Live]:
    """One variable: the index, which somebody dropped."""
    stage = Stage(site, rng)
    rows, rate = rng.randrange(350_000, 500_000), rng.randrange(25, 35)
    ledger = Ledger(stage, rows)
    ledger.serve("by-customer")
    stage.clients(rate)
    stage.baseline()
    ledger.run("DROP INDEX payments_customer")
    yield stage.live(rows=rows, rate=rate, pid=False)


@contextmanager
def _regular_expression(site: Site, rng: random.Random) -> Iterator[Live]:
    """The release looks for customers in the text of the notes."""
    stage = Stage(site, rng)
    rows, rate = rng.randrange(8_000, 14_000), rng.randrange(15, 25)
    ledger = Ledger(stage, rows)
    ledger.serve("by-customer")
    stage.clients(rate, "--poisson")
    stage.baseline()
    ledger.serve("by-note")
    yield stage.live(rows=rows, rate=rate, pid=False)


@contextmanager
def _hot_application(site: Site, rng: random.Random) -> Iterator[Live]:
    """The database answers its clients as quickly as ever; what burns is a function of another application."""
    stage = Stage(site, rng)
    rows, rate, hot = rng.randrange(20_000, 40_000), rng.randrange(60, 90), rng.randrange(20, 28)
    beside = Ledger(Stage(site, rng), rows)
    beside.stage.port = stage.port + 200
    beside.serve("by-customer")
    beside.stage.clients(20)
    stage.items(burn_us=700)
    stage.clients(rate)
    stage.baseline()
    stage.items(burn_us=700, hot=hot)
    yield stage.live(rows=rows, rate=rate, hot=hot)


def _available() -> tuple[str, ...]:
    """The programs that these scenarios need: PostgreSQL counts as one, by the path where it should be."""
    try:
        return (str(pg_tree(wheel_directory()) / "bin/postgres"),)
    except EngineError:
        return ("postgres (the embedded engine)",)


SCENARIOS = (
    Scenario(
        "hot-sql", "fault", "hot-sql", ("database-hot-sql",),
        "An index is gone: the one statement of the application reads the whole table.", _dropped_index,
        needs=_available(), global_effect=("cpu", "app-memory"),
    ),
    Scenario(
        "hot-sql-blind", "blind", "hot-sql", ("database-hot-sql",),
        "A new statement matches a regular expression with every row.", _regular_expression,
        needs=_available(), global_effect=("cpu",),
    ),
    Scenario(
        "hot-sql-lookalike", "lookalike", "hot-sql", ("cpu-hot-function",),
        "A function of a C service burns the CPU beside a database that is as quick as ever.", _hot_application,
        needs=(*_available(), "gcc"), global_effect=("cpu",),
    ),
)  # fmt: skip
