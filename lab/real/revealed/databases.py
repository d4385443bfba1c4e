"""PostgreSQL with one thing wrong: long locks, checkpoints, a lossy network, a small group, a volume without space."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.storefront import Storefront, choose_paths
from lab.scenario import Live, Scenario

MIB = 1 << 20
CONNECTIONS = ("thread", "thread", "request")
# Each is one transaction from the first row to the last; the pause is meant to spare the disk.
REPRICE = """
DO $$ DECLARE item record; BEGIN
    UPDATE stock SET available = available + 1 WHERE warehouse = {warehouse};
    FOR item IN SELECT product_id FROM stock WHERE warehouse = {warehouse} ORDER BY product_id LOOP
        UPDATE products SET price = price + (SELECT count(*) % 3 FROM orders WHERE customer_id = item.product_id)
            WHERE id = item.product_id;
        PERFORM pg_sleep({pause});
    END LOOP;
END $$;
"""
MIGRATE = """
BEGIN;
ALTER TABLE {table} ADD COLUMN revision int;
DO $$ DECLARE item record; BEGIN
    FOR item IN SELECT {key} AS key FROM {table} ORDER BY {key} LOOP
        UPDATE {table} SET revision = (SELECT count(*) FROM orders WHERE customer_id = item.key) WHERE {key} = item.key;
        PERFORM pg_sleep({pause});
    END LOOP;
END $$;
COMMIT;
"""


@contextmanager
def _long_statement(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A migration or a recalculation works for minutes in one transaction, on rows that the shop needs."""
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(
        environment, rng, warehouses=rng.randrange(3, 6), products=rng.randrange(6_000, 12_000)
    )
    timeout_ms = rng.choice((0, 0, rng.randrange(1500, 2800)))
    dsn = postgres.build_dsn(lock_timeout=timeout_ms) if timeout_ms else ""
    storefront.start_python(postgres, threads=rng.choice((24, 32, 48)), dsn=dsn)
    storefront.start_clients(rng.randrange(60, 110), choose_paths(rng))
    storefront.measure_baseline()
    job = rng.choice(("reprice", "migrate stock", "migrate products"))
    if job == "reprice":
        script = REPRICE.format(warehouse=rng.randrange(postgres.sizes["warehouses"]), pause=0.15)
    else:
        table = job.split()[1]
        script = MIGRATE.format(table=table, key="id" if table == "products" else "product_id", pause=0.04)
    file = environment.directory / "release-41.sql"
    file.write_text(script)
    postgres.start_session(f"cat {file}", user="shop")
    yield storefront.build_live(
        rng.choice((postgres.pid, storefront.server.pid)), job=job, lock_timeout_ms=timeout_ms
    )


@contextmanager
def _checkpoints(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The space for the log was made small, so that checkpoints follow each other, on a slow disk."""
    storefront, application = Storefront(environment, rng), LabApplication(environment, rng)
    image = application.disk(rng.randrange(1100, 1400))
    environment.host_sh(f"chown 65534:65534 {DATA}")
    settings = {
        "max_wal_size": "700MB", "checkpoint_timeout": "30min", "log_checkpoints": "on", "wal_recycle": "on",
        "checkpoint_completion_target": 0.9, "shared_buffers": "256MB", "checkpoint_flush_after": 0,
    }  # fmt: skip
    postgres = PostgresServer(
        environment, rng, directory=f"{DATA}/main", settings=settings, initdb_options=("--wal-segsize=1",),
        orders=rng.randrange(90_000, 150_000), note_words=rng.randrange(10, 16),
    )  # fmt: skip
    iops = rng.randrange(150, 230)
    storefront.start_python(postgres, threads=rng.choice((16, 24)))
    paths = choose_paths(rng, writes=("/payments/{n}", "/payments/{n}", "/checkout/{n}"))
    paths += ["/payments/{n}"] * rng.randrange(4, 7)
    storefront.start_clients(rng.randrange(80, 120), paths)
    slow_disk(environment.app, image, iops=iops)
    storefront.measure_baseline(warm_s=2.0)
    changed = {
        "max_wal_size": f"{rng.randrange(2, 5)}MB",
        "min_wal_size": "2MB",
        "checkpoint_completion_target": 0.1,
    }
    postgres.change_settings(**changed)
    yield storefront.build_live(postgres.pid, iops=iops, **changed)


@contextmanager
def _lossy_network(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The database is on another machine; part of the segments between it and the shop is lost on the way."""
    router = environment.insert_router() if rng.random() < 0.5 else None
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(environment, rng, client_side=True)
    storefront.start_python(postgres, threads=rng.choice((24, 32)), connection=rng.choice(CONNECTIONS))
    storefront.start_clients(rng.randrange(60, 100), choose_paths(rng))
    storefront.measure_baseline()
    probability = rng.uniform(0.03, 0.08)
    net, chains = (
        (router, ("FORWARD", "FORWARD")) if router else (environment.client_net, ("INPUT", "OUTPUT"))
    )
    drop = f"-m statistic --mode random --probability {probability:.3f} -j DROP"
    net.sh(
        f"iptables -I {chains[0]} -p tcp --dport {postgres.port} {drop};"
        f"iptables -I {chains[1]} -p tcp --sport {postgres.port} {drop}"
    )
    yield storefront.build_live(
        routed=router is not None, loss=round(probability, 3), database_port=postgres.port
    )


@contextmanager
def _small_group(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The group of the database gets a memory limit below the size of the table whose rows are read at random."""
    storefront, application = Storefront(environment, rng), LabApplication(environment, rng)
    image = application.disk(900)
    environment.host_sh(f"chown 65534:65534 {DATA}")
    group = application.group("database")
    orders, words = rng.randrange(160_000, 220_000), rng.randrange(28, 36)
    postgres = PostgresServer(
        environment, rng, directory=f"{DATA}/main", group=group, orders=orders,
        customers=rng.randrange(8_000, 12_000), note_words=words,
        settings={"shared_buffers": "24MB", "max_wal_size": "300MB", "effective_io_concurrency": 0},
    )  # fmt: skip
    table_mb = orders * (words * 32 + 80) // MIB
    iops = rng.randrange(350, 600)
    storefront.start_python(postgres, threads=rng.choice((12, 16, 24)))
    paths = choose_paths(rng, reads=("/documents/{n}", "/orders/{n}", "/orders/{n}"))
    storefront.start_clients(rng.randrange(60, 100), paths, range_=orders)
    slow_disk(group, image, iops=iops)
    storefront.measure_baseline(warm_s=1.0)
    limit_mb = 60 + int(table_mb * rng.uniform(0.2, 0.4))
    group.limit_memory(limit_mb * MIB)
    yield storefront.build_live(postgres.pid, group=group, table_mb=table_mb, limit_mb=limit_mb, iops=iops)


@contextmanager
def _full_volume(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """An export to the volume of the database takes the rest of its space."""
    storefront, application = Storefront(environment, rng), LabApplication(environment, rng)
    application.disk(rng.randrange(350, 600), options="noatime")
    environment.host_sh(f"chown 65534:65534 {DATA}; install -d {DATA}/exports")
    postgres = PostgresServer(
        environment, rng, directory=f"{DATA}/main", settings={"max_wal_size": "200MB"}, note_words=rng.randrange(8, 30),
        initdb_options=(f"--waldir={environment.directory}/postgresql/wal",),
    )  # fmt: skip
    storefront.start_python(postgres, threads=rng.choice((12, 16, 24)))
    storefront.start_clients(rng.randrange(60, 100), choose_paths(rng))
    storefront.measure_baseline()
    name = rng.choice(("orders-2026-11.csv", "customers.ndjson", "catalog-full.xml"))
    environment.on_host(
        ["sh", "-c", f"yes '{rng.randrange(10**9)},shipped,19.99,EUR' >{DATA}/exports/{name}"]
    ).wait()
    yield storefront.build_live(postgres.pid, export=name)


NEEDS = (POSTGRES, "setpriv")
SCENARIOS = (
    Scenario(
        "postgres-lock-wait", "development", "postgres-lock-wait", ("database-lock-wait",),
        "A job changes rows or a table for minutes in one transaction; statements of the shop wait for its locks.",
        _long_statement, needs=NEEDS, seconds=15.0, software=("postgresql",),
    ),
    Scenario(
        "postgres-checkpoint-storm", "development", "postgres-checkpoint-storm", ("checkpoint-storm",),
        "The write-ahead log may have a few megabytes: checkpoints follow each other and every page is logged in full.",
        _checkpoints, needs=(*NEEDS, "mkfs.ext4"), seconds=15.0, software=("postgresql",),
    ),
    Scenario(
        "packet-loss-to-database", "development", "packet-loss-to-database", ("packet-loss-upstream",),
        "Some percent of the segments between the shop and its database are lost in the network.", _lossy_network,
        needs=(*NEEDS, "iptables"), software=("postgresql",),
    ),
    Scenario(
        "memcg-page-cache-thrash", "development", "memcg-page-cache-thrash", ("memcg-page-cache-thrashing",),
        "The memory limit of the database's group is below what it reads; pages are read from disk again and again.",
        _small_group, needs=(*NEEDS, "mkfs.ext4"), global_effect=("app-memory",), software=("postgresql",),
    ),
    Scenario(
        "disk-full", "development", "disk-full", ("disk-full",),
        "The volume of the database has no space left; orders fail, pages that only read are as before.", _full_volume,
        needs=(*NEEDS, "mkfs.ext4"), software=("postgresql",),
    ),
)  # fmt: skip
