"""The CPU computes: one function more than it should, or all of them as much as they are asked to."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import LabApplication
from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario


@contextmanager
def _rescan(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how often one of four functions runs."""
    application = LabApplication(environment, rng)
    burn_us, hot, rate = rng.randrange(500, 900), rng.randrange(16, 28), rng.randrange(70, 110)
    application.items(burn_us=burn_us)
    application.clients(rate)
    application.baseline()
    application.items(burn_us=burn_us, hot=hot)
    yield application.live(burn_us=burn_us, hot=hot, rate=rate)


@contextmanager
def _linear_search(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A table of rules that was searched by halves is now read from its beginning."""
    application = LabApplication(environment, rng)
    rules, rate = rng.randrange(6000, 12000), rng.randrange(40, 70)
    command = [application.build("router.c"), f"0.0.0.0:{application.port}", str(rules)]
    application.serve([*command, "sorted"])
    application.clients(rate, "--poisson")
    application.baseline()
    application.serve(command)
    yield application.live(rules=rules, rate=rate, access_log="")


@contextmanager
def _evenly_busy(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """As much CPU as the faulty service needs, spread evenly over its functions, and no client waits for it."""
    application = LabApplication(environment, rng)
    burn_us, rate = rng.randrange(4500, 6000), rng.randrange(60, 80)
    application.items(burn_us=burn_us)
    application.clients(rate)
    application.baseline()
    yield application.live(burn_us=burn_us, rate=rate)


@contextmanager
def _traffic_growth(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much traffic arrives at four services, none of which is large or has changed."""
    cpus = os.cpu_count() or 1
    applications = [LabApplication(environment, rng) for _ in range(4)]
    busy, burn_us = rng.uniform(0.35, 0.45), [rng.randrange(3000, 7000) for _ in applications]
    rates = [busy * cpus / len(applications) * 1e6 / burn for burn in burn_us]
    ports = rng.sample(range(7000, 9900), len(applications))
    for application, port, burn in zip(applications, ports, burn_us, strict=True):
        application.port = port
        application.items(burn_us=burn, log=f"/run/access-{port}.log")
    for application, rate in zip(applications, rates, strict=True):
        application.clients(rate, "--poisson", "--seed", application.port)
    applications[0].baseline()
    for application, rate in zip(applications, rates, strict=True):
        more = ("--rate", rate * rng.uniform(1.0, 1.3), "--poisson", "--seed", application.port + 1)
        environment.load("--to", f"{environment.host_address}:{application.port}", *more)
    yield applications[0].live(
        access_log=f"/run/access-{ports[0]}.log", busy=busy, burn_us=burn_us, rates=rates
    )


@contextmanager
def _more_services(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Services of another host are moved to this one; each is as small as those that were here."""
    cpus = os.cpu_count() or 1
    ports, burn_us = rng.sample(range(7000, 9900), 8), rng.randrange(3000, 7000)
    rate = rng.uniform(0.14, 0.17) * cpus * 1e6 / burn_us
    applications = [LabApplication(environment, rng) for _ in ports]
    for number, (application, port) in enumerate(zip(applications, ports, strict=True)):
        application.port = port
        if number == 3:
            applications[0].baseline()
        application.items(burn_us=burn_us, log=f"/run/access-{port}.log")
        application.clients(rate, "--poisson", "--seed", port)
    yield applications[0].live(access_log=f"/run/access-{ports[0]}.log", burn_us=burn_us, rate=rate)


@contextmanager
def _spare_work(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """No CPU is ever idle, because searches at the lowest priority use what is left; no client waits."""
    application = LabApplication(environment, rng)
    rate, jobs = rng.randrange(50, 90), rng.randrange(4, 9)
    application.items(burn_us=600)
    application.clients(rate)
    application.baseline()
    for _ in range(jobs):
        environment.on_host(["chrt", "--idle", "0", "sha256sum", "/dev/zero"])
    yield application.live(rate=rate, jobs=jobs)


@contextmanager
def _busy_batch(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A batch job uses one CPU fully, at the lowest weight, and gives way to requests at once."""
    application = LabApplication(environment, rng)
    cpu, rate = rng.randrange(2), rng.randrange(60, 120)
    application.items(burn_us=600)
    application.clients(rate)
    application.baseline()
    environment.on_host(["nice", "-n", "19", "taskset", "-c", str(cpu), "sha256sum", "/dev/zero"])
    yield application.live(cpu=cpu, rate=rate)


SCENARIOS = (
    Scenario(
        "cpu-exhausted-validation", "validation", "cpu-exhausted", ("cpu-exhausted",),
        "Services of another host are moved to this one, which has too few CPUs for all of them.",
        _more_services, needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "cpu-exhausted-decoy", "decoy", "cpu-exhausted", (),
        "Searches of idle priority use every CPU; requests do not notice.", _spare_work, needs=("gcc",),
        global_effect=("cpu",),
    ),
    Scenario(
        "traffic-growth", "fault", "cpu-exhausted", ("cpu-exhausted",),
        "Four services get twice their traffic: together they want more CPU time than there is.",
        _traffic_growth, needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "hot-function", "fault", "hot-function", ("cpu-hot-function",),
        "One of four functions runs twenty times as often as before.", _rescan, needs=("gcc",),
        global_effect=("cpu",),
    ),
    Scenario(
        "hot-function-validation", "validation", "hot-function", ("cpu-hot-function",),
        "A router compares with thousands of rules in a row, where it used to search by halves.",
        _linear_search, needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "hot-function-decoy", "decoy", "hot-function", (),
        "The CPU is as busy, evenly over all functions, as it has always been; no client waits.", _evenly_busy,
        needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "busy-cpu", "healthy", "healthy", (),
        "A batch job at the lowest weight keeps one CPU busy; requests do not notice.", _busy_batch,
        needs=("gcc",), global_effect=("cpu",),
    ),
)  # fmt: skip
