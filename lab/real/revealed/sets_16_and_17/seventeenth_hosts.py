"""CPU time of a container, memory of a container, and a volume with a neighbor: a seventeenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.districts.building_sites import BuildingSites
from lab.real.services.districts.college import College
from lab.real.services.districts.zoo import Zoo
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.real.services.towns.volumes import mount_small_disk
from lab.scenario import Live, Scenario

DIRTY_RATIO = "/proc/sys/vm/dirty_ratio"
LINE = "site {n}: concrete, floor 2, {v}"


@contextmanager
def _tickets_of_a_zoo(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much CPU time the container of the tickets requests."""
    town = Town(environment, rng)
    zoo = Zoo(town, rng.randrange(30, 50) * 100)
    zoo.pack_films(rng.randrange(3, 6), rng.randrange(10, 16) * 100)
    town.start_clients(zoo.address, rng.uniform(18, 26), zoo.draw_paths(), warm_s=4.0)
    millis = round(zoo.measure_request(5.0) * rng.uniform(3.2, 4.5))
    zoo.request_cpu(millis)
    time.sleep(6.0)
    yield town.build_group_live(zoo.pid, zoo.pod, zoo.access_log, released_millis=millis)


@contextmanager
def _faces_of_a_college(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much the Redis in the container of OpenLDAP keeps."""
    town = Town(environment, rng)
    college = College(town, rng.randrange(9_000, 13_000), rng.randrange(300, 400))
    college.keep_sessions(rng.uniform(2, 6))
    spare_mb = rng.randrange(28, 44)
    megabytes = college.limit_memory(spare_mb)
    town.start_clients(college.address, rng.uniform(40, 55), college.draw_paths(), warm_s=5.0)
    sessions_mb = college.size_mb * rng.uniform(0.45, 0.55) + spare_mb
    college.keep_sessions(sessions_mb)
    time.sleep(8.0)
    pid = rng.choice((college.pid, college.app.pid))
    yield town.build_group_live(
        pid, college.pod, "", megabytes=megabytes, database_mb=college.size_mb, sessions_mb=round(sessions_mb)
    )


@contextmanager
def _pictures_of_sites(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether another container copies archives of former sites to the volume of the pictures."""
    volume, speed = f"/srv/{rng.choice(('files', 'volume2', 'shared'))}", rng.uniform(9, 13)
    environment.cleanup.set_global(DIRTY_RATIO, "1")
    town = Town(environment, rng)
    with mount_small_disk(
        environment, volume, rng.randrange(1_800, 2_200), speed, (environment.app,), "noatime"
    ):
        sites = BuildingSites(town, volume)
        low, high = rng.randrange(200_000, 260_000), rng.randrange(400_000, 500_000)
        request, *plans = sites.draw_requests(low, high)
        # Pictures of many buildings have hardly ever the name of an earlier one.
        buildings = [
            request.replace("{n}", f"{number}/{{n}}") for number in rng.sample(range(100, 1_000), 90)
        ]
        requests = [*buildings, *plans * (180 // len(plans))]
        rate = rng.uniform(25, 40)
        town.start_senders(sites.nginx.address, rate, requests, LINE, warm_s=5.0, range_=sites.plans)
        town.parameters["requests"] = [request, *plans]
        sites.copy_archives(rng.randrange(8, 12), rng.randrange(50, 70))
        time.sleep(12.0)
        yield town.build_live(sites.pid, mb_per_s=round(speed, 1), low=low, high=high)


SCENARIOS = (
    Scenario(
        "zoo-tickets", "development", "tickets-of-a-zoo", ("cpu-neighbour-contention",),
        "The container of the tickets requests hardly any CPU time; a container that packs films uses nearly all.",
        _tickets_of_a_zoo, needs=(GO, "gzip"), seconds=10.0, software=("go",), global_effect=("cpu",),
    ),
    Scenario(
        "college-faces", "development", "faces-of-a-college", ("major-fault-thrashing", "memcg-page-cache-thrashing"),
        "Sessions fill the container of OpenLDAP; its mapped database is read from the volume again and again.",
        _faces_of_a_college, needs=("slapd", "slapadd", "redis-server", "gunicorn", "mkfs.ext4"), seconds=10.0,
        software=("openldap", "gunicorn"),
    ),
    Scenario(
        "site-pictures", "development", "pictures-of-sites", ("dirty-limit-reached", "disk-saturation"),
        "Copies of archives fill what the kernel lets wait for the volume; each write of nginx waits with them.",
        _pictures_of_sites, needs=("nginx", "mkfs.ext4"), seconds=10.0, software=("nginx",),
        global_effect=("dirty-ratio",),
    ),
)  # fmt: skip
