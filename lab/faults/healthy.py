"""Hosts without a fault that may look as if they had one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.scenario import Live, Scenario


@contextmanager
def _idle(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A service with occasional requests."""
    port, rate = rng.randrange(7000, 9900), rng.uniform(2, 8)
    server = environment.serve("service.py", port, "--workers", 8)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", port
    )
    healthy = load.baseline(2.0)
    yield Live(
        environment.host,
        environment.scope(rng, server.pid),
        {"port": port, "rate": rate, "healthy": healthy},
        load.stats,
    )


@contextmanager
def _busy_network(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Large answers in quick succession: a lot of traffic, and none of it lost."""
    port, rate, kilobytes = rng.randrange(7000, 9900), rng.randrange(60, 120), rng.randrange(200, 600)
    server = environment.serve("service.py", port, "--workers", 48, "--answer-bytes", kilobytes * 1000)
    load = environment.load("--to", f"{environment.host_address}:{port}", "--rate", rate, "--kept", 16)
    healthy = load.baseline()
    parameters = {"port": port, "rate": rate, "answer_kilobytes": kilobytes, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _many_time_wait(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Thousands of TIME_WAIT sockets in a range of tens of thousands of ports."""
    port, rate, past = rng.randrange(7000, 9900), rng.randrange(80, 160), rng.randrange(4000, 9000)
    environment.serve("evented.py", 8088, "--name", "stock", "--backlog", 4096, client_side=True)
    upstream = f"{environment.client_address}:8088"
    server = environment.serve("service.py", port, "--workers", 24, "--upstream", upstream)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", port
    )
    healthy = load.baseline()
    before = environment.load("--to", upstream, "--count", past, on_host=True, program="time_wait_sockets.py")
    wait_for(before.log.exists, "TIME_WAIT sockets")
    load.mark()
    parameters = {"port": port, "rate": rate, "time_wait": past, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


SCENARIOS = (
    Scenario("idle", "healthy", "healthy", (), "A service with next to nothing to do.", _idle, seconds=2.0),
    Scenario("busy-network", "healthy", "healthy", (), "Tens of megabytes per second without loss.", _busy_network),
    Scenario(
        "many-time-wait", "healthy", "healthy", (), "Thousands of TIME_WAIT sockets in an ample range.",
        _many_time_wait,
    ),
)  # fmt: skip
