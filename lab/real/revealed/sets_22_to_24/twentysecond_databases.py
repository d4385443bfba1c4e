"""Loaves of a bakery, and orders of a yarn shop: a twenty-second set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.bazaar.bakery import Bakery
from lab.real.services.bazaar.yarn_shop import YarnShop
from lab.real.services.coast.front import start_front
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _loaves_of_a_bakery(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether the screens next to the ovens get each order, or only each batch."""
    town = Town(environment, rng)
    delay_ms = rng.uniform(18, 23)
    bakery = Bakery(town, delay_ms)
    nginx = start_front(town, bakery.build_location("/"), bakery.upstream)
    others = rng.randrange(1, 3)
    paths = ["/loaves/{n}"] * 3 + [rng.choice(("/branches/{n}", "/kinds/{n}")) for _ in range(others)]
    rate = rng.uniform(1.15, 1.3) * 1000 / delay_ms
    town.start_clients(nginx.address, rate * len(paths) / 3, paths, warm_s=4.0)
    bakery.pass_on_loaves()
    time.sleep(8.0)
    pid = rng.choice((bakery.app.pid, bakery.postgres.pid))
    yield town.build_live(pid)


@contextmanager
def _skeins_of_a_yarn_shop(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which joins tables or loads what a row refers to where it is needed."""
    town = Town(environment, rng)
    before, after = rng.randrange(2, 5), rng.randrange(5, 8)
    shop = YarnShop(town, before)
    others = rng.randrange(1, 3)
    town.start_clients(
        shop.apache.address, rng.uniform(4, 5.5) * (others + 2) / 2, shop.draw_paths(others), warm_s=4.0
    )
    shop.replace(after)
    time.sleep(6.0)
    pid = rng.choice((shop.php.pid, shop.mariadb.pid))
    yield town.build_live(pid, shop.access_log, releases=[before, after])


SCENARIOS = (
    Scenario(
        "bakery-loaves", "development", "loaves-of-a-bakery", ("database-lock-wait",),
        "A new trigger of PostgreSQL notifies of each order; commits that notify wait for one another's lock.",
        _loaves_of_a_bakery, needs=(POSTGRES, "gunicorn", "nginx", "psql"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
    Scenario(
        "yarn-orders", "development", "skeins-of-a-yarn-shop", ("many-small-calls", "database-hot-sql"),
        "A release of a PHP shop reads what each row of a list refers to with statements of its own, hundreds a page.",
        _skeins_of_a_yarn_shop, needs=("mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "apache2"),
        seconds=10.0, software=("php-fpm", "mariadb", "apache2"),
    ),
)  # fmt: skip
