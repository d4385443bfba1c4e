"""A host of a database that is healthy: workers wait for their turn, reports take long, sessions of pools are idle."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.site_host import PROGRAMS, choose_scope, start_neighbors
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.scenario import Live, Scenario


@contextmanager
def _waiting_schedulers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One of several schedulers holds the lock of the leader, and the others wait for it as long as it lives."""
    database = PostgresServer(environment, rng, settings={"max_connections": 100})
    rate, connections = rng.randrange(120, 220), rng.randrange(8, 16)
    load = environment.load(
        "--database", database.build_dsn(), "--rate", rate, "--connections", connections,
        "--seed", rng.randrange(10_000),
        "--customers", database.sizes["customers"], "--products", database.sizes["products"],
        "--writes", rng.choice((0.1, 0.25)), on_host=True, program=str(PROGRAMS / "order_desk.py"),
    )  # fmt: skip
    leader = rng.randrange(1000, 9000)
    followers = rng.randrange(1, 4)
    for _ in range(followers + 1):
        database.start_session(f'echo "SELECT pg_advisory_lock({leader});"; sleep 600')
    for _ in range(rng.randrange(2, 6)):
        database.start_session('echo "BEGIN; SELECT count(*) FROM products;"; sleep 600')
    report = (
        "SELECT count(*) FROM orders a JOIN orders b USING (amount) JOIN stock s ON b.id % 90 = s.product_id;"
    )
    database.start_session(f'while :; do echo "{report}"; sleep 5; done')
    archive = Group(f"{environment.app.path.rpartition('/')[0]}/preview").create()
    environment.on_host(["sleep", "900"], archive)
    archive.freeze(True)
    neighbors = start_neighbors(environment, rng)
    wait_for(lambda: load.stats()["ok"] > 200, "transactions")
    healthy = load.baseline()
    parameters = {
        "rate": rate, "connections": connections, "followers": followers, "neighbors": neighbors, "healthy": healthy,
    }  # fmt: skip
    yield Live(environment.host, choose_scope(rng, database.pid, environment.app), parameters, load.stats)
    archive.freeze(False)


SCENARIOS = (
    Scenario(
        "schedulers-in-turn", "healthy", "healthy", (),
        "Schedulers that wait for the lock of their leader, and a report.",
        _waiting_schedulers, needs=(POSTGRES, "redis-server"), software=("postgresql",),
    ),
)  # fmt: skip
