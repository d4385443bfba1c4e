"""Faults of a memory limit under real web services."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.catalog_host import PROGRAMS, CatalogHost, choose_pages, write_pictures
from lab.scenario import Live, Scenario

NEEDS = ("gunicorn", "nginx", "redis-server")
MIB = 1 << 20
SESSION_BYTES = 930  # of the kernel for one empty file in memory: its inode and its directory entry


@contextmanager
def _killed_workers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Pictures need more memory than the group has: a new release draws finer ones, or the limit is lower."""
    way = rng.choice(("release", "limit"))
    workers, fine = rng.randrange(3, 5), rng.randrange(170, 210)
    host = CatalogHost(
        environment, rng, workers=workers, application="posters_app.py",
        variables={"DOTS_PER_INCH": str(72 if way == "release" else fine)},
    )  # fmt: skip
    roomy = rng.randrange(1200, 1600) * MIB
    environment.app.limit_memory(roomy)
    pages = ("/letters/{n}", "/posters/{n}", *["/letters/{n}"] * rng.randrange(12, 20))
    host.start_clients(rng.randrange(60, 100), pages)
    host.measure_baseline()
    picture_bytes = 16 * 24 * 4 * fine * fine
    usage = environment.app.file("memory", "memory.usage_in_bytes", "memory.current")
    tight = int(usage.read_text()) + int(picture_bytes * rng.uniform(1.0, 1.6))
    if way == "release":
        environment.app.limit_memory(tight)
        host.measure_baseline()
        host.gunicorn.restart(DOTS_PER_INCH=str(fine))
    else:
        environment.app.limit_memory(tight)
    yield host.build_live(way=way, dots_per_inch=fine, limit_bytes=tight)


@contextmanager
def _many_sessions(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Files of sessions in memory crowd out the pages of the pictures that nginx serves from a slow volume."""
    application = LabApplication(environment, rng)
    image = application.disk(700)
    files, kilobytes = rng.randrange(900, 1300), rng.choice((64, 96))
    write_pictures(environment, f"{DATA}/media", files, kilobytes)
    host = CatalogHost(
        environment, rng, workers=2, proxied=True, server_lines=f"location /media/ {{ root {DATA}; }}\n"
    )
    rate = rng.randrange(90, 140)
    environment.on_host(["sh", "-c", f"cat {DATA}/media/* >/dev/null"]).wait()
    host.start_clients(rate, (*["/media/p{n}"] * rng.randrange(10, 20), *choose_pages(rng)), files)
    usage = environment.app.file("memory", "memory.usage_in_bytes", "memory.current")
    limit = int(usage.read_text()) + rng.randrange(20, 40) * MIB
    environment.app.limit_memory(limit)
    slow_disk(environment.app, image, iops=rng.randrange(30, 50))
    host.measure_baseline()
    sessions = int(
        (limit - int(usage.read_text()) + files * kilobytes * 1024 * rng.uniform(0.5, 0.8)) / SESSION_BYTES
    )
    store = f"/run/{rng.choice(('sessions', 'php-sessions', 'carts'))}"
    environment.host_sh(f"mkdir {store}")
    program = [sys.executable, "-B", str(PROGRAMS / "session_files.py"), "--directory", store]
    environment.on_host([*program, "--first", str(sessions)])
    wait_for(environment.host.path(f"{store}/ready").exists, "the sessions", 60.0)
    yield host.build_live(files=files, kilobytes=kilobytes, sessions=sessions, limit_bytes=limit)


SCENARIOS = (
    Scenario(
        "memory-limit-kill", "development", "swap-or-oom", ("memcg-oom-kill",),
        "Workers that draw pictures are killed at the memory limit of their group and start again.", _killed_workers,
        needs=NEEDS, global_effect=("app-memory",), software=("gunicorn",), seconds=8.0,
    ),
    Scenario(
        "slab-growth", "development", "slab-growth", ("slab-growth",),
        "Hundreds of thousands of files in memory fill the group with inodes; pictures no longer stay cached.",
        _many_sessions, needs=NEEDS, global_effect=("app-memory", "disk"), software=("nginx",), seconds=8.0,
    ),
)  # fmt: skip
