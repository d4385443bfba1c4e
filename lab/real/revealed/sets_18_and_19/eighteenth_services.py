"""Services without a database of their own: recordings of Node, quotes of Go, mixtures of Java: an eighteenth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.golang import GO
from lab.real.services.harbor.mover import Mover
from lab.real.services.harbor.paint_maker import PaintMaker
from lab.real.services.harbor.podcasts import PodcastPublisher, start_listeners
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _episodes_of_podcasts(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which sends a recording to its end or to that of the connection."""
    town = Town(environment, rng)
    before, after = rng.randrange(30, 41), rng.randrange(41, 50)
    podcasts = PodcastPublisher(town, before, rng.choice((512, 640, 768, 1024)))
    start_listeners(town, podcasts.address, podcasts.open_files / rng.uniform(14, 18))
    paths = ["/shows/{n}"] * rng.randrange(2, 4) + ["/episodes/{n}", "/charts/{n}"]
    town.start_clients(podcasts.address, rng.uniform(14, 20), paths, warm_s=3.0)
    podcasts.replace(after)
    wait_for(lambda: podcasts.count_files() >= podcasts.open_files - 2, "the files of the podcasts", 60.0)
    time.sleep(2.0)
    yield town.build_live(podcasts.pid, podcasts.access_log, releases=[before, after])


@contextmanager
def _quotes_of_a_mover(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which reads routes over connections of their own or over those of all calls."""
    town = Town(environment, rng)
    before, after = rng.randrange(20, 30), rng.randrange(30, 40)
    conns, route_s = rng.randrange(6, 11), rng.uniform(1.1, 1.6)
    mover = Mover(town, conns, route_s, before)
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=mover.upstream, server_lines=mover.build_location("/")),
    )  # fmt: skip
    plain = ["/vans/{n}"] * rng.randrange(4, 7) + ["/crates/{n}"] * rng.randrange(2, 5) + ["/prices/{n}"] * 2
    routes = conns / route_s * rng.uniform(1.05, 1.25)
    start_requests(environment, rng, nginx.address, routes, "/routes/{n}")
    town.start_clients(nginx.address, rng.uniform(40, 60), plain, warm_s=4.0)
    mover.replace(after)
    time.sleep(8.0)
    yield town.build_live(
        rng.choice((mover.pid, nginx.pid)), releases=[before, after], routes_per_s=round(routes, 1)
    )


@contextmanager
def _mixtures_of_paints(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, whose tints have a name and a hash code of their own."""
    town = Town(environment, rng)
    before, after = rng.randrange(60, 70), rng.randrange(70, 80)
    # Each release runs before there are clients: what a mixture costs depends on the caches of the CPU.
    paints = PaintMaker(
        town, after, rng.randrange(14, 22), rng.randrange(4_200, 4_800), rng.randrange(6_000, 7_500)
    )
    mixture_s = paints.measure_mixture(12)
    paints.replace(before)
    mixtures, others = rng.randrange(2, 4), rng.randrange(4, 7)
    paths = ["/mixtures/{n}"] * mixtures + [rng.choice(("/shades/{n}", "/tins/{n}")) for _ in range(others)]
    rate = rng.uniform(0.95, 1.1) / mixture_s * len(paths) / mixtures
    town.start_clients(paints.haproxy.address, rate, paths, warm_s=4.0)
    paints.replace(after)
    time.sleep(10.0)
    yield town.build_live(
        rng.choice((paints.pid, paints.haproxy.pid)), paints.access_log, releases=[before, after]
    )


SCENARIOS = (
    Scenario(
        "podcast-episodes", "development", "episodes-of-podcasts", ("file-descriptor-limit",),
        "A release keeps the file of each recording open that a listener skips, until Node may open no more files.",
        _episodes_of_podcasts, needs=("node", "prlimit"), seconds=10.0, software=("node",),
    ),
    Scenario(
        "mover-quotes", "development", "quotes-of-a-mover", ("connection-pool-exhausted",),
        "A release of a Go service reads slow routes over the few connections that all other calls of depots have.",
        _quotes_of_a_mover, needs=(GO, "nginx"), seconds=10.0, software=("go", "nginx"),
    ),
    Scenario(
        "paint-mixtures", "development", "mixtures-of-paints", ("cpu-hot-function",),
        "A release of a Java service gives all tints of a base the same hash code; each look-up compares thousands.",
        _mixtures_of_paints, needs=("java", "javac", "haproxy", "curl"), seconds=10.0, software=("java", "haproxy"),
        global_effect=("cpu",),
    ),
)  # fmt: skip
