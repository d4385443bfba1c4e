"""Repairs of a watchmaker, cheeses of a counter, and blends of a spice merchant: a twenty-second set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.bazaar.cheese_shop import CheeseShop
from lab.real.services.bazaar.spice_merchant import SpiceMerchant
from lab.real.services.bazaar.watchmaker import Watchmaker
from lab.real.services.coast.front import start_front
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _repairs_of_a_watchmaker(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which reads prices one after another or in further tasks of the same pool."""
    town = Town(environment, rng)
    before, after = rng.randrange(56, 60), rng.randrange(60, 64)
    watchmaker = Watchmaker(town, before)
    repairs, others = rng.randrange(2, 4), rng.randrange(1, 3)
    paths = ["/repairs/{n}"] * repairs + ["/watches/{n}"] * others
    rate = watchmaker.draw_rate() * len(paths) / repairs
    town.start_clients(watchmaker.haproxy.address, rate, paths, warm_s=5.0)
    watchmaker.replace(after)
    time.sleep(10.0)
    pid = rng.choice((watchmaker.pid, watchmaker.haproxy.pid))
    yield town.build_live(pid, watchmaker.access_log, releases=[before, after])


@contextmanager
def _cheeses_of_a_counter(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: from whom nginx accepts the address of a visitor."""
    town = Town(environment, rng)
    shop = CheeseShop(town)
    network = f"{environment.host_address.rpartition('.')[0]}.0/24"
    nginx = start_front(town, shop.build_location("/"), shop.build_limits(network))
    others = rng.randrange(1, 3)
    paths = ["/cheeses/{n}"] * 2 + ["/regions/{n}"] * others
    rate = shop.most * rng.uniform(1.1, 1.5) / (shop.store_ms / 1000) * len(paths) / 2
    town.start_clients(shop.start_edge(nginx.address), rate, paths, warm_s=4.0)
    earlier = f"192.0.2.{rng.randrange(0, 16) * 16}/28"
    nginx.reload(http_lines=shop.build_limits(earlier))
    time.sleep(5.0)
    yield town.build_live(rng.choice((nginx.pid, shop.pid)), edges=[network, earlier])


@contextmanager
def _blends_of_a_spice_merchant(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which compares a recipe with some or with all of the blends."""
    town = Town(environment, rng)
    before, after = rng.randrange(8, 12), rng.randrange(12, 15)
    merchant = SpiceMerchant(town, before)
    nginx = start_front(town, merchant.build_location("/"), merchant.upstream)
    merchant.replace(after)
    suggestion_s = merchant.measure_suggestion(8)
    merchant.replace(before)
    rate, others = rng.uniform(0.30, 0.36) / suggestion_s, rng.randrange(6, 9)
    paths = ["/blends/{n}"] + ["/spices/{n}"] * others
    town.start_clients(nginx.address, rate * len(paths), paths, warm_s=4.0)
    merchant.replace(after)
    time.sleep(6.0)
    pid = merchant.app.list_workers()[0]
    yield town.build_live(pid, releases=[before, after], suggestion_ms=round(suggestion_s * 1000))


SCENARIOS = (
    Scenario(
        "watch-repairs", "development", "repairs-of-a-watchmaker", ("worker-pool-exhausted",),
        "A release of a Java service hands tasks to the pool whose threads wait for them; none is left to do them.",
        _repairs_of_a_watchmaker, needs=("java", "javac", "haproxy"), seconds=10.0, software=("java", "haproxy"),
    ),
    Scenario(
        "cheese-counter", "development", "cheeses-of-a-counter", ("connection-limit",),
        "nginx takes the edge in front of it for a single visitor, who may have only a few requests at a time.",
        _cheeses_of_a_counter, needs=("nginx", "node", "haproxy"), seconds=10.0, software=("nginx", "node"),
    ),
    Scenario(
        "spice-blends", "development", "blends-of-a-spice-merchant", ("cpu-hot-function", "lock-contention"),
        "A release compares names in Python; the other threads of the process wait for the lock of the interpreter.",
        _blends_of_a_spice_merchant, needs=("gunicorn", "redis-server", "nginx", "curl"), seconds=10.0,
        software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
