"""Hosts that are busy and healthy: services of a county near their limits: a twenty-ninth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.county.anglers import Anglers
from lab.real.services.county.beekeepers import Beekeepers
from lab.real.services.county.laundry import Laundry
from lab.real.services.county.optician import Optician
from lab.real.services.county.sign_maker import SignMaker
from lab.real.services.county.vet import Vet
from lab.real.services.golang import GO
from lab.real.services.postgres import POSTGRES
from lab.real.services.redis import Redis
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

# Keeps pictures in a Redis that has room for few of them and drops those that were not used for long.
PICTURES = """while :; do redis-benchmark -p {port} -t set -r 9000 -n {count} -d 3000 -c 2 -q >"$0" 2>&1
sleep {pause_s:.2f}; done"""
# A copy of the tables for another office, with the lowest priority.
COPY = """while :; do sleep {pause_s:.2f}
nice -n 19 mariadb-dump --no-defaults -u shop -pshop -h 127.0.0.1 -P {port} --single-transaction shop >"$0" 2>&1
done"""


@contextmanager
def _clinic_in_spring(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """Letters that are posted in time, next to a cache that is full on purpose, and a release that is fine."""
    town = Town(environment, rng)
    vet = Vet(town, "noeviction")
    maker = SignMaker(town, rng.choice((512, 1024)), rng.randrange(2, 4))
    bookings = rng.uniform(2, 3.5)
    vet.limit_memory(round(bookings * vet.letter_kb * rng.uniform(20, 30)))
    pictures = Redis(
        environment, town.take_ports(1)[0], "--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru"
    )
    words = PICTURES.format(port=pictures.port, count=rng.randrange(200, 600), pause_s=rng.uniform(0.5, 1.5))
    environment.on_host(["sh", "-c", words, str(environment.directory / "pictures.txt")])
    locations = vet.build_location("~ ^/(appointments|animals|hours)/") + maker.build_location("/")
    nginx = start_front(town, locations, vet.upstream + maker.upstream)
    paths = ["/appointments/{n}", "/animals/{n}", "/hours/{n}", "/plates/{n}", "/signs/{n}"]
    town.start_clients(nginx.address, bookings * len(paths), paths, warm_s=6.0)
    vet.restart_post(vet.queue)
    time.sleep(3.0)
    yield town.build_live(rng.choice((vet.pid, vet.redis.pid, maker.pid, nginx.pid)))


@contextmanager
def _apiary_after_summer(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """A report that PostgreSQL compiles, pages that it does not, and many sessions that do nothing."""
    town = Town(environment, rng)
    keepers = Beekeepers(town, jit="on", jit_above_cost=1_000_000, max_connections=200)
    keepers.hold_sessions(rng.randrange(12, 25))
    keepers.start_report()
    nginx = start_front(town, keepers.build_location("/"), keepers.upstream)
    paths = ["/harvests/{n}"] + [
        rng.choice(("/hives/{n}", "/flowers/{n}")) for _ in range(rng.randrange(2, 5))
    ]
    town.start_clients(nginx.address, rng.uniform(2.5, 4) * len(paths), paths, warm_s=8.0)
    yield town.build_live(rng.choice((keepers.app.pid, keepers.postgres.pid)))


@contextmanager
def _riverside_before_a_season(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """A MariaDB that resolves addresses, which a name server answers, idle sessions, copies and a release."""
    town = Town(environment, rng)
    anglers = Anglers(town, resolves=True, silent=False)
    anglers.hold_sessions(rng.randrange(15, 30))
    words = COPY.format(port=anglers.mariadb.port, pause_s=rng.uniform(3, 6))
    environment.on_host(["sh", "-c", words, str(environment.directory / "copy.sql")])
    nginx = start_front(town, anglers.build_location("/"))
    paths = ["/shore?page=licenses&n={n}"] + ["/shore?page=waters&n={n}"] * rng.randrange(1, 4)
    town.start_clients(nginx.address, rng.uniform(4, 7) * len(paths), paths, warm_s=6.0)
    anglers.release_page()
    time.sleep(3.0)
    yield town.build_live(rng.choice((anglers.php.pid, anglers.mariadb.pid)))


@contextmanager
def _high_street_on_saturday(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """Servers that are chosen by addresses and have room, and a chain with a certificate that clients do not need."""
    town = Town(environment, rng)
    laundry, optician = Laundry(town, "source"), Optician(town, -rng.uniform(1, 20), rng.uniform(300, 900))
    nginx = start_front(town, optician.build_location("/"), optician.upstream)
    start_requests(environment, rng, nginx.address, rng.uniform(8, 14), "/glasses/{n}", "/frames/{n}")
    paths = ["/pickups/{n}"] + ["/prices/{n}"] * rng.randrange(2, 4)
    rate = rng.uniform(0.4, 0.6) * laundry.server_rate
    laundry.start_offices(rng.randrange(8, 14), rate * len(paths), paths)
    pid = rng.choice((laundry.haproxy.pid, laundry.servers[0].pid, optician.pid, optician.apache.pid))
    yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-clinic", "healthy", "healthy", (),
        "Letters that are posted in time, a Redis that is full on purpose, tools that Perl starts; all is well.",
        _clinic_in_spring, needs=("redis-server", "redis-cli", "redis-benchmark", "node", "perl", "prlimit", "nginx"),
        software=("redis", "node", "perl", "nginx"),
    ),
    Scenario(
        "busy-apiary", "healthy", "healthy", (),
        "PostgreSQL compiles a long report and no page; many sessions do nothing.",
        _apiary_after_summer, needs=(POSTGRES, "psql", "gunicorn", "nginx"),
        software=("postgresql", "gunicorn", "nginx"),
    ),
    Scenario(
        "busy-riverside", "healthy", "healthy", (),
        "MariaDB resolves addresses in time; idle sessions, copies of low priority and a release that is fine.",
        _riverside_before_a_season,
        needs=("mariadbd", "mariadb-install-db", "mariadb", "mariadb-dump", "php-fpm8.2", "nginx"),
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "busy-high-street", "healthy", "healthy", (),
        "HAProxy chooses servers by addresses of many offices; a chain has a former certificate next to the new one.",
        _high_street_on_saturday, needs=("haproxy", "java", "javac", "apache2", "nginx", GO),
        software=("haproxy", "java", "apache2", "go", "nginx"),
    ),
)  # fmt: skip
