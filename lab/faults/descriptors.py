"""Connections that the other side has closed and this side keeps, until no descriptor is left."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import LabApplication
from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario


@contextmanager
def _forgotten_clients(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The release forgets to close some connections after the client has gone."""
    application = LabApplication(environment, rng)
    rate, every, limit = rng.randrange(80, 140), rng.randrange(2, 4), rng.randrange(150, 300)
    application.items(open_files=limit)
    application.clients(rate, "--hang-up")
    application.baseline()
    application.items(open_files=limit, leak_fd_every=every)
    yield application.live(more=lambda: _close_wait(environment), rate=rate, every=every, open_files=limit)


@contextmanager
def _forgotten_calls(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The shop asks its stock over a new connection each time; the stock closes it, the shop never does."""
    application = LabApplication(environment, rng)
    rate, limit, stock_port = rng.randrange(40, 70), rng.randrange(200, 320), rng.randrange(5000, 6900)
    environment.serve("stock.py", stock_port, client_side=True)
    options = ("--files", limit, "--stock", f"{environment.client_address}:{stock_port}")
    application.shop(*options)
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop(*options, "--keep-stock")
    yield application.live(
        more=lambda: _close_wait(environment), rate=rate, open_files=limit, stock_port=stock_port
    )


@contextmanager
def _large_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Hundreds of connections are open on purpose; both sides keep them."""
    application = LabApplication(environment, rng)
    pool, rate, redis_port = rng.randrange(300, 600), rng.randrange(80, 140), rng.randrange(5000, 6900)
    application.redis(redis_port)
    upstream = f"{environment.client_address}:{redis_port}"
    application.items(upstream=upstream)
    application.clients(rate)
    application.baseline()
    application.items(upstream=upstream, pool=pool)
    yield application.live(more=lambda: _close_wait(environment), pool=pool, rate=rate, redis_port=redis_port)


def _close_wait(environment: LabEnvironment) -> dict[str, float]:
    return {"close_wait": len(environment.host_net.sh("ss -Htan state close-wait").splitlines())}


SCENARIOS = (
    Scenario(
        "fd-leak", "fault", "fd-leak", ("fd-leak-close-wait",),
        "Connections of clients that have hung up stay open until the limit of open files is reached.",
        _forgotten_clients, needs=("gcc",), seconds=10.0,
    ),
    Scenario(
        "fd-leak-validation", "validation", "fd-leak", ("fd-leak-close-wait",),
        "A shop never closes its own calls to the stock, which has closed them long ago.", _forgotten_calls,
        seconds=10.0,
    ),
    Scenario(
        "fd-leak-decoy", "decoy", "fd-leak", (),
        "A pool of hundreds of open connections to Redis, all of them established.", _large_pool,
        needs=("gcc", "redis-server"),
    ),
)  # fmt: skip
