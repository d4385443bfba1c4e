"""Databases that refuse writes, or make all statements wait: a sixth set."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.box_office_host import BoxOffice
from lab.real.services.hosts.depot_host import Depot
from lab.real.services.mariadb import MariaDb
from lab.real.services.postgres import BINARIES, DROP_ROOT, POSTGRES, PostgresServer
from lab.real.services.storefront import Storefront, choose_paths
from lab.scenario import Live, Scenario

# PostgreSQL compares IDs modulo 2**32, and stops three million before the oldest would be in the future.
HALF, RESERVE, IDS_PER_FILE = 2**31 - 1, 3_000_000, 1 << 20
# Rows of a partner, each on its own so that a wrong one does not end the import.
IMPORT = """
CREATE TABLE partner_sales (id bigserial PRIMARY KEY, partner int NOT NULL, amount numeric(10,2) NOT NULL);
CREATE PROCEDURE load_sales(lines int) LANGUAGE plpgsql AS $$ BEGIN
    FOR line IN 1..lines LOOP
        BEGIN
            INSERT INTO partner_sales (partner, amount) VALUES (line % 90, line * 0.07);
        EXCEPTION WHEN not_null_violation THEN NULL;
        END;
    END LOOP;
END $$;
GRANT ALL ON partner_sales, partner_sales_id_seq TO jobs;
"""


def let_years_pass(postgres: PostgresServer, left: int) -> None:
    """Move the counter of transactions as years do: `left` more, and PostgreSQL is at its limit."""
    with postgres.connect() as database:
        row = database.execute("SELECT catalog_xmin::text::bigint FROM pg_replication_slots").fetchone()
    if not row:
        raise RuntimeError("no slot")
    number = int(row[0]) + HALF - RESERVE - left
    postgres.server.send_signal(signal.SIGINT)
    postgres.server.wait(timeout=30)
    first = number - number % IDS_PER_FILE
    states = f"{postgres.directory}/pg_xact/{first // IDS_PER_FILE:04X}"
    reset = (*DROP_ROOT, str(BINARIES / "pg_resetwal"), "-x", str(number), "-D", postgres.directory)
    postgres.environment.host_sh(
        f"cd /; {' '.join(DROP_ROOT)} dd if=/dev/zero of={states} bs=8192 count=32 status=none;"
        f"{' '.join(reset)} >/dev/null"
    )
    postgres.start()


@contextmanager
def _import_of_sales(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a job that takes the last transactions which a slot of an old consumer has left."""
    settings: dict[str, object] = {
        "wal_level": "logical", "autovacuum_naptime": rng.choice((5, 10, 20)), "synchronous_commit": "off",
    }  # fmt: skip
    office = BoxOffice(environment, rng, children=rng.choice((16, 24, 32)), settings=settings)
    postgres = office.postgres
    postgres.run(IMPORT)
    name = rng.choice(("warehouse", "search_feed", "cdc_orders", "bi_export"))
    postgres.run(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    left = rng.randrange(9_000, 30_000)
    let_years_pass(postgres, left)
    paths = ["/book/{n}"] * rng.randrange(1, 4) + ["/shows/{n}"] * rng.randrange(4, 7)
    office.start_clients(rng.uniform(45, 75), paths, warm_s=5.0)
    lines, pause_s = rng.randrange(1500, 4000), rng.uniform(0.3, 1.0)
    postgres.start_session(f"while :; do echo 'CALL load_sales({lines});'; sleep {pause_s:.2f}; done")
    wait_for(lambda: "is not accepting commands" in postgres.read_log(), "the end of the import", 90.0)
    time.sleep(3.0)
    yield office.build_live(rng.choice((postgres.pid, office.php.pid)), slot=name, left=left, lines=lines)


@contextmanager
def _reports_of_branches(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many reports of branches run, which read the orders at a pace that spares the host."""
    storefront = Storefront(environment, rng)
    threads = rng.randrange(8, 17)
    mariadb = MariaDb(
        environment, rng,
        settings={
            "thread_handling": "pool-of-threads", "thread_pool_size": 2, "thread_pool_max_threads": threads,
            "max_connections": 300,
        },
    )  # fmt: skip
    storefront.start_php(mariadb, children=rng.choice((40, 56, 72)), persistent=rng.random() < 0.5)
    pause_s, parts = rng.uniform(0.02, 0.06), rng.choice((97, 211, 307))

    def start_reports(count: int) -> None:
        for number in range(count):
            low = rng.randrange(mariadb.sizes["products"])
            statement = (
                f"SELECT product_id, sum(amount), sum(sleep({pause_s:.3f})) FROM orders"
                f" WHERE customer_id % {parts} = {number} AND product_id <> {low} GROUP BY product_id;"
            )
            mariadb.start_session(f"while :; do echo '{statement}'; sleep {rng.uniform(0.2, 1):.2f}; done")

    start_reports(rng.randrange(1, 4))
    storefront.start_clients(rng.uniform(40, 65), choose_paths(rng), timeout_s=4.0)
    storefront.measure_baseline(4.0, warm_s=3.0)
    more = threads + rng.randrange(2, 9)
    start_reports(more)
    time.sleep(5.0)
    yield storefront.build_live(
        rng.choice((mariadb.pid, storefront.server.pid)),
        threads=threads,
        more=more,
        pause_s=pause_s,
        parts=parts,
    )


@contextmanager
def _archive_of_parcels(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the job that archives parcels ends its transaction after each batch, or after all."""
    depot = Depot(environment, rng)
    job = depot.start_archiving()
    depot.start_clients(rng.uniform(45, 70))
    environment.stop(job)
    job = depot.start_archiving(rng.choice(("BEGIN IMMEDIATE", "BEGIN")))
    time.sleep(4.0)
    yield depot.build_live(rng.choice((depot.office.app.pid, depot.office.nginx.pid)))


PHP = ("nginx", "php-fpm8.2")
SCENARIOS = (
    Scenario(
        "box-office-sales", "development", "partner-sales", ("transaction-id-wraparound",),
        "A slot of a consumer that is gone keeps old IDs of transactions; an import takes the last new ones.",
        _import_of_sales, needs=(POSTGRES, str(BINARIES / "pg_resetwal"), *PHP), seconds=10.0,
        software=("postgresql", "php-fpm", "nginx"),
    ),
    Scenario(
        "shop-branch-reports", "development", "branch-reports", ("worker-pool-exhausted",),
        "Reports hold all threads of MariaDB's pool; the small statements of the shop and its logins wait.",
        _reports_of_branches, needs=("mariadbd", "mariadb-install-db", "mariadb", *PHP), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "depot-archive", "development", "parcel-archive", ("file-lock-held", "database-lock-wait"),
        "A job holds the lock of a file of SQLite for as long as it works; scans wait for it and fail.",
        _archive_of_parcels, needs=("sqlite3", "nginx", "gunicorn", "setpriv"), seconds=10.0,
        software=("sqlite", "gunicorn", "nginx"),
    ),
)  # fmt: skip
