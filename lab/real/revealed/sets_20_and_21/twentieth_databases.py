"""A standby of guesthouses, and orders of a caterer: a twentieth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.postgres import POSTGRES
from lab.real.services.square.caterer import Caterer
from lab.real.services.square.guesthouses import Guesthouses
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _stays_in_guesthouses(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the occupancy of all houses is printed, page by page, from the standby."""
    town = Town(environment, rng)
    houses = Guesthouses(town)
    nginx = start_front(town, houses.build_location("/"), houses.upstream)
    others = rng.randrange(3, 6)
    paths = ["/stays/{n}"] + [rng.choice(("/houses/{n}", "/houses/{n}", "/towns/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(3, 5) * (others + 1), paths, warm_s=4.0)
    houses.print_pages()
    time.sleep(8.0)
    yield town.build_live(rng.choice((houses.app.pid, houses.copy.pid)))


@contextmanager
def _menus_of_a_caterer(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release, which orders a menu in one transaction or commits each dish."""
    town = Town(environment, rng)
    iops, dishes = rng.randrange(200, 270), rng.randrange(16, 24)
    before, after = rng.randrange(27, 31), rng.randrange(31, 34)
    caterer = Caterer(town, iops, dishes, before)
    nginx = start_front(town, caterer.build_location("/"), caterer.upstream)
    others = rng.randrange(1, 3)
    paths = ["/menus/{n}"] * 2 + [rng.choice(("/events/{n}", "/dishes/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(4, 5.5) * (others + 2), paths, warm_s=4.0)
    caterer.replace(after)
    time.sleep(8.0)
    pid = rng.choice((caterer.app.pid, caterer.postgres.pid))
    yield town.build_live(pid, releases=[before, after])


SCENARIOS = (
    Scenario(
        "guesthouse-stays", "development", "stays-in-guesthouses",
        ("replication-lag", "idle-in-transaction", "database-lock-wait"),
        "A long transaction that prints from a standby keeps it from applying changes; new bookings cannot be read.",
        _stays_in_guesthouses, needs=(POSTGRES, "gunicorn", "nginx", "psql"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
    Scenario(
        "caterer-menus", "development", "menus-of-a-caterer", ("sync-write-amplification",),
        "A release commits each dish of a menu; an order waits for the volume of PostgreSQL many times.",
        _menus_of_a_caterer, needs=(POSTGRES, "gunicorn", "nginx", "mkfs.ext4"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
)  # fmt: skip
