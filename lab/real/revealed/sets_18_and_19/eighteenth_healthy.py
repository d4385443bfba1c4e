"""A host that is busy and healthy: skipped recordings, slow routes, new statistics: an eighteenth set."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.harbor.mover import Mover
from lab.real.services.harbor.paint_maker import PaintMaker
from lab.real.services.harbor.podcasts import PodcastPublisher, start_listeners
from lab.real.services.harbor.ski_resort import SkiResort
from lab.real.services.harbor.stationer import Stationer
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _harbor_in_season(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Pools and limits have room, locks are passed over, and statistics are collected after each import."""
    town = Town(environment, rng)
    podcasts = PodcastPublisher(town, rng.randrange(30, 41), rng.choice((512, 640, 768, 1024)), "127.0.0.1")
    conns, route_s = rng.randrange(6, 11), rng.uniform(1.1, 1.6)
    mover = Mover(town, conns, route_s, rng.randrange(20, 30))
    paints = PaintMaker(
        town, rng.randrange(60, 70), rng.randrange(14, 22), rng.randrange(4_200, 4_800), 3_000
    )
    stationer = Stationer(town, rng.randrange(6, 9), rng.uniform(110, 160), rng.randrange(5, 12))
    resort = SkiResort(town, rng.randrange(1_700, 2_100), rng.randrange(1_700, 2_100))
    resort.import_season()
    resort.collect_statistics()
    resort.sell_season()
    locations = (
        "".join(mover.build_location(path) for path in ("/vans/", "/crates/", "/routes/", "/prices/"))
        + "".join(stationer.build_location(path) for path in ("/cards/", "/papers/"))
        + "".join(resort.build_location(path) for path in ("/passes/", "/guests/", "/lifts/"))
        + podcasts.build_location("/shows/")
        + podcasts.build_location("/episodes/")
    )
    upstreams = mover.upstream + stationer.upstream + resort.upstream + podcasts.upstream
    nginx = Nginx(
        environment, town.take_ports(1)[0], NginxSettings(http_lines=upstreams, server_lines=locations)
    )  # fmt: skip
    start_listeners(town, nginx.address, rng.uniform(3, 6))
    start_requests(environment, rng, nginx.address, conns / route_s * rng.uniform(0.4, 0.6), "/routes/{n}")
    start_requests(
        environment, rng, nginx.address, rng.uniform(5, 9), "/shows/{n}", "/cards/{n}", "/papers/{n}"
    )
    start_requests(
        environment, rng, paints.haproxy.address, rng.uniform(5, 9), "/mixtures/{n}", "/shades/{n}"
    )
    paths = ["/passes/{n}"] * rng.randrange(1, 3) + ["/guests/{n}", "/lifts/{n}", "/vans/{n}", "/prices/{n}"]
    town.start_clients(nginx.address, rng.uniform(16, 24), paths, warm_s=8.0)
    pid = rng.choice((podcasts.pid, mover.pid, paints.pid, stationer.mariadb.pid, resort.postgres.pid))
    yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-harbor", "healthy", "healthy", (),
        "Node whose listeners skip, a Go pool with room, Java, MariaDB with jobs, PostgreSQL with new statistics.",
        _harbor_in_season,
        needs=(
            "node", "prlimit", GO, "java", "javac", "haproxy", "mariadbd", "mariadb-install-db", POSTGRES, "gunicorn",
            "nginx",
        ),
        software=("node", "go", "java", "mariadb", "postgresql", "gunicorn", "nginx"),
    ),
)  # fmt: skip
