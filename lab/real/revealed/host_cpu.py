"""Hosts whose CPU time does not reach the service: a quota, too many neighbors, an observer left behind."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.real.services.hosts.site_host import MAGAZINE_PAGES, PROGRAMS, SiteHost, choose_pages, start_magazine
from lab.scenario import Live, Scenario

JOBS = (
    "thumbnails", "invoices", "mail-digest", "search-index", "price-feed", "pdf-export", "recommendations",
    "geo-import", "fraud-scores", "sitemaps", "video-captions", "stock-sync",
)  # fmt: skip


def _read_group_cpu_s(group: Group) -> float:
    """Return the CPU seconds that a group has used."""
    file = group.file("cpuacct", "cpuacct.usage", "cpu.stat")
    words = file.read_text().split()
    return int(words[0]) / 1e9 if len(words) == 1 else int(words[words.index("usage_usec") + 1]) / 1e6


@contextmanager
def _limit_below_demand(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the CPU limit of the service's group, set to a share of what the service uses."""
    group = environment.app
    if rng.random() < 0.6:
        group = Group(
            f"{group.path.rpartition('/')[0]}/{rng.choice(('catalog', 'shop-web', 'frontend'))}"
        ).create()
    host = SiteHost(environment, rng, workers=rng.randrange(2, 6), threads=rng.choice((1, 1, 4)), group=group)
    host.start_clients(rng.randrange(150, 240), choose_pages(rng))
    before_s, began = _read_group_cpu_s(group), time.monotonic()
    host.measure_baseline(4.0)
    used = (_read_group_cpu_s(group) - before_s) / (time.monotonic() - began)
    limit, period_us = round(used * rng.uniform(0.55, 0.85), 2), rng.choice((100_000, 100_000, 50_000))
    group.limit_cpu(limit, period_us)
    yield host.build_live(used_cpus=round(used, 2), limit_cpus=limit, period_us=period_us)


@contextmanager
def _more_work_than_cpus(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how often jobs arrive at the workers of many applications, each of which wants a part of a CPU."""
    host = SiteHost(environment, rng, workers=rng.randrange(2, 5), proxied=True)
    rates = environment.directory / "arrivals"
    rates.write_text("0.03")
    names = rng.sample(JOBS, rng.randrange(8, 12))
    for name in names:
        words = [str(PROGRAMS / "job_worker.py"), "--queue", name, "--arrivals", str(rates)]
        environment.on_host([sys.executable, "-B", *words, "--seed", str(rng.randrange(10_000))])
    host.start_clients(rng.randrange(120, 190), choose_pages(rng))
    time.sleep(1.5)
    host.measure_baseline(4.0)
    busy = rng.uniform(0.5, 0.8)
    rates.write_text(f"{busy:.2f}")
    time.sleep(2.0)
    yield host.build_live(queues=names, demand_each=round(busy, 2))


@contextmanager
def _observer_left_behind(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an strace of an earlier investigation is attached to the service."""
    fragments = rng.randrange(30, 60)
    host = start_magazine(environment, rng, {"FRAGMENTS": str(fragments)}, workers=rng.randrange(2, 4))
    host.start_clients(rng.randrange(90, 140), (*MAGAZINE_PAGES, "/articles/{n}"))
    host.measure_baseline()
    pids = [host.gunicorn.pid, *host.gunicorn.list_workers()]
    if host.nginx and rng.random() < 0.5:
        pids += host.nginx.list_workers()
    filters = rng.choice((["-tt"], ["-T", "-e", "trace=network,desc,file"], ["-tt", "-s", "200"]))
    output = environment.directory / rng.choice(("ticket-4711.txt", "out.txt", "web.log"))
    environment.on_host(
        ["strace", "-f", *filters, "-o", str(output), *(w for pid in pids for w in ("-p", str(pid)))]
    )
    time.sleep(1.0)
    yield host.build_live(fragments=fragments, filters=filters, processes=len(pids))


SCENARIOS = (
    Scenario(
        "cpu-quota", "development", "cpu-quota", ("cpu-quota-throttling",),
        "The CPU limit of a web service's group is below what its clients demand.", _limit_below_demand,
        needs=("nginx", "gunicorn"), seconds=8.0, software=("gunicorn", "nginx"),
    ),
    Scenario(
        "host-out-of-cpu", "development", "host-out-of-cpu", ("cpu-exhausted",),
        "Many ordinary workers together want several times the CPUs, none of them more than its part.",
        _more_work_than_cpus, needs=("nginx", "gunicorn"), seconds=8.0, global_effect=("cpu",),
        software=("gunicorn", "nginx"),
    ),
    Scenario(
        "tracer-attached", "development", "tracer-attached", ("tracer-attached",),
        "An strace that was left behind stops the service at its system calls.", _observer_left_behind,
        needs=("strace", "gunicorn"), seconds=8.0, software=("gunicorn",),
    ),
)  # fmt: skip
