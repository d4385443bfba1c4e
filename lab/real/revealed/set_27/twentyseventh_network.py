"""Appointments of salons: a twenty-seventh set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.parish.salons import Salons
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _appointments_of_salons(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many connections a second the firewall lets an address open."""
    town = Town(environment, rng)
    salons = Salons(town)
    nginx = start_front(town, salons.build_location("/"), salons.upstream)
    rate = rng.uniform(45, 80)
    salons.start_firewall(nginx.port, round(rate * rng.uniform(3, 5)), round(rate * 2))
    paths = ["/appointments/{n}"] + ["/salons/{n}"] * rng.randrange(1, 3) + ["/hours/{n}"]
    town.start_clients(nginx.address, rate, paths, warm_s=4.0)
    most = round(rate * rng.uniform(0.82, 0.92))
    salons.change_limit(nginx.port, most, rng.randrange(5, 15))
    time.sleep(6.0)
    yield town.build_live(rng.choice((nginx.pid, salons.pid)), salons.service.access_log, most=most)


SCENARIOS = (
    Scenario(
        "salon-appointments", "development", "appointments-of-salons", ("firewall-drop",),
        "The firewall lets an address open fewer connections a second than the portal of a new customer needs.",
        _appointments_of_salons, needs=(GO, "nginx", "iptables"), seconds=10.0,
        software=("iptables", "nginx", "go"),
    ),
)  # fmt: skip
