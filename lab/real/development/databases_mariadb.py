"""MariaDB with one thing wrong: a change of a table that waits and lets all others wait, no free connections."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.mariadb import MariaDb
from lab.real.services.storefront import PROGRAMS, READS, Storefront, choose_paths
from lab.scenario import Live, Scenario

CHANGES = (
    "ALTER TABLE orders ADD COLUMN channel VARCHAR(16) NOT NULL DEFAULT 'web'",
    "ALTER TABLE orders ADD INDEX created_at (created_at)",
    "OPTIMIZE TABLE orders",
    "ALTER TABLE products ADD COLUMN weight INT NOT NULL DEFAULT 0",
)


@contextmanager
def _table_change(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A report has read the table in a transaction that is still open; now a release changes the table."""
    storefront = Storefront(environment, rng)
    mariadb = MariaDb(environment, rng)
    storefront.start_php(mariadb, children=rng.choice((12, 16, 24)), persistent=rng.random() < 0.4)
    change, report = rng.choice(CHANGES), rng.choice(("idle", "in parts"))
    table = change.split()[2]
    if report == "idle":
        script = f"echo 'START TRANSACTION; SELECT count(*) FROM {table};'; exec sleep 3600"
    else:
        script = "echo 'START TRANSACTION WITH CONSISTENT SNAPSHOT;'; first=0; while :; do echo \""
        script += f"SELECT * FROM {table} WHERE id BETWEEN $first AND $first + 400;"
        script += '"; first=$(((first + 400) % 2000)); sleep 0.7; done'
    mariadb.start_session(script)
    storefront.start_clients(rng.randrange(50, 90), choose_paths(rng, reads=(*READS, "/orders/{n}")))
    storefront.measure_baseline()
    mariadb.start_session(f'echo "{change};"')
    yield storefront.build_live(
        rng.choice((mariadb.pid, storefront.server.pid)), change=change, report=report
    )


@contextmanager
def _connections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Sessions of another service hold most connections; the shop opens one per request."""
    storefront = Storefront(environment, rng)
    most, own = rng.randrange(30, 80), rng.randrange(4, 9)
    settings = {"max_connections": most, "extra_port": 3399, "extra_max_connections": 3}
    mariadb = MariaDb(environment, rng, settings=settings)
    storefront.start_php(mariadb, children=rng.choice((12, 16)))
    reports = ["php", str(PROGRAMS / "report_pool.php"), mariadb.dsn]
    environment.on_host([*reports, str(own), "1.5"])
    storefront.start_clients(rng.randrange(50, 90), choose_paths(rng))
    storefront.measure_baseline()
    # One more connection than max_connections is for administrators only.
    sessions = most - own - rng.choice((0, 1, 1))
    environment.on_host([*reports, str(sessions), str(rng.randrange(1, 5))])
    time.sleep(2.0)
    yield storefront.build_live(mariadb.pid, max_connections=most, sessions=sessions)


@contextmanager
def _locked_tables(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a job that locks a table for about a second, again and again; MyISAM or InnoDB."""
    storefront = Storefront(environment, rng)
    mariadb = MariaDb(environment, rng, orders=rng.randrange(30_000, 40_000))
    way = rng.choice(("report", "locked"))
    if way == "report":
        mariadb.run("ALTER TABLE stock ENGINE=MyISAM; ALTER TABLE orders ENGINE=MyISAM;")
    storefront.start_php(mariadb, children=rng.choice((16, 24)), persistent=rng.random() < 0.5)
    reads = ("/products/{n}", "/products/{n}", "/orders/{n}")
    storefront.start_clients(rng.randrange(50, 80), choose_paths(rng, reads=reads))
    storefront.measure_baseline()
    pause_s = rng.uniform(0.3, 0.7)
    if way == "report":
        work = rng.randrange(60, 90)
        statements = f"SELECT sum(crc32(sha2(repeat(o.note, {work}), 512)) + s.available) FROM orders o"
        statements += " JOIN stock s ON s.product_id = o.product_id;"
    else:
        seconds = rng.uniform(0.7, 1.1)
        statements = "LOCK TABLES stock WRITE, orders READ; SELECT sum(available) FROM stock;"
        statements += f" SELECT count(*), sleep({seconds:.2f}) FROM orders; UNLOCK TABLES;"
    mariadb.start_session(f'while :; do echo "{statements}"; sleep {pause_s + 1.0:.2f}; done')
    time.sleep(5.0)
    yield storefront.build_live(rng.choice((mariadb.pid, storefront.server.pid)), way=way)


NEEDS = ("mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx", "php")
SCENARIOS = (
    Scenario(
        "mariadb-metadata-lock", "development", "mariadb-metadata-lock", ("database-lock-wait",),
        "A change of a table waits for a long transaction, and all other statements on that table wait for the change.",
        _table_change, needs=NEEDS, seconds=10.0, software=("mariadb", "php-fpm"),
    ),
    Scenario(
        "mariadb-max-connections", "development", "mariadb-max-connections", ("database-connection-limit",),
        "Sessions of another service hold the connections of MariaDB; requests of the shop are refused.",
        _connections, needs=NEEDS, seconds=10.0, software=("mariadb", "php-fpm"),
    ),
    Scenario(
        "mariadb-locked-tables", "development", "mariadb-locked-tables", ("database-lock-wait",),
        "A job of MariaDB locks a table for about a second at a time; checkouts and pages wait for the table.",
        _locked_tables, needs=NEEDS, seconds=10.0, software=("mariadb", "php-fpm"),
    ),
)  # fmt: skip
