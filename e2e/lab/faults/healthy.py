"""Hosts without any illness that may well look as if they had one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site


@contextmanager
def _idle(site: Site, rng: random.Random) -> Iterator[Live]:
    """A service that somebody asks now and then."""
    port, rate = rng.randrange(7000, 9900), rng.uniform(2, 8)
    server = site.serve("service.py", port, "--workers", 8)
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", rate, "--poisson", "--seed", port)
    healthy = load.baseline(2.0)
    yield Live(
        site.host,
        site.scope(rng, server.pid),
        {"port": port, "rate": rate, "healthy": healthy},
        load.stats,
    )


SCENARIOS = (
    Scenario("idle", "healthy", "healthy", (), "A service with next to nothing to do.", _idle, seconds=2.0),
)
