"""Hosts that are busy and healthy: a full cache, a long export, a second database that confirms each write."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.hosts.box_office_host import BoxOffice, SecondDatabase
from lab.real.services.hosts.ferry_host import FerryCompany
from lab.real.services.postgres import POSTGRES
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

# A job that packs old documents; an operator has suspended it for the day.
PACKING = 'while :; do head -c {kilobytes}k /dev/urandom | xz -1 >"$0"; sleep 1; done'


@contextmanager
def _confirmed_bookings(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Bookings wait for a second PostgreSQL, as they should; an export reads for minutes, and sessions do nothing."""
    office = BoxOffice(environment, rng, children=rng.choice((16, 24, 32)))
    second = SecondDatabase(environment, rng, office.postgres)
    office.postgres.change_settings(
        synchronous_standby_names=second.name, synchronous_commit=rng.choice(("on", "remote_apply"))
    )
    idle = rng.randrange(15, 40)
    for _ in range(idle):
        office.postgres.start_session("echo 'SELECT 1;'; exec sleep 3600")
    words = PACKING.format(kilobytes=rng.randrange(300, 900))
    packing = environment.on_host(["sh", "-c", words, str(environment.directory / "documents.xz")])
    time.sleep(1.0)
    os.killpg(packing.pid, signal.SIGSTOP)
    pause_s = rng.uniform(0.01, 0.03)
    office.start_session(f"COPY (SELECT o.*, pg_sleep({pause_s:.3f}) FROM orders o) TO STDOUT")
    paths = ["/book/{n}"] * rng.randrange(2, 4) + ["/shows/{n}"] * rng.randrange(4, 7)
    office.start_clients(rng.uniform(70, 110), paths, warm_s=5.0)
    yield office.build_live(rng.choice((office.postgres.pid, office.php.pid)), idle_sessions=idle)


@contextmanager
def _full_memory_of_fares(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The Redis is full and forgets fares all the time, but not those of the sailings that people look at."""
    company = FerryCompany(environment, rng)
    allowed_mb = int(company.count_used_bytes() * rng.uniform(0.5, 0.7)) >> 20
    company.redis.run("CONFIG", "SET", "maxmemory", f"{allowed_mb}mb")
    crawler = rng.uniform(4, 8)
    start_requests(
        environment, rng, company.nginx.address, crawler, "/tours/{n}",
        options=("--range", company.sailings, "--timeout-s", 10),
    )  # fmt: skip
    popular = rng.randrange(200, 400)
    rate = rng.uniform(80, 120)
    visitors = ["/tours/{n}"] * rng.randrange(4, 8) + ["/harbors/{n}"] * rng.randrange(1, 4)
    company.start_clients(rate, visitors, warm_s=25.0, range_=popular)
    yield company.build_live(
        rng.choice((company.redis.pid, company.node.pid)),
        allowed_mb=allowed_mb,
        popular=popular,
        crawler=crawler,
    )


SCENARIOS = (
    Scenario(
        "busy-box-office", "healthy", "healthy", (),
        "PostgreSQL with a standby that confirms, a long export and idle sessions; a suspended job that no one needs.",
        _confirmed_bookings, needs=(POSTGRES, "nginx", "php-fpm8.2", "xz"),
        software=("postgresql", "php-fpm", "nginx"),
    ),
    Scenario(
        "busy-ferries", "healthy", "healthy", (),
        "A Redis that is full on purpose keeps what people look at; a crawler asks for all the rest.",
        _full_memory_of_fares, needs=("redis-server", "node", "nginx", "gunicorn"),
        software=("redis", "node", "gunicorn", "nginx"),
    ),
)  # fmt: skip
