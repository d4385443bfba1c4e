"""PostgreSQL behind a shop: a third set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.storefront import Storefront, choose_paths
from lab.scenario import Live, Scenario

CHANGES = (
    "ALTER TABLE stock ADD COLUMN shelf text",
    "ALTER TABLE stock ADD COLUMN checked_at timestamptz",
    "ALTER TABLE products ADD COLUMN weight int NOT NULL DEFAULT 0",
    "ALTER TABLE products ALTER COLUMN name TYPE varchar",
)


@contextmanager
def _change_of_a_table(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a change of a table, of which an analyst has read some rows in a session that is still open."""
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(environment, rng)
    change = rng.choice(CHANGES)
    table = change.split()[2]
    storefront.start_python(postgres, threads=rng.choice((24, 32, 48)))
    level = rng.choice(("READ COMMITTED", "REPEATABLE READ"))
    reads = f"SELECT count(*) FROM {table};"
    postgres.start_session(f"echo 'BEGIN ISOLATION LEVEL {level}; {reads}'; exec sleep 3600")
    waiting = rng.randrange(2, 8)
    for _ in range(waiting):
        postgres.start_session("exec sleep 3600")
    storefront.start_clients(rng.randrange(60, 110), choose_paths(rng))
    storefront.measure_baseline(warm_s=1.0)
    file = environment.directory / rng.choice(("V41__catalog.sql", "0087_catalog.sql", "release-2026-11.sql"))
    file.write_text(f"BEGIN;\n{change};\nCOMMIT;\n")
    postgres.start_session(f"cat {file}", user="shop")
    time.sleep(1.0)
    yield storefront.build_live(
        rng.choice((postgres.pid, storefront.server.pid)), change=change, level=level, waiting=waiting
    )


SCENARIOS = (
    Scenario(
        "catalog-migration", "development", "table-change", ("idle-in-transaction", "database-lock-wait"),
        "A change of a table waits for an open transaction that does nothing; all statements wait for the change.",
        _change_of_a_table, needs=(POSTGRES, "setpriv"), seconds=15.0, software=("postgresql",),
    ),
)  # fmt: skip
