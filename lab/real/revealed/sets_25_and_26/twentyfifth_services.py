"""Calls of a locksmith, fittings of a tailor, and sights of an observatory: a twenty-fifth set."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.guild.locksmith import Locksmith
from lab.real.services.guild.observatory import Observatory
from lab.real.services.guild.tailor import Tailor
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _calls_of_a_locksmith(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether the certificate that nginx has read is still valid; a renewed file is not read yet."""
    town = Town(environment, rng)
    locksmith = Locksmith(town, rng.uniform(5, 25))
    nginx = start_front(town, locksmith.build_location("/"), locksmith.http_lines)
    calls, others = rng.randrange(2, 4), rng.randrange(1, 4)
    paths = ["/calls/{n}"] * calls + ["/keys/{n}"] * others
    town.start_clients(nginx.address, rng.uniform(11, 17), paths, warm_s=4.0)
    locksmith.write_certificate(datetime.timedelta(seconds=4))
    nginx.reload()
    time.sleep(5.0)
    locksmith.write_certificate(datetime.timedelta(days=locksmith.days - rng.uniform(0.5, 6)))
    yield town.build_live(rng.choice((nginx.pid, locksmith.pid)))


@contextmanager
def _fittings_of_a_tailor(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release of a job, which copies a file and sends the copy, or sends what it reads."""
    town = Town(environment, rng)
    tailor = Tailor(town)
    nginx = start_front(town, tailor.build_location("/"), tailor.upstream)
    fittings, others = rng.randrange(1, 3), rng.randrange(1, 3)
    paths = ["/fittings/{n}"] * fittings + ["/fabrics/{n}"] * others
    town.start_clients(nginx.address, rng.uniform(16, 28), paths, warm_s=4.0)
    tailor.replace_job()
    time.sleep(6.0)
    pid = rng.choice((tailor.pid, nginx.pid))
    yield town.build_live(pid, tailor.service.access_log)


@contextmanager
def _sights_of_an_observatory(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which prepares patterns when it starts or for each answer."""
    town = Town(environment, rng)
    before, after = rng.randrange(16, 21), rng.randrange(21, 26)
    observatory = Observatory(town, after)
    nginx = start_front(town, observatory.build_location("/"), observatory.upstream)
    sight_s = observatory.measure_sight(10)
    observatory.replace(before)
    rate, others = rng.uniform(1.3, 1.45) / sight_s, rng.randrange(1, 3)
    town.start_clients(
        nginx.address, rate * (1 + others), ["/sights/{n}"] + ["/domes/{n}"] * others, warm_s=4.0
    )
    observatory.replace(after)
    time.sleep(6.0)
    yield town.build_live(
        observatory.pid,
        observatory.service.access_log,
        releases=[before, after],
        sight_ms=round(sight_s * 1000, 1),
    )


SCENARIOS = (
    Scenario(
        "locksmith-calls", "development", "calls-of-a-locksmith", ("certificate-expired",),
        "nginx still has a certificate whose period is over; the renewed file waits for a reload, and Node refuses it.",
        _calls_of_a_locksmith, needs=("nginx", "node"), seconds=8.0, software=("nginx", "node"),
    ),
    Scenario(
        "tailor-fittings", "development", "fittings-of-a-tailor", ("file-lock-held",),
        "A release of a job keeps a file locked while it sends the file slowly; threads of a Java service wait for it.",
        _fittings_of_a_tailor, needs=("java", "javac", "nginx"), seconds=10.0, software=("java", "nginx"),
    ),
    Scenario(
        "observatory-sights", "development", "sights-of-an-observatory", ("cpu-hot-function", "cpu-exhausted"),
        "A release of a Go service compiles all its regular expressions again for each answer, and takes all CPUs.",
        _sights_of_an_observatory, needs=(GO, "nginx", "curl"), seconds=10.0,
        software=("go", "nginx"),
    ),
)  # fmt: skip
