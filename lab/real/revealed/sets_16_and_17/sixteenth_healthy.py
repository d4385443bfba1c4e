"""A host that is busy and healthy: two builds in the memory of PHP, printers that end on purpose, quick imports."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.valley.concert_hall import ConcertHall
from lab.real.services.valley.map_publisher import MapPublisher
from lab.real.services.valley.nursery import Nursery
from lab.real.services.valley.tutoring import Tutoring
from lab.real.services.valley.winery import Winery
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _valley_in_season(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Limits have room, jobs are frequent and forget little, and lines of the log are many and written once."""
    town = Town(environment, rng)
    maps = MapPublisher(town, rng.randrange(24, 30), rng.uniform(0.45, 0.55), rng.choice((40, 48, 56)))
    tutoring = Tutoring(town, rng.randrange(200, 400), rng.randrange(14, 20))
    winery = Winery(town, rng.uniform(0.36, 0.42))
    # A printer ends after some tickets, as many do that are not trusted to keep their memory.
    hall = ConcertHall(town, rng.randrange(3, 6), rng.uniform(0.1, 0.3), most=rng.randrange(12, 20))
    nursery = Nursery(
        town, kinds=rng.randrange(18, 24), plants_of_a_kind=rng.randrange(3_000, 5_000), every_s=rng.uniform(4, 7),
        forget="changed",
    )  # fmt: skip
    locations = (
        "".join(maps.build_location(path) for path in ("/sheets/", "/routes/"))
        + "".join(tutoring.build_location(path) for path in ("/lessons/", "/rooms/"))
        + "".join(nursery.build_location(path) for path in ("/plants/", "/orders/"))
    )
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(
            http_lines=maps.upstream + tutoring.upstream + nursery.upstream, server_lines=locations + winery.location
        ),
    )  # fmt: skip
    list_s = nursery.fill_cache(nginx.address)
    start_requests(environment, rng, nginx.address, rng.uniform(3, 6), "/sheets/{n}", "/routes/{n}")
    start_requests(environment, rng, nginx.address, rng.uniform(6, 10), "/lessons/{n}", "/rooms/{n}")
    start_requests(environment, rng, nginx.address, rng.uniform(5, 9), "/wines/{n}", "/members/{n}")
    tickets = hall.choose_path(town)
    start_requests(environment, rng, hall.haproxy.address, rng.uniform(3, 5), tickets, "/concerts/{n}")
    time.sleep(4.0)
    release = winery.install_release()
    paths = ["/plants/{n}"] * rng.randrange(2, 4) + ["/orders/{n}"]
    town.start_clients(nginx.address, rng.uniform(14, 22), paths, warm_s=8.0)
    pid = rng.choice((maps.pid, tutoring.server.pid, winery.php.pid, hall.desk.pid, nursery.app.pid))
    yield town.build_live(pid, release=release, list_ms=round(list_s * 1000))


SCENARIOS = (
    Scenario(
        "busy-valley", "healthy", "healthy", (),
        "Java, PHP with two builds, printers that end on purpose, aiohttp with many lines, imports that forget little.",
        _valley_in_season,
        needs=(
            "java", "javac", "php-fpm8.2", GO, "beanstalkd", "haproxy", "mariadbd", "mariadb-install-db", "gunicorn",
            "memcached", "nginx", "curl", "setpriv", "prlimit",
        ),
        software=("java", "php-fpm", "go", "beanstalkd", "aiohttp", "memcached", "mariadb", "gunicorn"),
    ),
)  # fmt: skip
