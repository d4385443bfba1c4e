"""Java services of a campsite and of a tea shop: a twentieth set."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.square.campsite import Campsite
from lab.real.services.square.tea_shop import TeaShop
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _pitches_of_a_campsite(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: what the agent reads of the JVM, each few seconds."""
    town = Town(environment, rng)
    campsite = Campsite(town, rng.randrange(9_000, 11_500))
    try:
        campsite.read_figures(rng.choice(("GC.heap_info", "VM.uptime", "VM.flags")))
        paths = ["/pitches/{n}"] * rng.randrange(2, 4) + ["/stays/{n}", "/weather/{n}"]
        town.start_clients(campsite.haproxy.address, rng.uniform(45, 65), paths, warm_s=6.0)
        campsite.read_figures("GC.class_histogram")
        time.sleep(5.0)
        pid = rng.choice((campsite.pid, campsite.haproxy.pid))
        yield town.build_live(pid, campsite.access_log, pause_s=round(campsite.pause_s, 1))
    finally:
        campsite.remove_files()


@contextmanager
def _baskets_of_a_tea_shop(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how long the relay of events, which is on another host, takes for each of them."""
    town = Town(environment, rng)
    shop = TeaShop(town)
    nginx = start_front(town, shop.build_location("/"), shop.upstream)
    rate, others = rng.uniform(16, 24), rng.randrange(1, 3)
    paths = ["/baskets/{n}"] + ["/teas/{n}"] * others
    town.start_clients(nginx.address, rate * (others + 1), paths, warm_s=6.0)
    store_ms = 1000 / rate / rng.uniform(0.75, 0.85)
    shop.store_in(store_ms)
    time.sleep(12.0)
    live = town.build_live(shop.pid, store_ms=round(store_ms, 1))
    yield dataclasses.replace(live, scope={"pid": str(shop.pid)})


SCENARIOS = (
    Scenario(
        "campsite-pitches", "development", "pitches-of-a-campsite", ("gc-pauses", "scheduled-job"),
        "An agent counts the objects of a JVM each few seconds, for which the JVM collects all and stops.",
        _pitches_of_a_campsite, needs=("java", "javac", "jcmd", "haproxy"), seconds=12.0,
        software=("java", "haproxy"),
    ),
    Scenario(
        "tea-baskets", "development", "baskets-of-a-tea-shop", ("slow-receiver", "slow-dependency"),
        "A relay on another host reads events more slowly than a Java service sends them; requests wait to send.",
        _baskets_of_a_tea_shop, needs=("java", "javac", "redis-server", "nginx"), seconds=10.0,
        software=("java", "nginx"),
    ),
)  # fmt: skip
