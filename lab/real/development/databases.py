"""PostgreSQL with one thing wrong: a session that keeps locks, no free connections, no index, a limit on its disk."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.application import DATA, LabApplication, limit_io, remove_io_limit
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.storefront import PROGRAMS, Storefront, choose_paths
from lab.scenario import Live, Scenario


def start_sync(environment: LabEnvironment, postgres: PostgresServer, rng: random.Random) -> None:
    """Start the worker that applies deliveries, and let it apply two for each warehouse."""
    deliveries = environment.directory / "deliveries.txt"
    deliveries.touch()
    environment.on_host(
        [sys.executable, "-B", str(PROGRAMS / "warehouse_sync.py"), "--database", postgres.build_dsn("jobs"),
         "--deliveries", str(deliveries)]
    )  # fmt: skip
    warehouses, pieces = postgres.sizes["warehouses"], rng.randrange(5, 60)
    with deliveries.open("a") as file:
        file.writelines(f"{number % warehouses} {pieces} final\n" for number in range(2 * warehouses))


@contextmanager
def _open_transaction(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A worker or an operator has changed the stock of a warehouse and does not commit."""
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(environment, rng)
    timeout_ms = rng.choice((0, 0, rng.randrange(1200, 2600)))
    dsn = postgres.build_dsn(statement_timeout=timeout_ms) if timeout_ms else ""
    storefront.start_python(postgres, threads=rng.choice((24, 32, 48)), dsn=dsn)
    start_sync(environment, postgres, rng)
    storefront.start_clients(rng.randrange(70, 120), choose_paths(rng))
    storefront.measure_baseline()
    warehouse, holder = rng.randrange(postgres.sizes["warehouses"]), rng.choice(("worker", "operator"))
    if holder == "worker":
        with (environment.directory / "deliveries.txt").open("a") as file:
            file.write(f"{warehouse} {rng.randrange(5, 60)} part\n")
    else:
        update = f"UPDATE stock SET available = available + 1 WHERE warehouse = {warehouse};"
        postgres.start_session(f"echo 'BEGIN; {update}'; exec sleep 3600")
    yield storefront.build_live(
        rng.choice((postgres.pid, storefront.server.pid)), holder=holder, statement_timeout_ms=timeout_ms
    )


@contextmanager
def _connections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The reports got more workers, each with a connection; few are left for the shop, which opens one per request."""
    storefront = Storefront(environment, rng)
    most, left = rng.randrange(24, 60), rng.choice((0, 1, 1))
    postgres = PostgresServer(
        environment, rng, settings={"max_connections": most, "superuser_reserved_connections": 3}
    )
    storefront.start_python(postgres, threads=rng.choice((16, 24)), connection="request")
    reports = [
        sys.executable,
        "-B",
        str(PROGRAMS / "report_workers.py"),
        "--database",
        postgres.build_dsn("jobs"),
    ]
    few = rng.randrange(3, 6)
    environment.on_host([*reports, "--workers", str(few)])
    storefront.start_clients(rng.randrange(35, 60), choose_paths(rng))
    storefront.measure_baseline()
    workers = most - 3 - few - left
    more = [*reports, "--workers", str(workers)]
    running = [environment.on_host(more)]
    wait_for(lambda: count_sessions(postgres, "jobs") >= few + workers, "the workers of the reports", 30.0)
    yield storefront.build_live(
        postgres.pid,
        lambda: environment.stop(running.pop()),
        inject=lambda: running.append(environment.on_host(more)),
        max_connections=most,
        report_workers=workers,
    )


def count_sessions(postgres: PostgresServer, user: str) -> int:
    """Return how many sessions `user` has."""
    with postgres.connect() as database:
        row = database.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = %s", [user]).fetchone()
    return int(row[0]) if row else 0


@contextmanager
def _index(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """After a migration, the orders of a customer are found by reading all orders."""
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(environment, rng, orders=rng.randrange(250_000, 450_000), note_words=1)
    storefront.start_python(postgres, threads=rng.choice((12, 16, 24)))
    storefront.start_clients(rng.randrange(50, 90), choose_paths(rng))
    storefront.measure_baseline()
    migration = rng.choice(("dropped", "invalid", "other column"))

    def inject() -> None:
        if migration == "invalid":
            postgres.run(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders_customer_id_idx'::regclass"
            )
            postgres.run("ANALYZE orders")
        else:
            postgres.run("DROP INDEX orders_customer_id_idx")
        if migration == "other column":
            postgres.run(
                "CREATE INDEX orders_status_customer_idx ON orders (status, product_id, customer_id)"
            )

    def repair() -> None:
        postgres.run("DROP INDEX IF EXISTS orders_customer_id_idx, orders_status_customer_idx")
        postgres.run("CREATE INDEX orders_customer_id_idx ON orders (customer_id)")

    inject()
    yield storefront.build_live(postgres.pid, repair, inject=inject, migration=migration)


@contextmanager
def _limited_io(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The group of the database gets a limit on its disk, in requests or bytes per second."""
    storefront, application = Storefront(environment, rng), LabApplication(environment, rng)
    application.disk(rng.randrange(700, 900))
    environment.host_sh(f"chown 65534:65534 {DATA}")
    group = application.group("database")
    postgres = PostgresServer(
        environment, rng, directory=f"{DATA}/main", group=group, settings={"max_wal_size": "400MB"},
        note_words=rng.randrange(4, 12),
    )  # fmt: skip
    storefront.start_python(postgres, threads=rng.choice((16, 24)))
    storefront.start_clients(
        rng.randrange(60, 100), choose_paths(rng, writes=("/checkout/{n}", "/payments/{n}"))
    )
    storefront.measure_baseline(warm_s=1.0)
    limits = (
        {"iops": rng.randrange(12, 26)}
        if rng.random() < 0.6
        else {"bytes_per_s": rng.randrange(90, 200) << 10}
    )
    device = application.loop_device()
    files = limit_io(group, device, **limits)
    scope = rng.choice((postgres.pid, storefront.server.pid))
    repair = partial(remove_io_limit, files, device)
    inject = partial(limit_io, group, device, **limits)
    yield storefront.build_live(scope, repair, group, inject, **limits)


NEEDS = (POSTGRES, "setpriv")
SCENARIOS = (
    Scenario(
        "postgres-idle-in-transaction", "development", "postgres-idle-in-transaction",
        ("idle-in-transaction",),
        "A session changed the stock of a warehouse, did not commit and waits for its client; checkouts wait for it.",
        _open_transaction, needs=NEEDS, seconds=15.0, software=("postgresql",),
    ),
    Scenario(
        "postgres-max-connections", "development", "postgres-max-connections", ("database-connection-limit",),
        "More workers of the reports hold nearly all connections of PostgreSQL; the shop is refused.",
        _connections, needs=NEEDS, software=("postgresql",),
    ),
    Scenario(
        "missing-index", "development", "missing-index", ("missing-index", "database-hot-sql"),
        "A migration took the index of a frequent statement away; it reads the whole table.", _index, needs=NEEDS,
        global_effect=("cpu",), software=("postgresql",),
    ),
    Scenario(
        "io-throttled-by-cgroup", "development", "io-throttled-by-cgroup", ("io-throttled-by-cgroup",),
        "The control group of the database has a limit on its disk that is too low for the commits of the shop.",
        _limited_io, needs=(*NEEDS, "mkfs.ext4"), software=("postgresql",),
    ),
)  # fmt: skip
