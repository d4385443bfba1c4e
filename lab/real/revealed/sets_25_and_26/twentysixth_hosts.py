"""Orders of a pottery, and bookings of an inn: a twenty-sixth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.hamlet.inn import Inn
from lab.real.services.hamlet.pottery import Pottery
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _orders_of_a_pottery(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many months the office lists at a time."""
    town = Town(environment, rng)
    pottery = Pottery(town, rng.randrange(1, 3), rng.randrange(80, 110))
    nginx = start_front(town, pottery.build_location("/"), pottery.upstream)
    others = rng.randrange(2, 4)
    paths = ["/orders/{n}"] * 2 + [
        rng.choice(("/pots/{n}", "/pots/{n}", "/glazes/{n}")) for _ in range(others)
    ]
    town.start_clients(nginx.address, rng.uniform(30, 50), paths, warm_s=5.0)
    before, months = pottery.count_kills(), rng.randrange(36, 60)
    pottery.list_months(months)
    time.sleep(8.0)
    yield town.build_group_live(
        rng.choice((pottery.app.pid, nginx.pid)), pottery.pod, listed=months, killed_before=before
    )


@contextmanager
def _bookings_of_an_inn(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many days ahead the program writes calendars."""
    town = Town(environment, rng)
    inn = Inn(town, rng.uniform(0.2, 0.4))
    nginx = start_front(town, inn.build_location("/"))
    others = rng.randrange(2, 5)
    paths = ["/bookings/{n}"] * 2 + ["/stays/{n}"] * others
    town.start_clients(nginx.address, rng.uniform(30, 60), paths, warm_s=4.0)
    days = inn.fill_calendars()
    yield town.build_live(rng.choice((inn.php.pid, nginx.pid)), days=days)


SCENARIOS = (
    Scenario(
        "pottery-orders", "development", "orders-of-a-pottery", ("memcg-oom-kill",),
        "A listing of many months outgrows the container of PostgreSQL; the kernel ends it, and all sessions with it.",
        _orders_of_a_pottery, needs=(POSTGRES, "gunicorn", "nginx", "psql"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
    Scenario(
        "inn-bookings", "development", "bookings-of-an-inn", ("inodes-exhausted",),
        "Calendars of years ahead take all files that a volume can have; bookings cannot be kept.",
        _bookings_of_an_inn, needs=("php-fpm8.2", "nginx", "mkfs.ext4"), seconds=8.0, software=("php-fpm", "nginx"),
    ),
)  # fmt: skip
