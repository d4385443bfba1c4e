"""Casks of a brewery, and visits of a museum: a twenty-fifth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.guild.brewery import Brewery
from lab.real.services.guild.museum import Museum
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _casks_of_a_brewery(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many processes php-fpm has, each of which keeps its connection to MariaDB."""
    town = Town(environment, rng)
    before = rng.randrange(6, 11)
    most = before + rng.randrange(3, 6)
    brewery = Brewery(town, before, most)
    nginx = start_front(town, brewery.build_location("/"))
    paths = brewery.draw_paths(town, rng.randrange(1, 4), "/shop")
    town.start_clients(nginx.address, rng.uniform(25, 40), paths, warm_s=4.0)
    after = most + rng.randrange(8, 16)
    brewery.php.restart(max_children=after)
    time.sleep(6.0)
    pid = rng.choice((brewery.php.pid, brewery.mariadb.pid))
    yield town.build_live(pid, children_now=after)


@contextmanager
def _visits_of_a_museum(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether a report is about a month or about the year."""
    town = Town(environment, rng)
    museum = Museum(town)
    nginx = start_front(town, museum.build_location("/"), museum.upstream)
    paths = ["/visits/{n}", "/galleries/{n}"] + ["/hours/{n}"] * rng.randrange(1, 3)
    town.start_clients(nginx.address, rng.uniform(22, 34), paths, warm_s=4.0)
    museum.write_report(1, 12)
    time.sleep(8.0)
    yield town.build_group_live(museum.postgres.pid, museum.group)


SCENARIOS = (
    Scenario(
        "brewery-casks", "development", "casks-of-a-brewery", ("database-connection-limit",),
        "php-fpm has more processes than its account may have connections to MariaDB; the others get none.",
        _casks_of_a_brewery, needs=("mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "museum-visits", "development", "visits-of-a-museum", ("memcg-oom-kill",),
        "A report sorts more in memory than the container of PostgreSQL has; the kernel ends it, and all sessions end.",
        _visits_of_a_museum, needs=(POSTGRES, "psql", "gunicorn", "nginx"), seconds=12.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
)  # fmt: skip
