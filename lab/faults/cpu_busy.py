"""The CPU computes: one function more than it should, or all of them as much as they are asked to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site
from e2e.lab.stage import Stage


@contextmanager
def _rescan(site: Site, rng: random.Random) -> Iterator[Live]:
    """One variable: how often one of four functions runs."""
    stage = Stage(site, rng)
    burn_us, hot, rate = rng.randrange(500, 900), rng.randrange(16, 28), rng.randrange(70, 110)
    stage.items(burn_us=burn_us)
    stage.clients(rate)
    stage.baseline()
    stage.items(burn_us=burn_us, hot=hot)
    yield stage.live(burn_us=burn_us, hot=hot, rate=rate)


@contextmanager
def _linear_search(site: Site, rng: random.Random) -> Iterator[Live]:
    """A table of rules that was searched by halves is now read from its beginning."""
    stage = Stage(site, rng)
    rules, rate = rng.randrange(6000, 12000), rng.randrange(40, 70)
    command = [stage.build("router.c"), f"0.0.0.0:{stage.port}", str(rules)]
    stage.serve([*command, "sorted"])
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.serve(command)
    yield stage.live(rules=rules, rate=rate, access_log="")


@contextmanager
def _evenly_busy(site: Site, rng: random.Random) -> Iterator[Live]:
    """As much CPU as the sick service needs, spread evenly over its functions, and nobody waits for it."""
    stage = Stage(site, rng)
    burn_us, rate = rng.randrange(4500, 6000), rng.randrange(60, 80)
    stage.items(burn_us=burn_us)
    stage.clients(rate)
    stage.baseline()
    yield stage.live(burn_us=burn_us, rate=rate)


@contextmanager
def _busy_batch(site: Site, rng: random.Random) -> Iterator[Live]:
    """A batch job uses one CPU fully, at the lowest weight, and gives way to requests at once."""
    stage = Stage(site, rng)
    cpu, rate = rng.randrange(2), rng.randrange(60, 120)
    stage.items(burn_us=600)
    stage.clients(rate)
    stage.baseline()
    site.on_host(["nice", "-n", "19", "taskset", "-c", str(cpu), "sha256sum", "/dev/zero"])
    yield stage.live(cpu=cpu, rate=rate)


SCENARIOS = (
    Scenario(
        "hot-function", "fault", "hot-function", ("cpu-hot-function",),
        "One of four functions runs twenty times as often as before.", _rescan, needs=("gcc",),
        global_effect=("cpu",),
    ),
    Scenario(
        "hot-function-blind", "blind", "hot-function", ("cpu-hot-function",),
        "A router compares with thousands of rules in a row, where it used to search by halves.",
        _linear_search, needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "hot-function-lookalike", "lookalike", "hot-function", (),
        "The CPU is as busy, evenly over all functions, as it has always been; nobody waits.", _evenly_busy,
        needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "busy-cpu", "healthy", "healthy", (),
        "A batch job at the lowest weight keeps one CPU busy; requests do not notice.", _busy_batch,
        needs=("gcc",), global_effect=("cpu",),
    ),
)  # fmt: skip
