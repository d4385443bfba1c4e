"""A PostgreSQL in a container of its own: memory that it shares with a job, and a backup of its files."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.companies.harvest_host import Harvest
from lab.real.services.postgres import POSTGRES
from lab.scenario import Live, Scenario


@contextmanager
def _maps_of_fields(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how large the maps are that a job places in shared memory."""
    harvest = Harvest(environment, rng)
    harvest.prepare_maps(rng.randrange(8, 30))
    harvest.start_clients(rng.uniform(40, 55))
    megabytes = harvest.shared_mb + rng.randrange(10, 80)
    harvest.prepare_maps(megabytes)
    time.sleep(4.0)
    yield harvest.build_live(maps_mb=megabytes)


@contextmanager
def _nightly_copy(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the backup that paused the database let it go on."""
    harvest = Harvest(environment, rng)
    harvest.prepare_maps(rng.randrange(8, 30))
    harvest.start_clients(rng.uniform(40, 60))
    harvest.group.freeze(True)
    time.sleep(6.0)
    yield harvest.build_live()


NEEDS = (POSTGRES, "nginx", "gunicorn")
SOFTWARE = ("postgresql", "gunicorn", "nginx")
SCENARIOS = (
    Scenario(
        "coop-maps", "development", "maps-of-fields", ("disk-full",),
        "Files of a job fill /dev/shm; parallel statements of PostgreSQL get no shared memory and fail.",
        _maps_of_fields, needs=NEEDS, seconds=10.0, software=SOFTWARE,
    ),
    Scenario(
        "coop-copies", "development", "nightly-copy", ("cgroup-frozen",),
        "A backup froze the control group of PostgreSQL to copy its files, and ended before it could thaw it.",
        _nightly_copy, needs=NEEDS, seconds=10.0, software=SOFTWARE,
    ),
)  # fmt: skip
