"""Statements of a shop that are quick alone: many for a page, and short transactions on the same row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.development.databases import NEEDS
from lab.real.services.postgres import PostgresServer
from lab.real.services.storefront import Storefront
from lab.scenario import Live, Scenario


@contextmanager
def _each_product(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether a list is a statement, or two for each of its products."""
    storefront = Storefront(environment, rng)
    is_remote = rng.random() < 0.5
    postgres = PostgresServer(environment, rng, client_side=is_remote)
    if is_remote:
        environment.client_net.sh("tc qdisc add dev eth0 root netem delay 0.3ms")
    length = ("--list-length", rng.randrange(250, 380))
    storefront.start_python(postgres, threads=rng.choice((12, 16, 24)), options=length)
    storefront.start_clients(
        rng.uniform(8.0, 10.0), ["/lists/{n}", "/lists/{n}", "/products/{n}", "/orders/{n}"]
    )
    storefront.measure_baseline(4.0)
    storefront.release_python(*length, "--lists", "each")
    yield storefront.build_live(length=length[1], is_remote=is_remote)


@contextmanager
def _same_counter(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether visits are counted by product, or in a single row; a transaction takes milliseconds."""
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(environment, rng)
    render_ms, threads = rng.uniform(15, 30), rng.choice((12, 16))
    options = ("--render-ms", render_ms)
    storefront.start_python(postgres, threads=threads, options=options)
    rate = rng.uniform(1.3, 1.8) * 1000 / render_ms
    storefront.start_clients(rate, ["/visits/{n}", "/visits/{n}", "/visits/{n}", "/products/{n}"])
    storefront.measure_baseline(4.0)
    storefront.release_python(*options, "--counters", "campaign")
    yield storefront.build_live(postgres.pid, render_ms=render_ms)


SCENARIOS = (
    Scenario(
        "each-product", "development", "each-product", ("many-small-calls",),
        "Since a release, a page sends two short statements for each product of a list.", _each_product,
        needs=NEEDS, seconds=10.0, software=("postgresql",),
    ),
    Scenario(
        "same-counter", "development", "same-counter", ("database-lock-wait",),
        "Since a release, all visits are counted in one row, by transactions of a few milliseconds.", _same_counter,
        needs=NEEDS, seconds=10.0, software=("postgresql",),
    ),
)  # fmt: skip
