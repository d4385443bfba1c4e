"""A host that is busy and healthy: a volume in use, files in memory, an agent of the company, a job that waits."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import slow_disk
from lab.environment import LabEnvironment
from lab.real.services.daemons.endpoint_agent import EndpointAgent
from lab.real.services.hosts.library_host import Library
from lab.real.services.postgres import POSTGRES
from lab.real.services.web_neighbours import draw_ports
from lab.scenario import Live, Scenario

# A job that packs the catalog of last year; it waits for the night.
PACKING = 'while :; do head -c {kilobytes}k /dev/urandom | gzip -1 >"$0"; sleep 1; done'


@contextmanager
def _busy_library(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Loans keep the volume busy, the agent admits each file within a moment, and files in memory have room."""
    library = Library(
        environment, rng, volume_mb=rng.randrange(500, 800), settings={"max_wal_size": "256MB"},
        orders=rng.randrange(8_000, 20_000),
    )  # fmt: skip
    agent = EndpointAgent(environment, rng, draw_ports(rng, 1)[0], rng.uniform(0.2, 0.6))
    site = library.php.directory
    environment.host_sh(f"mount --bind {site} {site}")
    agent.guard(str(site))
    stay, megabytes = rng.randrange(60, 120), rng.choice((2, 3))
    library.start_readings(stay, megabytes, rng.choice((0.5, 1)))
    night = library.application.group(rng.choice(("night-jobs", "packing", "batch")))
    words = PACKING.format(kilobytes=rng.randrange(300, 900))
    environment.on_host(["sh", "-c", words, str(environment.directory / "catalog.gz")], night)
    time.sleep(1.0)
    night.freeze(True)
    low = rng.randrange(36_000, 44_000, 1000)
    environment.host_sh(
        f"sysctl -qw net.ipv4.ip_local_reserved_ports={low}-{low + rng.randrange(2000, 6000)}"
    )
    loans, others = rng.randrange(2, 4), rng.randrange(2, 5)
    paths = ["/loans/{n}"] * loans + [rng.choice(("/documents/{n}", "/shelves/{n}")) for _ in range(others)]
    library.start_clients(rng.uniform(50, 70), paths)
    time.sleep(3.0)
    before, began = library.count_requests(), time.monotonic()
    time.sleep(4.0)
    used = (library.count_requests() - before) / (time.monotonic() - began)
    slow_disk(environment.app, library.image, iops=int(used * rng.uniform(4, 6)))
    library.measure_baseline()
    yield library.build_live(
        rng.choice((library.postgres.pid, library.php.pid)), used_iops=used, stay=stay, megabytes=megabytes
    )


SCENARIOS = (
    Scenario(
        "busy-library", "healthy", "healthy", (),
        "A PostgreSQL whose volume is in use, files in memory that have room, a quick agent, and a job that waits.",
        _busy_library, needs=(POSTGRES, "nginx", "php-fpm8.2", "mkfs.ext4"),
        software=("postgresql", "php-fpm", "nginx"), global_effect=("disk",),
    ),
)  # fmt: skip
