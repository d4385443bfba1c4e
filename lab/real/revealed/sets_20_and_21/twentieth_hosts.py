"""Bicycles for hire, next to programs that prepare maps: a twentieth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.square.bicycles import Bicycles
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _hires_of_bicycles(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the nice value of MariaDB, which a job of low priority has started."""
    town = Town(environment, rng)
    bicycles = Bicycles(town)
    nginx = start_front(town, bicycles.build_location("/"), bicycles.upstream)
    hire_s = bicycles.measure_hire(30)
    bicycles.prepare_maps(2, rng.randrange(60_000, 120_000), rng.uniform(0.01, 0.03))
    others = rng.randrange(1, 3)
    paths = ["/hires/{n}"] * 2 + [rng.choice(("/bicycles/{n}", "/routes/{n}")) for _ in range(others)]
    rate = rng.uniform(0.15, 0.19) / hire_s * (others + 2) / 2
    town.start_clients(nginx.address, rate, paths, warm_s=6.0)
    bicycles.start_database_as(rng.randrange(15, 19))
    time.sleep(6.0)
    pid = rng.choice((bicycles.app.pid, bicycles.mariadb.pid))
    yield town.build_live(pid, hire_ms=round(hire_s * 1000, 1))


SCENARIOS = (
    Scenario(
        "bicycle-hires", "development", "hires-of-bicycles", ("cpu-neighbour-contention",),
        "MariaDB has the low priority of the job that has started it; programs that prepare maps take its CPU time.",
        _hires_of_bicycles, needs=("mariadbd", "mariadb-install-db", "gunicorn", "nginx", "gzip", "curl"), seconds=10.0,
        software=("mariadb", "gunicorn", "nginx"), global_effect=("cpu",),
    ),
)  # fmt: skip
