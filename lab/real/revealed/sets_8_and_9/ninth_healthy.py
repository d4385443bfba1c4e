"""A host that is busy and healthy: PHP without kept connections, a quick real-time job, and runs that wait a little."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.daemons.recordings import PartnerExport, Recordings
from lab.real.services.hosts.wholesale_host import Wholesale
from lab.real.services.postgres import POSTGRES
from lab.scenario import Live, Scenario


@contextmanager
def _busy_wholesale(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Connections to a database next door are cheap, packing is short, and each run of the export ends."""
    environment.app.allow_real_time()
    shop = Wholesale(environment, rng, lines=rng.randrange(100_000, 200_000), kept=False)
    recordings = Recordings(environment, rng, cameras=1, kilobytes=rng.randrange(15, 30))
    recordings.start(f"-r {rng.randrange(10, 60)}")
    every_s = rng.uniform(0.6, 0.9)
    PartnerExport(environment, rng, every_s=every_s, kilobytes=rng.randrange(800, 1_600))
    saved, read = rng.randrange(2, 4), rng.randrange(5, 8)
    paths = ["/baskets/{n}"] * saved + ["/prices/{n}"] * read + ["/terms/{n}"]
    shop.start_clients(rng.uniform(45, 60), paths)
    time.sleep(3.0)
    yield shop.build_live(rng.choice((shop.postgres.pid, shop.php.pid)), every_s=every_s)


SCENARIOS = (
    Scenario(
        "busy-wholesale", "healthy", "healthy", (),
        "A connection to PostgreSQL for each request, a short real-time job, runs of a job that wait for each other.",
        _busy_wholesale, needs=(POSTGRES, "nginx", "php-fpm8.2", "xz", "chrt"),
        software=("postgresql", "php-fpm", "nginx"), global_effect=("cpu",),
    ),
)  # fmt: skip
