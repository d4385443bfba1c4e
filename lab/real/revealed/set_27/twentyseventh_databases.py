"""Rides of a taxi company, and price lists of a seed dealer: a twenty-seventh set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.parish.seed_dealer import SeedDealer
from lab.real.services.parish.taxi import TaxiCompany
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _rides_of_taxis(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether the job prints its sums, or stores them with the statement that reads the rides."""
    town = Town(environment, rng)
    taxis = TaxiCompany(town, rng.randrange(380_000, 460_000), rng.uniform(0.8, 1.6))
    nginx = start_front(town, taxis.build_location("/"))
    paths = taxis.draw_paths(town, rng.randrange(1, 4), "/desk")
    town.start_clients(nginx.address, rng.uniform(18, 28), paths, warm_s=4.0)
    taxis.write_job("REPLACE INTO invoices")
    time.sleep(6.0)
    pid = rng.choice((taxis.php.pid, taxis.mariadb.pid))
    yield town.build_live(pid)


@contextmanager
def _lists_of_a_seed_dealer(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many varieties a price list has, before and after those of a further grower."""
    town = Town(environment, rng)
    dealer = SeedDealer(town)
    nginx = start_front(town, dealer.build_location("/"), dealer.upstream)
    miss_s, others = dealer.measure_miss(4), rng.randrange(1, 4)
    rate = rng.uniform(0.8, 1.0) / miss_s
    paths = ["/lists/{n}"] + [rng.choice(("/varieties/{n}", "/sowing/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rate * (1 + others), paths, warm_s=5.0)
    dealer.import_varieties(round(dealer.varieties * rng.uniform(0.28, 0.36)))
    dealer.empty_cache()
    time.sleep(8.0)
    pid = rng.choice((dealer.app.pid, dealer.postgres.pid))
    yield town.build_live(pid, miss_ms=round(miss_s * 1000), list_bytes_now=dealer.measure_list())


SCENARIOS = (
    Scenario(
        "taxi-rides", "development", "rides-of-taxis", ("database-lock-wait",),
        "A new job stores sums with the statement that reads all rides; MariaDB locks each row that it reads.",
        _rides_of_taxis, needs=("mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "seed-lists", "development", "lists-of-a-seed-dealer", ("cache-memory-limit", "database-hot-sql"),
        "Price lists have outgrown the largest item that memcached takes; PostgreSQL works each of them out again.",
        _lists_of_a_seed_dealer, needs=(POSTGRES, "gunicorn", "nginx", "memcached", "curl", "bash"), seconds=10.0,
        software=("memcached", "postgresql", "gunicorn", "nginx"),
    ),
)  # fmt: skip
