"""Hosts that are busy and healthy: their figures resemble those of faults, and no client is worse off."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.hosts.site_host import (
    PROGRAMS,
    SiteHost,
    choose_pages,
    choose_scope,
    mount_volume,
    start_neighbors,
    start_web_clients,
)  # fmt: skip
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.scenario import Live, Scenario


def _add_group(environment: LabEnvironment, name: str) -> Group:
    """Return another group of applications on the host."""
    return Group(f"{environment.app.path.rpartition('/')[0]}/{name}").create()


def _measure_again(load: Load, warm_up_s: float = 1.5) -> dict[str, float]:
    """Return what clients see in the first seconds, once the software is warm."""
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(warm_up_s)
    return load.baseline()


@contextmanager
def _busy_web(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """About half of the CPUs in use, an occasional run queue, all workers awake; answers stay quick."""
    host = SiteHost(environment, rng, workers=rng.randrange(4, 9), proxied=True)
    host.start_clients(rng.randrange(400, 540), choose_pages(rng))
    time.sleep(1.0)
    host.measure_baseline()
    yield host.build_live()


@contextmanager
def _busy_postgres(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Hundreds of transactions per second with checkpoints, durable commits, and sessions that wait for clients."""
    settings: dict[str, object] = {
        "checkpoint_timeout": "30s", "max_connections": rng.choice((60, 100)), "log_checkpoints": "on",
        "synchronous_commit": rng.choice(("on", "on", "off")),
    }  # fmt: skip
    database = PostgresServer(environment, rng, settings=settings)
    rate, connections = rng.randrange(180, 320), rng.randrange(8, 20)
    load = environment.load(
        "--database", database.build_dsn(), "--rate", rate, "--connections", connections,
        "--seed", rng.randrange(10_000),
        "--customers", database.sizes["customers"], "--products", database.sizes["products"],
        "--writes", rng.choice((0.1, 0.25, 0.4)), on_host=True, program=str(PROGRAMS / "order_desk.py"),
    )  # fmt: skip
    waiting = rng.randrange(10, 30)
    for _ in range(waiting):
        database.start_session("sleep 600", user="jobs")
    neighbors = start_neighbors(environment, rng)
    healthy = _measure_again(load)
    parameters = {
        "rate": rate, "connections": connections, "waiting": waiting, "settings": settings, "neighbors": neighbors,
        "healthy": healthy,
    }  # fmt: skip
    yield Live(environment.host, choose_scope(rng, database.pid, environment.app), parameters, load.stats)


@contextmanager
def _busy_redis(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Thousands of commands per second while Redis forks for snapshots and appends to its log."""
    port, path = rng.randrange(6300, 6500), rng.choice(("/run/redis-data", "/run/data"))
    mount_volume(environment, 600, path)
    seconds, changes = rng.choice(((15, 1000), (20, 500), (30, 1000)))
    append = rng.random() < 0.6
    server = environment.on_host(
        ["redis-server", "--port", str(port), "--bind", environment.host_address, "--protected-mode", "no",
         "--dir", path, "--save", f"{seconds} {changes}", "--appendonly", "yes" if append else "no",
         "--appendfsync", "everysec", "--logfile", f"{path}/redis.log", "--enable-debug-command", "yes"]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "redis")
    keys = rng.randrange(60_000, 150_000)
    environment.host_sh(f"redis-cli -h {environment.host_address} -p {port} DEBUG POPULATE {keys} cart 300")
    rate, batch = rng.randrange(3000, 7000), rng.choice((10, 20))
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--batch", batch, "--connections", 10,
        "--keys", keys, "--idle", rng.randrange(50, 300), "--seed", rng.randrange(10_000),
        program=str(PROGRAMS / "clients" / "store_clients.py"),
    )  # fmt: skip
    neighbors = start_neighbors(environment, rng)
    healthy = _measure_again(load)
    parameters = {
        "port": port, "rate": rate, "batch": batch, "keys": keys, "append": append, "save": (seconds, changes),
        "neighbors": neighbors, "healthy": healthy,
    }  # fmt: skip
    yield Live(environment.host, choose_scope(rng, server.pid, environment.app), parameters, load.stats)


@contextmanager
def _batch_job_of_low_weight(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """All CPUs are in use, because a compression takes what the web server leaves."""
    host = SiteHost(environment, rng, workers=rng.randrange(3, 6))
    host.start_clients(rng.randrange(110, 190), choose_pages(rng))
    host.measure_baseline()
    archive = environment.directory / "export.csv"
    environment.host_sh(f"seq 1 400000 | sed 's/$/;open;north;4711/' >{archive}")
    kind = rng.choice(("idle class", "low weight"))
    command = rng.choice(("xz -5 -c", "xz -9 -c", "bzip2 -9 -c"))
    line = f'while :; do nice -n 19 {command} "$0" >"$0.packed"; done'
    group = _add_group(environment, rng.choice(("batch", "nightly")))
    group.weigh(2 if kind == "low weight" else 24)
    prefix = ["chrt", "--idle", "0"] if kind == "idle class" else []
    jobs = rng.randrange(2, 4)
    for number in range(jobs):
        copy = archive.with_name(f"export-{number}.csv")
        copy.write_bytes(archive.read_bytes())
        environment.on_host([*prefix, "sh", "-c", line, str(copy)], group)
    time.sleep(1.0)
    yield host.build_live(kind=kind, command=command, jobs=jobs)


@contextmanager
def _throttled_shipper(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The group of the log shipper is at its CPU limit in every period; the site does not wait for it."""
    host = SiteHost(environment, rng, workers=rng.randrange(3, 6), proxied=True)
    host.start_clients(rng.randrange(150, 240), choose_pages(rng))
    limit = round(rng.uniform(0.04, 0.12), 2)
    group = _add_group(environment, rng.choice(("shipper", "log-agent")))
    group.limit_cpu(limit)
    level, backlog = rng.choice((6, 9)), environment.directory / "log-archive"
    environment.host_sh(f"seq 20000 | sed 's|.*|& GET /products/& 200 12 203.0.113.9|' >{backlog}")
    line = f'while :; do cat "$0" {host.access_log} | gzip -{level} | sha256sum >"$0.sent"; done'
    environment.on_host(["sh", "-c", line, str(backlog)], group)
    time.sleep(1.0)
    host.measure_baseline()
    yield host.build_live(limit_cpus=limit, level=level)


@contextmanager
def _short_collections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A JVM with a small young generation collects many times per second, for a millisecond or two each."""
    port, rate = rng.randrange(7000, 9900), rng.randrange(110, 190)
    classes = environment.directory / "quotes/classes"
    subprocess.run(["javac", "-d", str(classes), str(PROGRAMS / "Quotes.java")], check=True, timeout=120)
    young_mb, collector = rng.choice((8, 12, 16)), rng.choice(("G1", "Parallel", "Serial"))
    objects = rng.randrange(1500, 4000)
    server = environment.on_host(
        ["java", "-Xmx256m", f"-Xmn{young_mb}m", f"-XX:+Use{collector}GC", "-XX:-UsePerfData",
         f"-Xlog:gc:file={environment.directory}/quotes/gc.log", "-cp", str(classes), "Quotes",
         environment.host_address, str(port), str(rng.choice((8, 16, 32))), str(objects)]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "the quotes", 30)
    neighbors = start_neighbors(environment, rng)
    load = start_web_clients(environment, rng, port, rate, ("/quotes/{n}", "/quotes/renewal/{n}"))
    healthy = _measure_again(load, 6.0)
    parameters = {
        "port": port, "rate": rate, "young_mb": young_mb, "collector": collector, "objects": objects,
        "neighbors": neighbors, "healthy": healthy,
    }  # fmt: skip
    yield Live(environment.host, choose_scope(rng, server.pid, environment.app), parameters, load.stats)


SCENARIOS = (
    Scenario(
        "busy-web", "healthy", "healthy", (), "nginx and gunicorn at half of the CPUs.", _busy_web,
        needs=("nginx", "gunicorn"), software=("nginx", "gunicorn"),
    ),
    Scenario(
        "busy-postgres", "healthy", "healthy", (), "PostgreSQL at hundreds of transactions per second.",
        _busy_postgres, needs=(POSTGRES,), software=("postgresql",),
    ),
    Scenario(
        "busy-redis", "healthy", "healthy", (), "Redis with snapshots at thousands of commands a second.", _busy_redis,
        needs=("redis-server", "mkfs.ext4"), software=("redis",),
    ),
    Scenario(
        "batch-low-weight", "healthy", "healthy", (), "A compression takes the CPU time that a web server leaves.",
        _batch_job_of_low_weight, needs=("gunicorn", "xz", "bzip2"), global_effect=("cpu",), software=("gunicorn",),
    ),
    Scenario(
        "throttled-shipper", "healthy", "healthy", (), "A log shipper at its CPU limit, for which nothing waits.",
        _throttled_shipper, needs=("nginx", "gunicorn"), software=("nginx", "gunicorn"),
    ),
    Scenario(
        "jvm-short-collections", "healthy", "healthy", (), "A JVM with frequent short collections.", _short_collections,
        needs=("java", "javac"), software=("java",),
    ),
)  # fmt: skip
