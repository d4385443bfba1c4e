"""Harvests of beekeepers, and licenses of anglers: a twenty-ninth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.county.anglers import Anglers
from lab.real.services.county.beekeepers import Beekeepers
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _harvests_of_beekeepers(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether PostgreSQL compiles statements."""
    town = Town(environment, rng)
    keepers = Beekeepers(town, jit="off")
    page_s, others = keepers.measure_page(), rng.randrange(2, 5)
    nginx = start_front(town, keepers.build_location("/"), keepers.upstream)
    paths = ["/harvests/{n}"] + [rng.choice(("/hives/{n}", "/flowers/{n}")) for _ in range(others)]
    rate = max(2.5, min(9.0, rng.uniform(1.0, 1.3) / page_s))
    town.start_clients(nginx.address, rate * len(paths), paths, warm_s=4.0)
    keepers.postgres.change_settings(jit="on")
    time.sleep(6.0)
    pid = rng.choice((keepers.app.pid, keepers.postgres.pid))
    yield town.build_live(pid, page_ms=round(page_s * 1000))


@contextmanager
def _licenses_of_anglers(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether MariaDB resolves the name of an address from which a connection comes."""
    town = Town(environment, rng)
    anglers = Anglers(town, resolves=False, silent=True)
    nginx = start_front(town, anglers.build_location("/"))
    others = rng.randrange(1, 4)
    paths = ["/shore?page=licenses&n={n}"] + ["/shore?page=waters&n={n}"] * others
    town.start_clients(nginx.address, rng.uniform(6, 10) * len(paths), paths, warm_s=4.0)
    anglers.look_up_names()
    time.sleep(6.0)
    yield town.build_live(rng.choice((anglers.php.pid, anglers.mariadb.pid)))


SCENARIOS = (
    Scenario(
        "bee-harvests", "holdout", "harvests-of-beekeepers", ("database-hot-sql", "cpu-hot-function"),
        "PostgreSQL has its own settings again and compiles a short statement of many parts at each run.",
        _harvests_of_beekeepers, needs=(POSTGRES, "psql", "gunicorn", "nginx"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
    Scenario(
        "angling-licenses", "holdout", "licenses-of-anglers", ("slow-name-resolution",),
        "A new MariaDB resolves the address of each connection, and the name server keeps silent about addresses.",
        _licenses_of_anglers, needs=("mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
)  # fmt: skip
