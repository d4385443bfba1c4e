"""Stocks of a tire dealer, and tenancies of a landlord: a twenty-eighth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.borough.landlord import Landlord
from lab.real.services.borough.tires import TireDealer
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _stocks_of_a_tire_dealer(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether a release reads the files of suppliers through a buffer."""
    town = Town(environment, rng)
    dealer = TireDealer(town)
    nginx = start_front(town, dealer.build_location("/"), dealer.upstream)
    dealer.start("-follow")
    stock_s, others = dealer.measure_stock(6), rng.randrange(1, 4)
    dealer.service.stop()
    dealer.start()
    paths = ["/stocks/{n}"] + [rng.choice(("/sizes/{n}", "/tires/{n}")) for _ in range(others)]
    rate = rng.uniform(1.15, 1.35) / stock_s
    town.start_clients(nginx.address, rate * (1 + others), paths, warm_s=4.0)
    dealer.restart("-follow")
    time.sleep(6.0)
    pid = rng.choice((dealer.pid, nginx.pid))
    yield town.build_live(pid, dealer.service.access_log, stock_ms=round(stock_s * 1000))


@contextmanager
def _tenancies_of_a_landlord(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how long a check waits for an answer of the service."""
    town = Town(environment, rng)
    landlord = Landlord(town)
    nginx = start_front(town, landlord.build_location("/"), landlord.upstream)
    paths = ["/papers/{n}"] * rng.randrange(1, 3) + ["/tenants/{n}"] * rng.randrange(1, 3)
    town.start_clients(nginx.address, rng.uniform(15, 30), paths, warm_s=4.0)
    landlord.write_check(1)
    time.sleep(8.0)
    yield town.build_live(nginx.pid)


SCENARIOS = (
    Scenario(
        "tire-stocks", "development", "stocks-of-a-tire-dealer", ("small-read-pattern", "cpu-hot-function"),
        "A release of a Go service reads files of suppliers with a system call for each byte.",
        _stocks_of_a_tire_dealer, needs=(GO, "nginx", "curl"), seconds=10.0, software=("go", "nginx"),
    ),
    Scenario(
        "tenancy-papers", "development", "tenancies-of-a-landlord", ("crash-loop",),
        "A check gives up on a Java service before its partner has answered, and ends it; it starts all the time.",
        _tenancies_of_a_landlord, needs=("java", "javac", "nginx", "curl"), seconds=10.0, software=("java", "nginx"),
    ),
)  # fmt: skip
