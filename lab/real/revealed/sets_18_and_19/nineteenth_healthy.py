"""A host that is busy and healthy: a limit, a memory file system, a volume, names and sessions that look suspicious."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.boat_rentals import BoatRentals
from lab.real.services.coast.buoy_reports import BuoyReports
from lab.real.services.coast.dive_films import DiveFilms
from lab.real.services.coast.front import start_front
from lab.real.services.coast.lighthouse import Lighthouse
from lab.real.services.coast.sea_weather import SeaWeather
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _boats_and_more(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Short reports of an office, films that are read in advance, sessions that are taken up, names that are known."""
    town = Town(environment, rng)
    films = DiveFilms(town, rng.randrange(700, 1_100), 500)
    weather = SeaWeather(town)
    lighthouse = Lighthouse(town)
    locations = films.build_location("/films/") + weather.build_location("/")
    for location in ("/panoramas/", "/views/"):
        locations += lighthouse.build_location(location)
    nginx = start_front(town, locations, lighthouse.upstream)
    reports = BuoyReports(town)
    boats = BoatRentals(town)
    boats.customer.limit_cpu(rng.uniform(1.0, 1.2))
    boats.make_reports(1, rng.randrange(3_000, 9_000), rng.uniform(3, 6))
    start_requests(
        environment, rng, nginx.address, rng.uniform(2, 4), "/films/{n}.mp4",
        options=("--range", films.films),
    )  # fmt: skip
    start_requests(environment, rng, nginx.address, rng.uniform(6, 10), "/tides/{n}", "/winds/{n}")
    start_requests(environment, rng, nginx.address, rng.uniform(4, 7), "/panoramas/{n}", *["/views/{n}"] * 5)
    reports.start_buoys(rng.uniform(15, 25), rng.randrange(40, 80))
    paths = ["/boats/{n}"] * rng.randrange(1, 3) + ["/harbors/{n}"]
    town.start_clients(boats.address, rng.uniform(14, 20), paths, warm_s=6.0)
    pid = rng.choice((boats.server.pid, weather.php.pid, reports.haproxy.pid))
    yield town.build_group_live(pid, boats.pod, boats.access_log)


SCENARIOS = (
    Scenario(
        "busy-coast", "healthy", "healthy", (),
        "Java, nginx, php-fpm, gunicorn and HAProxy with limits, a volume, a name server and TLS that are enough.",
        _boats_and_more,
        needs=(
            GO, "java", "javac", "sort", "awk", "nginx", "mkfs.ext4", "php-fpm8.2", "dnsmasq", "haproxy", "openssl",
            "gunicorn",
        ),
        software=("java", "nginx", "php-fpm", "gunicorn", "haproxy"),
    ),
)  # fmt: skip
