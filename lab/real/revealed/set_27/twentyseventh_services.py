"""Instruments of a lender, and parcels of a surveyor: a twenty-seventh set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.parish.instrument_lender import InstrumentLender
from lab.real.services.parish.surveyor import Surveyor
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _instruments_of_a_lender(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how often a supplier sends a rate, with a few at a time or with each change."""
    town = Town(environment, rng)
    lender = InstrumentLender(town, rng.uniform(40, 60))
    nginx = start_front(town, lender.build_location("/"), lender.upstream)
    lender.start_office(rng.uniform(1.2, 2.0))
    others = rng.randrange(1, 3)
    paths = ["/instruments/{n}"] * 2 + [rng.choice(("/loans/{n}", "/hours/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(25, 45), paths, warm_s=4.0)
    pause_s = rng.uniform(0.2, 0.45)
    lender.replace_feed(pause_s)
    time.sleep(6.0)
    yield town.build_live(
        rng.choice((lender.pid, nginx.pid)), lender.service.access_log, pause_s=round(pause_s, 2)
    )


@contextmanager
def _parcels_of_a_surveyor(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how hard nginx compresses what it sends."""
    town = Town(environment, rng)
    surveyor = Surveyor(town)
    before, after = rng.randrange(1, 4), 9
    nginx = start_front(town, surveyor.build_location("/"), surveyor.build_lines(after))
    edge = surveyor.start_edge(nginx.address)
    map_s, others = surveyor.measure_map(nginx, 8), rng.randrange(1, 4)
    nginx.reload(http_lines=surveyor.build_lines(before))
    rate = rng.uniform(1.05, 1.25) / map_s
    paths = ["/parcels/{n}"] + [rng.choice(("/owners/{n}", "/fees/{n}")) for _ in range(others)]
    town.start_clients(edge, rate * (1 + others), paths, warm_s=4.0)
    nginx.reload(http_lines=surveyor.build_lines(after))
    time.sleep(6.0)
    yield town.build_live(
        rng.choice((nginx.pid, surveyor.pid)), levels=[before, after], map_ms=round(map_s * 1000, 1)
    )


SCENARIOS = (
    Scenario(
        "instrument-loans", "development", "instruments-of-a-lender", ("lock-contention",),
        "Threads of a Java service that read may share a lock; each that waits to write lets no further one in.",
        _instruments_of_a_lender, needs=("java", "javac", "nginx", "curl"), seconds=10.0, software=("java", "nginx"),
    ),
    Scenario(
        "surveyor-parcels", "development", "parcels-of-a-surveyor", ("cpu-hot-function", "cpu-exhausted"),
        "The settings of a new nginx compress as hard as they can; its workers do hardly anything else.",
        _parcels_of_a_surveyor, needs=("node", "nginx", "haproxy", "curl"), seconds=10.0, software=("nginx", "node"),
    ),
)  # fmt: skip
