"""CPU time of a customer, memory of a container, and files of a volume: a nineteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.boat_rentals import BoatRentals
from lab.real.services.coast.dive_films import DiveFilms
from lab.real.services.coast.front import start_front
from lab.real.services.coast.lighthouse import Lighthouse
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _rentals_of_boats(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the office of the customer makes its reports of the season."""
    town = Town(environment, rng)
    boats = BoatRentals(town)
    paths = ["/boats/{n}"] * rng.randrange(2, 4) + ["/harbors/{n}"]
    rate = rng.uniform(52, 64)
    warm = start_requests(environment, rng, boats.address, rate, *paths)
    time.sleep(5.0)
    used = boats.measure_cpus(5.0)
    environment.stop(warm.process)
    cpus = used * rng.uniform(1.6, 1.72)
    boats.customer.limit_cpu(cpus)
    town.start_clients(boats.address, rate, paths)
    boats.make_reports(rng.randrange(3, 6), rng.randrange(150_000, 250_000), rng.uniform(0.2, 0.5))
    time.sleep(6.0)
    yield town.build_group_live(
        boats.server.pid, boats.pod, boats.access_log, used=round(used, 2), cpus=round(cpus, 2)
    )


@contextmanager
def _panoramas_of_a_lighthouse(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: where the service keeps what it has painted."""
    town = Town(environment, rng)
    lighthouse = Lighthouse(town)
    nginx = start_front(town, lighthouse.build_location("/"), lighthouse.upstream)
    painted = rng.uniform(0.5, 0.7) / lighthouse.paint_s
    others = rng.randrange(5, 8)
    paths = ["/panoramas/{n}"] + ["/views/{n}"] * others
    town.start_clients(nginx.address, painted * (others + 1), paths, warm_s=6.0)
    lighthouse.keep_in(lighthouse.memory)
    time.sleep(18.0)
    pid = rng.choice((lighthouse.app.pid, nginx.pid))
    yield town.build_group_live(pid, lighthouse.pod)


@contextmanager
def _films_of_divers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much of a file the kernel reads in advance, which a guide for databases sets to nothing."""
    town = Town(environment, rng)
    rate, iops = rng.uniform(8, 11), rng.randrange(500, 900)
    films = DiveFilms(town, iops, 1_200)
    nginx = start_front(town, films.build_location("/"))
    town.start_clients(nginx.address, rate, ["/films/{n}.mp4"], range_=films.films)
    films.read_ahead(0)
    time.sleep(6.0)
    yield town.build_live(nginx.pid)


SCENARIOS = (
    Scenario(
        "boat-rentals", "development", "rentals-of-boats", ("cpu-quota-throttling", "cpu-neighbour-contention"),
        "All containers of a customer share a limit of CPU time; reports of its office leave the Java service little.",
        _rentals_of_boats, needs=("java", "javac", "sort", "awk"), seconds=10.0, software=("java",),
    ),
    Scenario(
        "lighthouse-views", "development", "panoramas-of-a-lighthouse", ("memcg-oom-kill", "memory-file-system-large"),
        "What gunicorn paints is kept in memory, which counts for its container; the kernel ends its workers.",
        _panoramas_of_a_lighthouse, needs=("gunicorn", "nginx"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
    Scenario(
        "dive-films", "development", "films-of-divers", ("disk-saturation", "volume-rate-limit", "small-read-pattern"),
        "The kernel reads nothing in advance, so a film takes many small requests; the volume does too few a second.",
        _films_of_divers, needs=("nginx", "mkfs.ext4"), seconds=10.0, software=("nginx",),
    ),
)  # fmt: skip
