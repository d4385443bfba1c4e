"""Connections that the other side has closed and this side keeps, until no descriptor is left."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site
from e2e.lab.stage import Stage


@contextmanager
def _forgotten_clients(site: Site, rng: random.Random) -> Iterator[Live]:
    """The release forgets to close some connections after the client has gone."""
    stage = Stage(site, rng)
    rate, every, limit = rng.randrange(80, 140), rng.randrange(2, 4), rng.randrange(150, 300)
    stage.items(open_files=limit)
    stage.clients(rate, "--hang-up")
    stage.baseline()
    stage.items(open_files=limit, leak_fd_every=every)
    yield stage.live(more=lambda: _close_wait(site), rate=rate, every=every, open_files=limit)


@contextmanager
def _forgotten_calls(site: Site, rng: random.Random) -> Iterator[Live]:
    """The shop asks its stock over a new connection each time; the stock closes it, the shop never does."""
    stage = Stage(site, rng)
    rate, limit, stock_port = rng.randrange(40, 70), rng.randrange(200, 320), rng.randrange(5000, 6900)
    site.serve("stock.py", stock_port, client_side=True)
    options = ("--files", limit, "--stock", f"{site.client_address}:{stock_port}")
    stage.shop(*options)
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.shop(*options, "--keep-stock")
    yield stage.live(more=lambda: _close_wait(site), rate=rate, open_files=limit, stock_port=stock_port)


@contextmanager
def _large_pool(site: Site, rng: random.Random) -> Iterator[Live]:
    """Hundreds of connections are open on purpose; both sides keep them."""
    stage = Stage(site, rng)
    pool, rate, redis_port = rng.randrange(300, 600), rng.randrange(80, 140), rng.randrange(5000, 6900)
    stage.redis(redis_port)
    upstream = f"{site.client_address}:{redis_port}"
    stage.items(upstream=upstream)
    stage.clients(rate)
    stage.baseline()
    stage.items(upstream=upstream, pool=pool)
    yield stage.live(more=lambda: _close_wait(site), pool=pool, rate=rate, redis_port=redis_port)


def _close_wait(site: Site) -> dict[str, float]:
    return {"close_wait": len(site.host_net.sh("ss -Htan state close-wait").splitlines())}


SCENARIOS = (
    Scenario(
        "fd-leak", "fault", "fd-leak", ("fd-leak-close-wait",),
        "Connections of clients that have hung up stay open until the limit of open files is reached.",
        _forgotten_clients, needs=("gcc",), seconds=10.0,
    ),
    Scenario(
        "fd-leak-blind", "blind", "fd-leak", ("fd-leak-close-wait",),
        "A shop never closes its own calls to the stock, which has closed them long ago.", _forgotten_calls,
        seconds=10.0,
    ),
    Scenario(
        "fd-leak-lookalike", "lookalike", "fd-leak", (),
        "A pool of hundreds of open connections to Redis, all of them established.", _large_pool,
        needs=("gcc", "redis-server"),
    ),
)  # fmt: skip
