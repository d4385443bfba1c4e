"""The CPU is short: too many threads under a quota, too small a quota, or a neighbour that takes it all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.application import LabApplication, use_cpus, weigh_cpu
from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario


@contextmanager
def _indexers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The release starts hundreds of indexing threads, where there were none, under the same quota."""
    application = LabApplication(environment, rng)
    cpus, threads, burn_us = rng.uniform(0.8, 1.1), rng.randrange(200, 400), rng.randrange(200, 500)
    rate = rng.randrange(80, 200)
    environment.app.limit_cpu(cpus)
    application.items(burn_us=burn_us)
    application.clients(rate)
    application.baseline()
    application.items(burn_us=burn_us, indexers=threads)
    repair = partial(application.items, burn_us=burn_us)
    yield application.live(cpus=cpus, threads=threads, burn_us=burn_us, rate=rate, repair=repair)


@contextmanager
def _report_processes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A user starts a process per report, all at once."""
    application = LabApplication(environment, rng)
    cpus, reports, cpu_ms = rng.uniform(0.5, 0.9), rng.randrange(90, 180), rng.uniform(0.5, 2.0)
    rate = rng.randrange(30, 80)
    environment.app.limit_cpu(cpus, 50_000)
    application.shop("--workers", 2, "--threads", 4, "--cpu-ms", cpu_ms)
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop("--workers", 2, "--threads", 4, "--cpu-ms", cpu_ms, "--reports", reports)
    yield application.live(cpus=cpus, reports=reports, cpu_ms=cpu_ms, rate=rate, pid=False)


@contextmanager
def _few_indexers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The quota is used up as well, but by a handful of threads."""
    application = LabApplication(environment, rng)
    cpus, threads, burn_us = rng.uniform(0.25, 0.45), rng.randrange(2, 5), rng.randrange(300, 600)
    rate = rng.randrange(80, 150)
    application.items(burn_us=burn_us)
    application.clients(rate)
    application.baseline()
    environment.app.limit_cpu(cpus)
    application.items(burn_us=burn_us, indexers=threads)
    yield application.live(cpus=cpus, threads=threads, burn_us=burn_us, rate=rate)


@contextmanager
def _small_quota(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the quota, which falls well below what requests need: the speed of a CPU varies by a quarter."""
    application = LabApplication(environment, rng)
    rate, burn_us = rng.randrange(60, 110), rng.randrange(2000, 4000)
    cpus = rate * burn_us / 1e6 * rng.uniform(0.55, 0.75)
    environment.app.limit_cpu(1.5)
    application.items(burn_us=burn_us, workers=6)
    application.clients(rate)
    application.baseline()
    environment.app.limit_cpu(cpus)
    yield application.live(cpus=cpus, burn_us=burn_us, rate=rate)


@contextmanager
def _bursts_in_quota(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """On average the quota is enough; the bursts stand still until the next period."""
    application = LabApplication(environment, rng)
    burst, burn_ms, cpus = rng.randrange(14, 24), rng.uniform(6.0, 9.0), rng.uniform(0.24, 0.3)
    rate = burst * rng.uniform(0.9, 1.1)
    application.shop("--threads", 2, "--workers", 2, "--cpu-ms", burn_ms)
    application.clients(rate, "--burst", burst)
    application.baseline(4.0)
    environment.app.limit_cpu(cpus)
    yield application.live(cpus=cpus, burst=burst, rate=rate, burn_ms=burn_ms, pid=False)


@contextmanager
def _sleeping_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A thousand threads that sleep cost nothing."""
    application = LabApplication(environment, rng)
    threads, rate = rng.randrange(700, 1200), rng.randrange(80, 200)
    environment.app.limit_cpu(1.0)
    application.items(burn_us=300)
    application.clients(rate)
    application.baseline()
    application.items(burn_us=300, idle_pool=threads)
    yield application.live(threads=threads, rate=rate)


@contextmanager
def _spinning_neighbour(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Another group with many times the weight computes on the CPU that the application uses."""
    application = LabApplication(environment, rng)
    cpu, jobs = rng.randrange(2), rng.randrange(3, 7)
    burn_us, rate = rng.randrange(1500, 3000), rng.randrange(60, 120)
    application.items(burn_us=burn_us, cpu=cpu)
    application.clients(rate)
    application.baseline()
    batch = application.group("batch")
    weigh_cpu(batch, 40.0)
    for _ in range(jobs):
        environment.on_host(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"], batch)
    yield application.live(cpu=cpu, jobs=jobs, burn_us=burn_us, rate=rate)


@contextmanager
def _many_small_neighbours(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """No process has more weight than the application: there are just many of them."""
    application = LabApplication(environment, rng)
    cpu, tenants, rate = rng.randrange(2), rng.randrange(16, 28), rng.randrange(50, 90)
    use_cpus(environment.app, str(cpu))
    application.shop("--threads", 4, "--cpu-ms", 3.0)
    application.clients(rate, "--poisson")
    application.baseline()
    for number in range(tenants):
        tenant = application.group(f"tenant-{number}")
        use_cpus(tenant, str(cpu))
        environment.on_host(["sha256sum", "/dev/zero"], tenant)
    yield application.live(cpu=cpu, tenants=tenants, rate=rate)


@contextmanager
def _real_time_neighbour(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the policy of a program that polls without a pause; before, it gave way to all others."""
    application = LabApplication(environment, rng)
    cpu, priority = rng.randrange(2), rng.randrange(1, 99)
    burn_us, rate = rng.randrange(200, 400), rng.randrange(30, 60)
    batch = application.group("feed")
    batch.allow_real_time()
    weigh_cpu(batch, 0.01)
    command = ["nice", "-n", "19", "taskset", "-c", str(cpu), "sha256sum", "/dev/zero"]
    program = environment.on_host(command, batch)
    application.items(burn_us=burn_us, cpu=cpu)
    application.clients(rate)
    application.baseline()
    policy = rng.choice((os.SCHED_FIFO, os.SCHED_RR))
    os.sched_setscheduler(program.pid, policy, os.sched_param(priority))
    repair = partial(os.sched_setscheduler, program.pid, os.SCHED_OTHER, os.sched_param(0))
    yield application.live(cpu=cpu, priority=priority, burn_us=burn_us, rate=rate, repair=repair)


@contextmanager
def _own_threads(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """As many wait on one CPU, without any quota, but all of them are the application's own."""
    application = LabApplication(environment, rng)
    cpu, threads, rate = rng.randrange(2), rng.randrange(150, 300), rng.randrange(60, 120)
    application.items(burn_us=1500, cpu=cpu)
    application.clients(rate)
    application.baseline()
    application.items(burn_us=1500, cpu=cpu, indexers=threads)
    yield application.live(cpu=cpu, threads=threads, rate=rate)


SCENARIOS = (
    Scenario(
        "oversubscription", "fault", "oversubscription", ("thread-oversubscription",),
        "Hundreds of threads compute under a quota of about one CPU; before, the workers were alone.", _indexers,
        needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "oversubscription-validation", "validation", "oversubscription", ("thread-oversubscription",),
        "A hundred or more report processes compute under a small quota, next to a pre-forked web shop.",
        _report_processes, global_effect=("cpu",),
    ),
    Scenario(
        "oversubscription-decoy", "decoy", "oversubscription", ("cpu-quota-throttling",),
        "A handful of threads use the quota up; only the quota makes requests wait.", _few_indexers,
        needs=("gcc",),
    ),
    Scenario(
        "quota-throttling", "fault", "quota-throttling", ("cpu-quota-throttling",),
        "The quota was lowered to a little less than the requests need.", _small_quota, needs=("gcc",),
    ),
    Scenario(
        "quota-throttling-validation", "validation", "quota-throttling", ("cpu-quota-throttling",),
        "Bursts of requests stand still until the next period of a quota that is enough on average.",
        _bursts_in_quota, seconds=8.0,
    ),
    Scenario(
        "quota-throttling-decoy", "decoy", "quota-throttling", (),
        "About a thousand threads sleep in a pool, under a quota that is never reached.", _sleeping_pool,
        needs=("gcc",),
    ),
    Scenario(
        "neighbour", "fault", "neighbour", ("cpu-neighbour-contention",),
        "Another control group of great weight computes on the CPU of the application, which has no quota.",
        _spinning_neighbour, needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "feed-neighbour", "fault", "neighbour", ("real-time-task",),
        "A program that polls without a pause got a real-time policy, on the CPU of the application.",
        _real_time_neighbour, needs=("gcc",), seconds=8.0, global_effect=("cpu",),
    ),
    Scenario(
        "neighbour-validation", "validation", "neighbour", ("cpu-neighbour-contention",),
        "Two dozen tenants hash on the same CPU, each in a group of its own with the usual weight.",
        _many_small_neighbours, global_effect=("cpu",),
    ),
    Scenario(
        "neighbour-decoy", "decoy", "neighbour", ("thread-oversubscription",),
        "The application's own threads crowd one CPU; there is neither quota nor neighbour.", _own_threads,
        needs=("gcc",), global_effect=("cpu",),
    ),
)  # fmt: skip
