"""The accept queue of a listening socket is too small for how connections come."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario

LOG = "/run/orders/access.log"


@contextmanager
def _bursts(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the backlog. Service time, workers and bursts stay as they were."""
    port, backlog = rng.randrange(7000, 9900), rng.randrange(4, 13)
    burst, rate, wait_ms = rng.randrange(40, 80), rng.randrange(250, 350), rng.uniform(1.5, 2.5)
    options = ("--workers", 1, "--wait-ms", wait_ms, "--access-log", LOG)
    server = environment.serve("service.py", port, "--backlog", 4096, *options)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--burst", burst, "--timeout-s", 1.5
    )
    healthy = load.baseline()
    server = environment.replace(server, "service.py", port, "--backlog", backlog, *options)
    load.mark()
    parameters = {"port": port, "backlog": backlog, "burst": burst, "rate": rate, "wait_ms": wait_ms}

    def repair() -> None:
        environment.replace(server, "service.py", port, "--backlog", 4096, *options)

    scope = environment.scope(rng, server.pid)
    yield Live(
        environment.host, scope, {**parameters, "healthy": healthy}, load.stats, LOG, repair, load.mark
    )


@contextmanager
def _stalls(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The kernel's limit cuts what the application asked for, and the loop of the application stalls."""
    port, limit = rng.randrange(7000, 9900), rng.choice((8, 16, 24, 32))
    rate, stall_ms, every_ms = rng.randrange(180, 320), rng.randrange(250, 500), rng.randrange(500, 900)
    options = ("--backlog", 1024, "--stall-ms", stall_ms, "--every-ms", every_ms)
    server = environment.serve("evented.py", port, *options)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--timeout-s", 1.0, "--seed", port
    )  # fmt: skip
    healthy = load.baseline()
    environment.host_sh(f"sysctl -qw net.core.somaxconn={limit}")
    server = environment.replace(server, "evented.py", port, *options)
    load.mark()
    yield Live(
        environment.host,
        environment.scope(rng, server.pid),
        {
            "port": port,
            "somaxconn": limit,
            "rate": rate,
            "stall_ms": stall_ms,
            "every_ms": every_ms,
            "healthy": healthy,
        },
        load.stats,
    )


@contextmanager
def _slow_workers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The queue holds everybody; the few workers are too slow, so everybody waits in it."""
    port, workers, rate = rng.randrange(7000, 9900), rng.randrange(3, 7), rng.randrange(60, 120)
    # A third more work than the workers can do.
    wait_ms = 1000 * workers / rate * 1.33
    server = environment.serve("service.py", port, "--backlog", 4096, "--workers", 64, "--wait-ms", wait_ms)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--timeout-s", 1.5
    )
    healthy = load.baseline()
    server = environment.replace(
        server,
        "service.py",
        port,
        "--backlog",
        4096,
        "--workers",
        workers,
        "--wait-ms",
        wait_ms,
        "--access-log",
        LOG,
    )
    load.mark()
    yield Live(
        environment.host,
        environment.scope(rng, server.pid, whole=False),
        {"port": port, "workers": workers, "rate": rate, "wait_ms": wait_ms, "healthy": healthy},
        load.stats,
        LOG,
    )


SCENARIOS = (
    Scenario(
        "listen-overflow", "fault", "listen-overflow", ("listen-queue-overflow",),
        "Bursts of connections meet a backlog of about ten; service time and load are as before.", _bursts,
    ),
    Scenario(
        "listen-overflow-validation", "validation", "listen-overflow", ("listen-queue-overflow",),
        "somaxconn cuts the backlog of an event loop that pauses for some hundred milliseconds.", _stalls,
    ),
    Scenario(
        "listen-overflow-decoy", "decoy", "listen-overflow", ("worker-pool-exhausted",),
        "A long queue that never overflows: too few workers for the work.", _slow_workers, seconds=8.0,
    ),
)  # fmt: skip
