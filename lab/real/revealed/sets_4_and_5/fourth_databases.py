"""PostgreSQL with one thing wrong: the mode of the pool in front of it, and a session next to a table of tasks."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.daemons.pgbouncer import PgBouncer
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

TASKS = """
CREATE TABLE depots (id int PRIMARY KEY, town text NOT NULL, lanes int NOT NULL);
INSERT INTO depots SELECT i, initcap(md5(i::text)), i % 9 FROM generate_series(0, {depots} - 1) i;
CREATE TABLE tasks (id bigserial PRIMARY KEY, kind text NOT NULL, payload text NOT NULL);
INSERT INTO tasks (kind, payload) SELECT 'parcel', md5(i::text) FROM generate_series(1, {waiting}) i;
GRANT ALL ON ALL TABLES IN SCHEMA public TO web, jobs; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO web, jobs;
ANALYZE;
"""
# What other services add to the table of tasks and take from it, some at a time.
BATCHES = """
while :; do echo "INSERT INTO tasks (kind, payload) SELECT 'scan', md5(random()::text) FROM generate_series(1, {batch});
DELETE FROM tasks WHERE id IN (SELECT id FROM tasks ORDER BY id LIMIT {batch} FOR UPDATE SKIP LOCKED);"
sleep {pause_s:.2f}; done
"""


@dataclass
class Tours:
    """Pages of tours behind nginx, with PostgreSQL behind PgBouncer. Numbers come from `rng`."""

    environment: LabEnvironment
    rng: random.Random

    def __post_init__(self) -> None:
        """Start the software."""
        environment, rng = self.environment, self.rng
        port, app_port, seats_port = draw_ports(rng, 3)
        neighbours = start_neighbours(environment, rng)
        settings = {"max_connections": rng.choice((60, 100)), "max_prepared_transactions": 4}
        self.postgres = PostgresServer(environment, rng, settings=settings)
        self.pool_size, self.delay_ms = rng.randrange(5, 10), rng.uniform(120, 200)
        self.pool = PgBouncer(
            environment, rng.choice((6433, 6543, 16432)), self.postgres, pool_mode="transaction",
            default_pool_size=self.pool_size, max_client_conn=rng.choice((200, 400)),
            query_wait_timeout=rng.choice((15, 30, 120)),
        )  # fmt: skip
        seats = ApiServer(
            environment, environment.client_address, seats_port, client_side=True, delay_ms=self.delay_ms,
            work_us=150, answer_bytes=rng.choice((700, 3000)),
        )  # fmt: skip
        threads = rng.choice((24, 32))
        self.app = Gunicorn(
            environment, app_port, "tours_app.py", address="127.0.0.1", workers=2, threads=threads,
            variables={
                "DATABASE": self.pool.dsn, "SEATS_URL": f"http://{seats.address}",
                "ROWS": str(self.postgres.sizes["products"] - 40),
            },
        )  # fmt: skip
        lines = NginxSettings(
            http_lines=build_upstream("tours", (f"127.0.0.1:{app_port}",)),
            server_lines=build_proxy("/", "tours"),
        )
        self.nginx = Nginx(environment, port, lines)
        self.parameters: dict[str, object] = {
            "port": port, "pool_size": self.pool_size, "threads": 2 * threads, "delay_ms": self.delay_ms,
            "neighbours": neighbours,
        }  # fmt: skip

    def start_clients(self, times: float) -> None:
        """Start clients and measure the healthy phase. Pages that are answered at a time: `times` the size of the pool.

        Statements at a time are fewer than one.
        """
        rng = self.rng
        tours, similar = rng.randrange(2, 4), rng.randrange(1, 3)
        rate = self.pool_size * times * 1000 / self.delay_ms * (tours + similar) / tours
        paths = ["/tours/{n}"] * tours + ["/similar/{n}"] * similar
        self.load = start_requests(
            self.environment, rng, self.nginx.address, rate, *paths, options=("--timeout-s", 4)
        )
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(3.0)
        self.parameters |= {"rate": rate, "paths": paths, "healthy": self.load.baseline(4.0)}

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        scope = choose_scope(self.environment, self.rng, self.rng.choice((self.app.pid, self.pool.pid)))
        return Live(self.environment.host, scope, self.parameters | parameters, self.load.stats, ACCESS_LOG)


@contextmanager
def _pool_mode(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: pool_mode of PgBouncer, which was transaction."""
    tours = Tours(environment, rng)
    tours.start_clients(rng.uniform(1.5, 2.0))
    tours.pool.restart(pool_mode="session")
    time.sleep(6.0)
    yield tours.build_live()


def hold_snapshot(postgres: PostgresServer, rng: random.Random, table: str = "depots") -> str:
    """Leave a transaction open that uses only `table`, a small one, and return its kind."""
    kind = rng.choice(("session", "prepared", "export"))
    if kind == "prepared":
        name = f"{rng.randrange(16**8):08x}"
        postgres.run(f"BEGIN; UPDATE {table} SET id = id WHERE id = 7; PREPARE TRANSACTION '{name}'")
    elif kind == "session":
        words = f"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM {table};"
        postgres.start_session(f"echo '{words}'; exec sleep 3600")
    else:
        postgres.start_session(f"echo 'SELECT t.*, pg_sleep(1.5) FROM {table} t;'; exec sleep 3600")
    return kind


@contextmanager
def _old_snapshot(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a transaction of another user on another table, which is not ended."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    settings = {
        "autovacuum_naptime": "3s", "autovacuum_vacuum_threshold": 300, "autovacuum_vacuum_scale_factor": 0.05,
        "max_prepared_transactions": 4, "synchronous_commit": "off",
    }  # fmt: skip
    postgres = PostgresServer(environment, rng, settings=settings)
    depots, batch = rng.randrange(200, 900), rng.randrange(300, 450)
    postgres.run(TASKS.format(depots=depots, waiting=rng.randrange(400, 1200)))
    app = Gunicorn(
        environment, app_port, "dispatch_app.py", address="127.0.0.1", workers=2, threads=rng.choice((12, 16)),
        variables={"DATABASE": postgres.dsn, "DEPOTS": str(depots)},
    )  # fmt: skip
    web = NginxSettings(
        http_lines=build_upstream("dispatch", (f"127.0.0.1:{app.port}",)),
        server_lines=build_proxy("/", "dispatch"),
    )
    nginx = Nginx(environment, port, web)
    postgres.start_session(BATCHES.format(batch=batch, pause_s=0.1).strip())
    rate, drivers = rng.uniform(45, 70), rng.randrange(2, 4)
    paths = ["/parcels/{n}"] * drivers + ["/drivers/{n}"] * drivers + ["/depots/{n}"] * rng.randrange(3, 6)
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(8.0)
    healthy = load.baseline(5.0)
    kind = hold_snapshot(postgres, rng)
    time.sleep(40.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, rng.choice((app.pid, postgres.pid))),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "batch": batch, "kind": kind,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "tour-seats", "development", "pool-mode", ("connection-pool-exhausted",),
        "PgBouncer gives a connection to a client for the whole session, and has fewer than the service has threads.",
        _pool_mode, needs=(POSTGRES, "pgbouncer", "nginx", "gunicorn", "setpriv"), seconds=10.0,
        software=("pgbouncer", "postgresql", "gunicorn"),
    ),
    Scenario(
        "driver-tasks", "development", "old-snapshot", ("vacuum-blocked",),
        "A transaction on another table stays open; dead rows of a table of tasks stay in the way of each read.",
        _old_snapshot, needs=(POSTGRES, "nginx", "gunicorn", "setpriv"), seconds=15.0, software=("postgresql",),
        global_effect=("cpu",),
    ),
)  # fmt: skip
