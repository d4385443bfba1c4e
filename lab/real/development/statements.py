"""Statements of a shop that are quick alone, or rare: many for a page, the same row, and what a cache has lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.development.databases import NEEDS
from lab.real.services.postgres import PostgresServer
from lab.real.services.redis import Redis
from lab.real.services.storefront import Storefront
from lab.scenario import Live, Scenario

#: Summaries that the Redis knows at the start. A page is as large as one that the shop stores.
FILL = (
    'for i = 0, ARGV[1] - 1 do redis.call("SET", "summary:" .. i, cjson.encode({rows = {i},'
    ' page = string.rep(string.format("%09d", i), 700)}), "EX", 3600) end'
)


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


@contextmanager
def _cached_summaries(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the memory of a Redis, or the names of its entries, whose predecessors fill it for an hour."""
    storefront = Storefront(environment, rng)
    postgres = PostgresServer(environment, rng, orders=rng.randrange(50_000, 60_000))
    way = rng.choice(("smaller", "renamed"))
    policy = "allkeys-lru" if way == "smaller" else "noeviction"
    redis = Redis(environment, rng.choice((6379, 6391, 7100)), "--maxmemory-policy", policy)
    work = rng.randrange(35, 50) if way == "smaller" else rng.randrange(14, 20)
    options: tuple[object, ...] = ("--cache", redis.port, "--summary-work", work)
    pages = rng.randrange(1500, 2200)
    redis.run("EVAL", FILL, 0, pages)
    used = int(redis.run("INFO", "memory").partition("used_memory:")[2].split()[0])
    redis.run("CONFIG", "SET", "maxmemory", int(used * 1.1))
    storefront.start_python(postgres, threads=rng.choice((24, 32)), options=options)
    paths = ["/summaries/{n}"] * 4 + ["/products/{n}", "/orders/{n}"]
    storefront.start_clients(rng.uniform(70, 90), paths, range_=pages)
    storefront.measure_baseline(4.0)
    part = rng.uniform(0.6, 0.7)
    if way == "smaller":
        redis.run("CONFIG", "SET", "maxmemory", int(used * part))
    else:
        storefront.release_python(*options, "--cache-prefix", "totals")
    time.sleep(6.0)
    yield storefront.build_live(
        rng.choice((redis.pid, postgres.pid, storefront.server.pid)),
        way=way,
        part=part,
        work=work,
        pages=pages,
    )


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
    Scenario(
        "cached-summaries", "development", "cached-summaries", ("cache-memory-limit",),
        "A Redis is full: it evicts a third of the summaries, or takes no new ones; a database computes them again.",
        _cached_summaries, needs=(*NEEDS, "redis-server"), seconds=10.0, software=("redis", "postgresql"),
        global_effect=("cpu",),
    ),
)  # fmt: skip
