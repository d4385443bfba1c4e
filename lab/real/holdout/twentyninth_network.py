"""Glasses of an optician, and pickups of a laundry: a twenty-ninth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.county.laundry import Laundry
from lab.real.services.county.optician import Optician
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _glasses_of_an_optician(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: when the certificate of the authority between the root and the service ends."""
    town = Town(environment, rng)
    optician = Optician(town, rng.uniform(300, 900))
    nginx = start_front(town, optician.build_location("/"), optician.upstream)
    others = rng.randrange(1, 4)
    paths = ["/glasses/{n}"] + [rng.choice(("/frames/{n}", "/tests/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(20, 35), paths, warm_s=4.0)
    optician.renew_chain(-rng.uniform(0.02, 2))
    time.sleep(4.0)
    yield town.build_live(rng.choice((optician.pid, optician.apache.pid)), optician.service.access_log)


@contextmanager
def _pickups_of_a_laundry(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how HAProxy chooses a server."""
    town = Town(environment, rng)
    laundry = Laundry(town, rng.choice(("roundrobin", "leastconn")))
    others = rng.randrange(1, 3)
    paths = ["/pickups/{n}"] * 2 + ["/prices/{n}"] * others
    rate = rng.uniform(1.4, 1.7) * laundry.server_rate
    town.start_clients(laundry.haproxy.address, rate * (2 + others) / 2, paths, warm_s=4.0)
    laundry.haproxy.restart(balance="source")
    time.sleep(8.0)
    pid = rng.choice((laundry.haproxy.pid, laundry.servers[0].pid))
    yield town.build_live(pid, "")


SCENARIOS = (
    Scenario(
        "optician-glasses", "holdout", "glasses-of-an-optician", ("certificate-expired",),
        "The certificate of an authority has expired that Apache sends with its own; a Go service refuses the chain.",
        _glasses_of_an_optician, needs=("apache2", "nginx", GO), seconds=8.0, software=("apache2", "go", "nginx"),
    ),
    Scenario(
        "laundry-pickups", "holdout", "pickups-of-a-laundry", ("worker-pool-exhausted",),
        "HAProxy chooses a server by the address of the client, which all have in common; one of three does all work.",
        _pickups_of_a_laundry, needs=("haproxy", "java", "javac"), seconds=10.0, software=("haproxy", "java"),
    ),
)  # fmt: skip
