"""The CPU is short: too many threads under a quota, too small a quota, or a neighbour that takes it all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site
from e2e.lab.stage import Stage, use_cpus, weigh_cpu


@contextmanager
def _indexers(site: Site, rng: random.Random) -> Iterator[Live]:
    """The release starts hundreds of indexing threads, where there were none, under the same quota."""
    stage = Stage(site, rng)
    cpus, threads, burn_us = rng.uniform(0.8, 1.1), rng.randrange(200, 400), rng.randrange(200, 500)
    rate = rng.randrange(80, 200)
    site.app.limit_cpu(cpus)
    stage.items(burn_us=burn_us)
    stage.clients(rate)
    stage.baseline()
    stage.items(burn_us=burn_us, indexers=threads)
    cure = partial(stage.items, burn_us=burn_us)
    yield stage.live(cpus=cpus, threads=threads, burn_us=burn_us, rate=rate, cure=cure)


@contextmanager
def _report_processes(site: Site, rng: random.Random) -> Iterator[Live]:
    """Somebody starts a process per report, all at once."""
    stage = Stage(site, rng)
    cpus, reports, cpu_ms = rng.uniform(0.5, 0.9), rng.randrange(90, 180), rng.uniform(0.5, 2.0)
    rate = rng.randrange(30, 80)
    site.app.limit_cpu(cpus, 50_000)
    stage.shop("--workers", 2, "--threads", 4, "--cpu-ms", cpu_ms)
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.shop("--workers", 2, "--threads", 4, "--cpu-ms", cpu_ms, "--reports", reports)
    yield stage.live(cpus=cpus, reports=reports, cpu_ms=cpu_ms, rate=rate, pid=False)


@contextmanager
def _few_indexers(site: Site, rng: random.Random) -> Iterator[Live]:
    """The quota is used up as well, but by a handful of threads."""
    stage = Stage(site, rng)
    cpus, threads, burn_us = rng.uniform(0.25, 0.45), rng.randrange(2, 5), rng.randrange(300, 600)
    rate = rng.randrange(80, 150)
    stage.items(burn_us=burn_us)
    stage.clients(rate)
    stage.baseline()
    site.app.limit_cpu(cpus)
    stage.items(burn_us=burn_us, indexers=threads)
    yield stage.live(cpus=cpus, threads=threads, burn_us=burn_us, rate=rate)


@contextmanager
def _small_quota(site: Site, rng: random.Random) -> Iterator[Live]:
    """One variable: the quota, which falls below what the requests need."""
    stage = Stage(site, rng)
    rate, burn_us = rng.randrange(60, 110), rng.randrange(2000, 4000)
    cpus = rate * burn_us / 1e6 * rng.uniform(0.85, 0.97)
    site.app.limit_cpu(1.5)
    stage.items(burn_us=burn_us, workers=6)
    stage.clients(rate)
    stage.baseline()
    site.app.limit_cpu(cpus)
    yield stage.live(cpus=cpus, burn_us=burn_us, rate=rate)


@contextmanager
def _bursts_in_quota(site: Site, rng: random.Random) -> Iterator[Live]:
    """On average the quota is enough; the bursts stand still until the next period."""
    stage = Stage(site, rng)
    burst, burn_ms, cpus = rng.randrange(14, 24), rng.uniform(6.0, 9.0), rng.uniform(0.24, 0.3)
    rate = burst * rng.uniform(0.9, 1.1)
    stage.shop("--threads", 2, "--workers", 2, "--cpu-ms", burn_ms)
    stage.clients(rate, "--burst", burst)
    stage.baseline(4.0)
    site.app.limit_cpu(cpus)
    yield stage.live(cpus=cpus, burst=burst, rate=rate, burn_ms=burn_ms, pid=False)


@contextmanager
def _sleeping_pool(site: Site, rng: random.Random) -> Iterator[Live]:
    """A thousand threads that sleep cost nothing."""
    stage = Stage(site, rng)
    threads, rate = rng.randrange(700, 1200), rng.randrange(80, 200)
    site.app.limit_cpu(1.0)
    stage.items(burn_us=300)
    stage.clients(rate)
    stage.baseline()
    stage.items(burn_us=300, idle_pool=threads)
    yield stage.live(threads=threads, rate=rate)


@contextmanager
def _spinning_neighbour(site: Site, rng: random.Random) -> Iterator[Live]:
    """Another group with many times the weight computes on the CPU that the application uses."""
    stage = Stage(site, rng)
    cpu, jobs = rng.randrange(2), rng.randrange(3, 7)
    burn_us, rate = rng.randrange(1500, 3000), rng.randrange(60, 120)
    stage.items(burn_us=burn_us, cpu=cpu)
    stage.clients(rate)
    stage.baseline()
    batch = stage.group("batch")
    weigh_cpu(batch, 40.0)
    for _ in range(jobs):
        site.on_host(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"], batch)
    yield stage.live(cpu=cpu, jobs=jobs, burn_us=burn_us, rate=rate)


@contextmanager
def _many_small_neighbours(site: Site, rng: random.Random) -> Iterator[Live]:
    """Nobody has more weight than the application: there are just many of them."""
    stage = Stage(site, rng)
    cpu, tenants, rate = rng.randrange(2), rng.randrange(16, 28), rng.randrange(50, 90)
    use_cpus(site.app, str(cpu))
    stage.shop("--threads", 4, "--cpu-ms", 3.0)
    stage.clients(rate, "--poisson")
    stage.baseline()
    for number in range(tenants):
        tenant = stage.group(f"tenant-{number}")
        use_cpus(tenant, str(cpu))
        site.on_host(["sha256sum", "/dev/zero"], tenant)
    yield stage.live(cpu=cpu, tenants=tenants, rate=rate)


@contextmanager
def _own_threads(site: Site, rng: random.Random) -> Iterator[Live]:
    """As many wait on one CPU, without any quota, but all of them are the application's own."""
    stage = Stage(site, rng)
    cpu, threads, rate = rng.randrange(2), rng.randrange(150, 300), rng.randrange(60, 120)
    stage.items(burn_us=1500, cpu=cpu)
    stage.clients(rate)
    stage.baseline()
    stage.items(burn_us=1500, cpu=cpu, indexers=threads)
    yield stage.live(cpu=cpu, threads=threads, rate=rate)


SCENARIOS = (
    Scenario(
        "oversubscription", "fault", "oversubscription", ("thread-oversubscription",),
        "Hundreds of threads compute under a quota of about one CPU; before, the workers were alone.", _indexers,
        needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "oversubscription-blind", "blind", "oversubscription", ("thread-oversubscription",),
        "A hundred or more report processes compute under a small quota, beside a pre-forked web shop.",
        _report_processes, global_effect=("cpu",),
    ),
    Scenario(
        "oversubscription-lookalike", "lookalike", "oversubscription", ("cpu-quota-throttling",),
        "A handful of threads use the quota up; nobody but the quota makes requests wait.", _few_indexers,
        needs=("gcc",),
    ),
    Scenario(
        "quota-throttling", "fault", "quota-throttling", ("cpu-quota-throttling",),
        "The quota was lowered to a little less than the requests need.", _small_quota, needs=("gcc",),
    ),
    Scenario(
        "quota-throttling-blind", "blind", "quota-throttling", ("cpu-quota-throttling",),
        "Bursts of requests stand still until the next period of a quota that is enough on average.",
        _bursts_in_quota, seconds=8.0,
    ),
    Scenario(
        "quota-throttling-lookalike", "lookalike", "quota-throttling", (),
        "About a thousand threads sleep in a pool, under a quota that nobody reaches.", _sleeping_pool,
        needs=("gcc",),
    ),
    Scenario(
        "neighbour", "fault", "neighbour", ("cpu-neighbour-contention",),
        "Another control group of great weight computes on the CPU of the application, which has no quota.",
        _spinning_neighbour, needs=("gcc",), global_effect=("cpu",),
    ),
    Scenario(
        "neighbour-blind", "blind", "neighbour", ("cpu-neighbour-contention",),
        "Two dozen tenants hash on the same CPU, each in a group of its own with the usual weight.",
        _many_small_neighbours, global_effect=("cpu",),
    ),
    Scenario(
        "neighbour-lookalike", "lookalike", "neighbour", ("thread-oversubscription",),
        "The application's own threads crowd one CPU; there is neither quota nor neighbour.", _own_threads,
        needs=("gcc",), global_effect=("cpu",),
    ),
)  # fmt: skip
