"""Claims of a broker, and boxes of farms: a twenty-third set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.real.services.valley.broker import Broker
from lab.real.services.valley.farms import Farms
from lab.scenario import Live, Scenario


@contextmanager
def _claims_of_a_broker(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the second of two routes to the other site delivers what the host sends on it."""
    town = Town(environment, rng)
    broker = Broker(town)
    paths = rng.sample(("/claims/{n}", "/policies/{n}", "/brokers/{n}", "/forms/{n}"), 3)
    town.start_clients(broker.haproxy.address, rng.uniform(25, 45), paths)
    broker.lose_second_route()
    time.sleep(8.0)
    yield town.build_live(broker.haproxy.pid, "")


@contextmanager
def _boxes_of_farms(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: in which domains the resolver of the host tries a name first."""
    town = Town(environment, rng)
    farms = Farms(town, rng.uniform(220, 380))
    nginx = start_front(town, farms.build_location("/"), farms.upstream)
    others = rng.randrange(2, 4)
    paths = ["/arrivals/{n}"] * 2 + [rng.choice(("/boxes/{n}", "/farms/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(5, 8) * (others + 2), paths)
    farms.search_in([*farms.far, *farms.near] if rng.random() < 0.5 else [*farms.near, *farms.far])
    # The service looks for new settings of the resolver every five seconds.
    time.sleep(9.0)
    yield town.build_live(rng.choice((farms.service.pid, nginx.pid)))


SCENARIOS = (
    Scenario(
        "broker-claims", "development", "claims-of-a-broker", ("packet-loss-upstream",),
        "The second of two equal routes loses all packets with its link up; a hash puts half of the connections on it.",
        _claims_of_a_broker, needs=("haproxy", "iptables"), seconds=10.0, software=("haproxy",),
    ),
    Scenario(
        "farm-boxes", "development", "boxes-of-farms", ("slow-name-resolution",),
        "The resolver tries a carrier's name in domains of a head office first, whose name server answers late.",
        _boxes_of_farms, needs=(GO, "nginx"), seconds=10.0, software=("go", "nginx"),
    ),
)  # fmt: skip
