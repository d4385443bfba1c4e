"""Appointments of a vet, and plates of a maker of signs: a twenty-ninth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.coast.front import start_front
from lab.real.services.county.sign_maker import MOST_FILES, SignMaker
from lab.real.services.county.vet import Vet
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _appointments_of_a_vet(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the list from which a release of a program takes letters."""
    town = Town(environment, rng)
    vet = Vet(town, "noeviction")
    nginx = start_front(town, vet.build_location("/"), vet.upstream)
    others = rng.randrange(1, 4)
    paths = ["/appointments/{n}"] + [rng.choice(("/animals/{n}", "/hours/{n}")) for _ in range(others)]
    bookings = rng.uniform(8, 14)
    vet.limit_memory(round(bookings * vet.letter_kb * rng.uniform(9, 14)))
    town.start_clients(nginx.address, bookings * len(paths), paths, warm_s=4.0)
    vet.restart_post(f"{vet.queue}:{rng.choice(('v2', 'new', 'eu'))}")
    wait_for(lambda: town.load.stats()["errors"] > 0, "refused appointments", 60.0)
    time.sleep(2.0)
    yield town.build_live(rng.choice((vet.pid, vet.redis.pid, nginx.pid)))


@contextmanager
def _plates_of_a_sign_maker(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many files a process may have open."""
    town = Town(environment, rng)
    layers = max(1, min(12, round(rng.uniform(160_000, 240_000) / MOST_FILES)))
    maker = SignMaker(town, MOST_FILES, layers)
    plate_s, others = maker.measure_plate(), rng.randrange(3, 6)
    limit = rng.choice((256, 512, 1024))
    maker.restart_service(limit)
    nginx = start_front(town, maker.build_location("/"), maker.upstream)
    paths = ["/plates/{n}"] + ["/signs/{n}"] * others
    rate = max(2.0, rng.uniform(1.1, 1.4) / plate_s)
    town.start_clients(nginx.address, rate * len(paths), paths, warm_s=4.0)
    maker.restart_service(MOST_FILES)
    time.sleep(6.0)
    yield town.build_live(
        rng.choice((maker.pid, nginx.pid)), open_files=(limit, MOST_FILES), plate_ms=round(plate_s * 1000)
    )


SCENARIOS = (
    Scenario(
        "vet-appointments", "holdout", "appointments-of-a-vet", ("cache-memory-limit",),
        "A release takes letters from another list; they fill the memory that Redis may use, which refuses to write.",
        _appointments_of_a_vet, needs=("redis-server", "redis-cli", "node", "nginx"), seconds=10.0,
        software=("redis", "node", "nginx"),
    ),
    Scenario(
        "sign-plates", "holdout", "plates-of-a-sign-maker", ("cpu-hot-function",),
        "A Perl service may have far more files open than before, and closes each possible one before it runs a tool.",
        _plates_of_a_sign_maker, needs=("perl", "nginx", "curl", "prlimit"), seconds=10.0, software=("perl", "nginx"),
    ),
)  # fmt: skip
