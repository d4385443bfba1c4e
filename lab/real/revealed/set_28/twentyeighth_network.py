"""Deliveries of hampers: a twenty-eighth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.borough.hampers import HamperShop
from lab.real.services.coast.front import start_front
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _deliveries_of_hampers(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the address at which the courier is."""
    town = Town(environment, rng)
    shop = HamperShop(town)
    nginx = start_front(town, shop.build_locations(), shop.build_upstreams())
    paths = ["/deliveries/{n}"] + [
        rng.choice(("/hampers/{n}", "/parcels/{n}")) for _ in range(rng.randrange(1, 4))
    ]
    town.start_clients(nginx.address, rng.uniform(20, 35), paths, warm_s=4.0)
    shop.move_courier()
    time.sleep(4.0)
    yield town.build_live(nginx.pid)


SCENARIOS = (
    Scenario(
        "hamper-deliveries", "development", "deliveries-of-hampers", ("connections-refused",),
        "A courier has moved, and its name with it; nginx has resolved the name at its start and keeps the address.",
        _deliveries_of_hampers, needs=("gunicorn", "nginx", "dnsmasq"), seconds=10.0,
        software=("nginx", "dnsmasq", "gunicorn"),
    ),
)  # fmt: skip
