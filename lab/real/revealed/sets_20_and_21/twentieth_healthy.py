"""A host that is busy and healthy: a JVM with an agent, a standby that is read a lot, maps, events: a twentieth set."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.postgres import POSTGRES
from lab.real.services.square.bicycles import Bicycles
from lab.real.services.square.campsite import Campsite
from lab.real.services.square.guesthouses import Guesthouses
from lab.real.services.square.tea_shop import TeaShop
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _square_in_summer(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The agent reads what costs nothing, the board is brief, the relay is quick, and maps have a low priority."""
    town = Town(environment, rng)
    campsite = Campsite(town, rng.randrange(3_000, 5_000))
    try:
        campsite.read_figures(rng.choice(("GC.heap_info", "VM.uptime", "VM.flags")))
        houses, teas, bicycles = Guesthouses(town), TeaShop(town), Bicycles(town)
        locations = teas.build_location("/teas/") + teas.build_location("/baskets/")
        for location in ("/stays/", "/houses/", "/towns/"):
            locations += houses.build_location(location)
        for location in ("/hires/", "/bicycles/", "/routes/"):
            locations += bicycles.build_location(location)
        nginx = start_front(town, locations, houses.upstream + teas.upstream + bicycles.upstream)
        bicycles.prepare_maps(2, rng.randrange(60_000, 120_000), rng.uniform(0.02, 0.06), 19)
        start_requests(environment, rng, nginx.address, rng.uniform(3, 5), "/hires/{n}", "/bicycles/{n}")
        start_requests(environment, rng, nginx.address, rng.uniform(5, 9), "/baskets/{n}", "/teas/{n}")
        start_requests(
            environment, rng, campsite.haproxy.address, rng.uniform(6, 10), "/pitches/{n}", "/stays/{n}"
        )
        paths = ["/stays/{n}"] * rng.randrange(1, 3) + [
            "/houses/{n}",
            "/towns/{n}",
            "/teas/{n}",
            "/routes/{n}",
        ]
        town.start_clients(nginx.address, rng.uniform(16, 24), paths, warm_s=8.0)
        pid = rng.choice((campsite.pid, houses.copy.pid, teas.pid, bicycles.mariadb.pid))
        yield town.build_live(pid)
    finally:
        campsite.remove_files()


SCENARIOS = (
    Scenario(
        "busy-square", "healthy", "healthy", (),
        "Java with an agent and a relay, a standby of PostgreSQL that keeps up, MariaDB next to maps of low priority.",
        _square_in_summer,
        needs=(
            "java", "javac", "jcmd", "haproxy", POSTGRES, "psql", "gunicorn", "nginx", "redis-server", "mariadbd",
            "mariadb-install-db", "gzip",
        ),
        software=("java", "haproxy", "postgresql", "gunicorn", "nginx", "mariadb", "redis"),
    ),
)  # fmt: skip
