"""Releases of web services: maps in Java, the shop of a winery in PHP, lessons on aiohttp: a sixteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.valley.map_publisher import MapPublisher
from lab.real.services.valley.tutoring import Tutoring
from lab.real.services.valley.winery import Winery
from lab.scenario import Live, Scenario

# What it costs to compile a method of a rule, in seconds of a CPU.
METHOD_S = 45e-6


@contextmanager
def _sheets_of_a_publisher(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release, which paints a sheet in a kept buffer or in new buffers outside of the heap."""
    town = Town(environment, rng)
    before, after = rng.randrange(24, 30), rng.randrange(30, 36)
    maps = MapPublisher(town, before, rng.uniform(0.38, 0.44), rng.choice((24, 28, 32)))
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=maps.upstream, server_lines=maps.build_location("/")),
    )  # fmt: skip
    # The first collection after a start moves all routes, which takes as long as a fault: it comes before the clients.
    environment.host_sh(f"jcmd {maps.pid} GC.run")
    sheets, others = rng.randrange(2, 4), rng.randrange(3, 5)
    paths = ["/sheets/{n}"] * sheets + [rng.choice(("/routes/{n}", "/huts/{n}")) for _ in range(others)]
    rate = rng.uniform(30, 36) * len(paths) / sheets
    town.start_clients(nginx.address, rate, paths, warm_s=6.0)
    maps.replace(after)
    time.sleep(8.0)
    yield town.build_live(rng.choice((maps.pid, nginx.pid)), releases=[before, after])


@contextmanager
def _builds_of_a_winery(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the directory of the release; php-fpm keeps what it has compiled of the former release."""
    town = Town(environment, rng)
    share = rng.uniform(0.64, 0.74)
    winery = Winery(town, share)
    nginx = Nginx(environment, town.take_ports(1)[0], NginxSettings(server_lines=winery.location))
    paths = ["/wines/{n}"] * rng.randrange(2, 5) + ["/orders/{n}"] * rng.randrange(1, 3) + ["/members/{n}"]
    again = winery.applied * (1 - (1 - share) / share)
    rate = rng.uniform(1.0, 1.3) / (again * winery.methods * METHOD_S)
    town.start_clients(nginx.address, rate, paths, warm_s=5.0)
    release = winery.install_release()
    time.sleep(10.0)
    yield town.build_live(rng.choice((winery.php.pid, nginx.pid)), release=release)


@contextmanager
def _lessons_of_tutors(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release, in which each school prepares the log of the service."""
    town = Town(environment, rng)
    before, after = rng.randrange(14, 20), rng.randrange(20, 26)
    lessons, others = rng.randrange(3, 6), rng.randrange(2, 4)
    paths = ["/lessons/{n}"] * lessons + [rng.choice(("/pupils/{n}", "/rooms/{n}")) for _ in range(others)]
    rate = rng.uniform(38, 50)
    lines = (5 * lessons + 3 * others) / len(paths)
    schools = round(rng.uniform(0.84, 0.92) / (rate * lines * Tutoring.LINE_S))
    tutoring = Tutoring(town, schools, before)
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=tutoring.upstream, server_lines=tutoring.build_location("/")),
    )  # fmt: skip
    town.start_clients(nginx.address, rate, paths, warm_s=4.0)
    tutoring.replace(after)
    time.sleep(6.0)
    yield town.build_live(rng.choice((tutoring.server.pid, nginx.pid)), releases=[before, after])


SCENARIOS = (
    Scenario(
        "map-sheets", "development", "sheets-of-a-publisher", ("gc-pauses",),
        "A release paints in new buffers outside of the heap, whose limit lets the JVM collect everything each time.",
        _sheets_of_a_publisher, needs=("java", "javac", "jcmd", "nginx"), seconds=10.0, software=("java", "nginx"),
    ),
    Scenario(
        "winery-builds", "development", "builds-of-a-winery", ("cache-memory-limit", "cpu-hot-function"),
        "The memory for compiled PHP still has the former release; half of the next is compiled at each request.",
        _builds_of_a_winery, needs=("php-fpm8.2", "nginx"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
    Scenario(
        "tutor-lessons", "development", "lessons-of-tutors", ("duplicate-logging", "log-flood"),
        "A release adds a handler of the log for each school, so that each line is written hundreds of times.",
        _lessons_of_tutors, needs=("nginx", "setpriv", "prlimit"), seconds=10.0, software=("aiohttp", "nginx"),
    ),
)  # fmt: skip
