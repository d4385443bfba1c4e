"""Runtimes and caches: collectors of garbage, one thread for all requests, and one lock for all requests."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.environment import LabEnvironment
from lab.real.services.golang import GO, GoService
from lab.real.services.hosts.runtime_host import RuntimeHost
from lab.real.services.java import JavaService
from lab.real.services.node import NodeService
from lab.real.services.redis import Redis
from lab.scenario import Live, Scenario

PROGRAMS = Path(__file__).parents[1] / "programs"


@contextmanager
def _run_jvm_gc_pause(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: more baskets are kept, so that the heap is nearly full after each collection."""
    host = RuntimeHost(environment, rng)
    heap_mb, lines = rng.choice((320, 400, 480)), rng.choice((10, 16, 24))
    collector = rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"))
    service = JavaService(environment, "Storefront.java", host.port)
    settings: dict[str, object] = {
        "threads": rng.choice((16, 24, 32)), "partner": "", "work": rng.randrange(1000, 2500),
        "scratch": rng.randrange(120, 260), "lines": lines,
    }  # fmt: skip
    baskets = int(heap_mb * 1_000_000 * rng.uniform(0.83, 0.88) / (120 + 82 * lines))
    service.write_settings(**settings, baskets=baskets // 4)
    service.start(f"-Xmx{heap_mb}m", f"-Xms{heap_mb}m", collector)
    mix = {"pages": rng.choice((2, 3)), "baskets": rng.choice((3, 4))}
    host.start_clients(rng.randrange(60, 110), mix, warm_s=6.0)
    service.write_settings(**settings, baskets=baskets)
    time.sleep(5.0)
    yield host.build_live(service.pid, service.access_log, heap_mb=heap_mb, lines=lines, collector=collector)


@contextmanager
def _run_go_gc_pressure(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a limit of the collector, in the environment variables of the service."""
    host = RuntimeHost(environment, rng)
    entries = rng.randrange(140_000, 220_000)
    service = GoService(environment, "accounts.go", host.port, "-entries", entries)
    service.write_settings(related=rng.randrange(120, 200), rounds=rng.randrange(500, 1500))
    service.start()
    mix = {"profile": rng.choice((4, 5)), "items": rng.choice((2, 3))}
    host.start_clients(rng.randrange(110, 170), mix)
    live, other = map(
        int, environment.host_sh(f"curl -s http://{environment.host_address}:{host.port}/memory").split()
    )
    limit = int((live + other) * rng.uniform(1.02, 1.05))
    variables = rng.choice(({"GOGC": str(rng.choice((2, 3, 4)))}, {"GOGC": "off", "GOMEMLIMIT": str(limit)}))
    service.stop()
    service.start(variables)
    yield host.build_live(service.pid, service.access_log, entries=entries, variables=variables)


@contextmanager
def _run_node_event_loop_blocked(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much synchronous work one kind of request does."""
    host = RuntimeHost(environment, rng)
    kind = rng.choice(("feeds", "archives", "signin"))
    service = NodeService(environment, "gateway.js", host.port)
    settings: dict[str, object] = {
        "work": rng.randrange(800, 2200), "separator": 20, "mark": "-", "iterations": 400,
        "feed": str(service.write_articles(rng.randrange(200, 500))), "rules": ["free money", "casino [0-9]+"],
    }  # fmt: skip
    service.write_settings(**settings)
    service.start()
    parts = rng.choice((60, 80, 100))
    host.start_clients(rng.randrange(60, 120), {"pages": parts, "reviews": parts // 2, kind: 1})
    if kind == "signin":
        service.write_settings(**settings | {"iterations": rng.randrange(250_000, 400_000)})
    else:
        service.write_articles(
            rng.randrange(180_000, 260_000) if kind == "feeds" else rng.randrange(50_000, 80_000)
        )
    yield host.build_live(service.pid, service.access_log, kind=kind)


@contextmanager
def _run_redis_slow_command(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a new job of the operators, which reads all of a large data set in single commands."""
    host = RuntimeHost(environment, rng)
    keys = rng.randrange(700_000, 1_200_000)
    redis = Redis(environment, rng.choice((6379, 6390, 7100)))
    redis.populate(keys, "session", rng.choice((60, 100, 160)))
    redis.populate(10, "queue", 10)
    redis.run(
        "EVAL", 'for i=1,ARGV[1] do redis.call("RPUSH","visits","visit-"..i) redis.call("SADD","users","user-"..i) end',
        0, 300_000,
    )  # fmt: skip
    service = GoService(environment, "accounts.go", host.port, "-redis", redis.address, "-keys", keys)
    service.write_settings(
        writes=rng.randrange(2, 6), reads=rng.randrange(3, 6), rounds=rng.randrange(800, 2000)
    )
    service.start()
    mix = {"sessions": rng.choice((4, 5)), "carts": rng.choice((0, 1)), "items": rng.choice((1, 2))}
    host.start_clients(rng.randrange(120, 220), mix)
    command = rng.choice(
        ("KEYS queue:*", "LRANGE visits 0 -1", "SMEMBERS users", "SORT users ALPHA LIMIT 0 10")
    )
    pause_s = round(rng.uniform(0.3, 0.9), 2)
    environment.on_host(
        [sys.executable, "-B", str(PROGRAMS / "queue_report.py"), "--to", redis.address, "--every-s", str(pause_s),
         "--command", command]
    )  # fmt: skip
    yield host.build_live(redis.pid, service.access_log, keys=keys, command=command, pause_s=pause_s)


@contextmanager
def _run_lock_in_runtime(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a feature flag, with which the check of a reservation happens while a mutex is held."""
    host = RuntimeHost(environment, rng)
    rate, mix = (
        rng.randrange(90, 160),
        {"stock": rng.choice((5, 6)), "items": rng.choice((1, 2)), "profile": 1},
    )
    check_ms = round(1000 / (rate * mix["stock"] / sum(mix.values())) * rng.uniform(0.82, 1.0), 1)
    partner = host.start_partner(stock=(check_ms, 0.2))
    service = GoService(environment, "accounts.go", host.port, "-partner", partner, "-entries", 20_000)
    settings: dict[str, object] = {"related": rng.randrange(10, 40), "rounds": rng.randrange(2000, 6000)}
    service.write_settings(**settings, strict_reservations="no")
    service.start()
    host.start_clients(rate, mix)
    service.write_settings(**settings, strict_reservations="yes")
    yield host.build_live(service.pid, service.access_log, check_ms=check_ms)


@contextmanager
def _run_lock_in_jvm(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a setting, with which a price is fetched inside of a synchronized block."""
    host = RuntimeHost(environment, rng)
    rate, mix = (
        rng.randrange(80, 130),
        {"prices": rng.choice((5, 6)), "pages": rng.choice((1, 2)), "baskets": 1},
    )
    fetch_ms = round(1000 / (rate * mix["prices"] / sum(mix.values())) * rng.uniform(0.82, 1.0), 1)
    partner = host.start_partner(prices=(fetch_ms, 0.2))
    service = JavaService(environment, "Storefront.java", host.port)
    settings: dict[str, object] = {
        "threads": rng.choice((200, 256)), "partner": partner, "work": rng.randrange(1500, 3500),
        "scratch": rng.randrange(20, 60), "baskets": rng.randrange(500, 2000), "lines": 8,
    }  # fmt: skip
    service.write_settings(**settings, exact="false")
    service.start("-Xmx384m")
    host.start_clients(rate, mix, warm_s=6.0)
    service.write_settings(**settings, exact="true")
    yield host.build_live(service.pid, service.access_log, fetch_ms=fetch_ms)


SCENARIOS = (
    Scenario(
        "jvm-gc-pause", "development", "jvm-gc-pause", ("gc-pauses",),
        "A JVM keeps nearly as much as its heap can hold and collects garbage all the time; its work is the same.",
        _run_jvm_gc_pause, needs=("java", "javac"), seconds=12.0, software=("java",), global_effect=("cpu",),
    ),
    Scenario(
        "go-gc-pressure", "development", "go-gc-pressure", ("gc-pauses",),
        "The memory limit or the growth target of Go is so low that it collects garbage without end.",
        _run_go_gc_pressure, needs=(GO, "curl"), seconds=8.0, software=("go",), global_effect=("cpu",),
    ),
    Scenario(
        "node-event-loop-blocked", "development", "node-event-loop-blocked", ("blocked-event-loop",),
        "A rare kind of request does long synchronous work in Node, and all other requests wait for it.",
        _run_node_event_loop_blocked, needs=("node",), seconds=10.0, software=("node",),
    ),
    Scenario(
        "redis-slow-command", "development", "redis-slow-command", ("blocked-event-loop", "cpu-hot-function"),
        "A job runs commands over a whole data set of Redis; the quick reads of an application wait for each.",
        _run_redis_slow_command, needs=("redis-server", GO), seconds=8.0, software=("redis",),
    ),
    Scenario(
        "lock-in-runtime", "development", "lock-in-runtime", ("lock-contention",),
        "A mutex of Go is held during a remote call: reservations queue for it while the CPUs are idle.",
        _run_lock_in_runtime, needs=(GO,), seconds=8.0, software=("go",),
    ),
    Scenario(
        "lock-in-runtime-jvm", "development", "lock-in-runtime", ("lock-contention",),
        "Threads of a JVM wait for a synchronized block during whose remote call nothing else can enter.",
        _run_lock_in_jvm, needs=("java", "javac"), seconds=8.0, software=("java",),
    ),
)  # fmt: skip
