"""A host that is busy and healthy: scans in SQLite, a job that commits, and a memcached with many kept connections."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication
from lab.environment import LabEnvironment
from lab.real.services.hosts.bus_host import BusCompany
from lab.real.services.hosts.depot_host import Depot
from lab.scenario import Live, Scenario

# Reports that read a volume of old labels.
READING = 'while :; do cat "$0"/*.lbl | sha256sum >/dev/null; sleep {pause_s:.1f}; done'


@contextmanager
def _parcels_by_bus(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Many screens keep connections, but fewer than allowed; a volume is read-only on purpose, and a job commits."""
    LabApplication(environment, rng).disk(rng.randrange(60, 120))
    application_files = rng.randrange(10, 40)
    environment.host_sh(
        f"for i in $(seq {application_files}); do head -c 400k /dev/urandom >{DATA}/$i.lbl; done;"
        f"sync; mount -o remount,ro {DATA}"
    )
    environment.on_host(["sh", "-c", READING.format(pause_s=rng.uniform(2, 5)), DATA])
    company = BusCompany(environment, rng, 10)
    share = rng.uniform(0.5, 0.7)
    company.start_screens(int(company.limit * share))
    depot = Depot(environment, rng)
    depot.start_archiving()
    depot.start_clients(rng.uniform(60, 90))
    time.sleep(3.0)
    yield depot.build_live(
        rng.choice((company.memcached.pid, depot.office.app.pid)), limit=company.limit, share=share
    )


SCENARIOS = (
    Scenario(
        "busy-depot", "healthy", "healthy", (),
        "SQLite with a job that commits often, kept connections below their limit, a volume meant to be read-only.",
        _parcels_by_bus, needs=("sqlite3", "memcached", "nginx", "gunicorn", "mkfs.ext4", "setpriv"),
        software=("sqlite", "memcached", "gunicorn", "nginx"),
    ),
)  # fmt: skip
