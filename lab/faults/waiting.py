"""Requests wait while the CPU is idle: for a lock, or for another service."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lab.application import LabApplication
from lab.environment import LabEnvironment, build_python_command
from lab.scenario import Live, Scenario


@contextmanager
def _run_shared_mutex(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether what every request does anyway happens inside one mutex."""
    application = LabApplication(environment, rng)
    wait_us, cpu_us = rng.randrange(4000, 9000), rng.randrange(200, 600)
    rate = int(1e6 / (wait_us + cpu_us) * rng.uniform(1.1, 1.3))
    knobs: dict[str, Any] = {"workers": 16, "hold_wait_us": wait_us, "hold_cpu_us": cpu_us, "burn_us": 300}
    application.items(**knobs)
    application.clients(rate)
    application.baseline()
    application.items(**knobs, locked=1)
    yield application.live(rate=rate, wait_us=wait_us, cpu_us=cpu_us)


@contextmanager
def _synchronised(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A monitor of the JVM around a remote audit, which used to happen side by side."""
    application = LabApplication(environment, rng)
    audit_ms, threads = rng.randrange(8, 18), rng.randrange(24, 60)
    rate = 1000 / audit_ms * rng.uniform(1.05, 1.25)
    jvm = ("-Xmx128m", "-XX:+UseSerialGC")
    application.orders(*jvm, threads=threads, auditMs=audit_ms)
    application.clients(rate, "--poisson")
    application.baseline(4.0)
    application.orders(*jvm, threads=threads, auditMs=audit_ms, serialized="true")
    yield application.live(audit_ms=audit_ms, threads=threads, rate=rate, access_log="")


@contextmanager
def _blocked_redis(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Redis, on another host, does not answer for two of every few seconds."""
    with _redis(environment, rng) as (application, redis_port):
        rate, block_s, every_s = rng.randrange(80, 160), rng.uniform(1.9, 2.6), rng.uniform(3.5, 5.0)
        application.clients(rate, timeout_s=4.0)
        application.baseline()
        with _again_and_again(lambda: _debug_sleep(environment, redis_port, block_s), every_s) as stop:
            yield application.live(
                rate=rate, block_s=block_s, every_s=every_s, redis_port=redis_port, repair=stop
            )


@contextmanager
def _blocked_behind_a_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The same Redis, one futex further away: workers hand questions over to a pool of threads and wait for those."""
    with _redis(environment, rng, askers=rng.randrange(14, 20)) as (application, redis_port):
        rate, block_s, every_s = rng.randrange(80, 160), rng.uniform(1.9, 2.6), rng.uniform(3.5, 5.0)
        application.clients(rate, timeout_s=4.0)
        application.baseline()
        with _again_and_again(lambda: _debug_sleep(environment, redis_port, block_s), every_s) as stop:
            yield application.live(
                rate=rate, block_s=block_s, every_s=every_s, redis_port=redis_port, repair=stop
            )


@contextmanager
def _slow_stock(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The service that every order asks became slow; it answers all, late."""
    application = LabApplication(environment, rng)
    stock_port, slow_ms = rng.randrange(5000, 6900), rng.randrange(300, 700)
    threads, rate = rng.randrange(10, 20), rng.randrange(30, 60)
    stock = environment.serve("stock.py", stock_port, "--slow-ms", slow_ms, client_side=True)
    application.shop("--threads", threads, "--stock", f"{environment.client_address}:{stock_port}")
    application.clients(rate, "--poisson")
    application.baseline()
    stock.send_signal(signal.SIGUSR1)
    yield application.live(stock_port=stock_port, slow_ms=slow_ms, threads=threads, rate=rate)


@contextmanager
def _slow_redis(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The threads stand as still, and the CPU is as idle; but each of them waits for Redis."""
    with _redis(environment, rng) as (application, redis_port):
        rate = rng.randrange(60, 120)
        application.clients(rate)
        application.baseline()
        block_s = rng.uniform(0.25, 0.5)
        with _again_and_again(lambda: _debug_sleep(environment, redis_port, block_s), block_s + 0.03):
            yield application.live(rate=rate, block_s=block_s, redis_port=redis_port)


@contextmanager
def _lock_next_to_redis(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Every request asks Redis, which is quick; before that it waits for the one lock."""
    with _redis(environment, rng, locked=0) as (application, redis_port):
        wait_us = rng.randrange(8000, 14000)
        rate = int(1e6 / wait_us * rng.uniform(1.1, 1.25))
        knobs: dict[str, Any] = {
            "workers": 24,
            "hold_wait_us": wait_us,
            "upstream": f"{environment.client_address}:{redis_port}",
        }
        application.items(**knobs)
        application.clients(rate)
        application.baseline()
        application.items(**knobs, locked=1)
        yield application.live(rate=rate, wait_us=wait_us, redis_port=redis_port)


@contextmanager
def _redis(
    environment: LabEnvironment, rng: random.Random, **knobs: Any
) -> Iterator[tuple[LabApplication, int]]:
    """A application whose application asks a Redis on the clients' side on every request."""
    application = LabApplication(environment, rng)
    port = rng.randrange(5000, 6900)
    application.redis(port)
    application.items(workers=24, upstream=f"{environment.client_address}:{port}", **knobs)
    yield application, port


@contextmanager
def _collector_away(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the collector of the log is away, so its forwarder does not read what the application prints."""
    application = LabApplication(environment, rng)
    collector_port = rng.randrange(5000, 6900)
    workers, rate, log_bytes = rng.randrange(8, 24), rng.randrange(80, 160), rng.randrange(150, 400)
    collector = environment.serve("logs/forwarder.py", collector_port, client_side=True)
    to = f"{environment.client_address}:{collector_port}"
    service = ("log=/dev/stdout", f"log_bytes={log_bytes}", f"workers={workers}", f"port={application.port}")
    forwarder = ("--to", to, "--retry-s", rng.randrange(3, 9), "--", application.build("items.c"), *service)
    application.serve(build_python_command("logs/forwarder.py", *forwarder))
    application.clients(rate)
    application.baseline()
    environment.stop(collector)
    yield application.live(rate=rate, workers=workers, log_bytes=log_bytes, access_log="", pid=False)


def _debug_sleep(environment: LabEnvironment, port: int, seconds: float) -> None:
    command = [
        "redis-cli",
        "-h",
        environment.client_address,
        "-p",
        str(port),
        "debug",
        "sleep",
        f"{seconds:.2f}",
    ]
    environment.on_client(command).wait()


@contextmanager
def _again_and_again(act: Callable[[], None], every_s: float) -> Iterator[Callable[[], None]]:
    """Calls `act` now and every so often, until the block ends or what it gives is called."""
    over = threading.Event()

    def repeat() -> None:
        pause = 0.0
        while not over.wait(pause):
            begin = time.monotonic()
            with contextlib.suppress(OSError):
                act()
            pause = max(0.0, every_s - (time.monotonic() - begin))

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield over.set
    finally:
        over.set()
        thread.join()


SCENARIOS = (
    Scenario(
        "lock", "fault", "lock", ("lock-contention",),
        "All requests pass through one mutex; CPU, load and work are as before.", _run_shared_mutex, needs=("gcc",),
    ),
    Scenario(
        "lock-validation", "validation", "lock", ("lock-contention",),
        "A JVM service does a remote audit inside a synchronized block.", _synchronised,
        needs=("java", "javac"), seconds=8.0,
    ),
    Scenario(
        "lock-decoy", "decoy", "lock", ("slow-dependency",),
        "All threads stand still, but each waits for a Redis that answers late.", _slow_redis,
        needs=("gcc", "redis-server"),
    ),
    Scenario(
        "slow-dependency", "fault", "slow-dependency", ("slow-dependency",),
        "Redis blocks for two seconds at a time; requests wait for it or give up.", _blocked_redis,
        needs=("gcc", "redis-server"), seconds=10.0,
    ),
    Scenario(
        "slow-dependency-chain", "fault", "slow-dependency", ("slow-dependency",),
        "Workers wait in futex for a pool of threads, and those for a Redis that blocks for two seconds at a time.",
        _blocked_behind_a_pool, needs=("gcc", "redis-server"), seconds=10.0,
    ),
    Scenario(
        "slow-dependency-validation", "validation", "slow-dependency", ("slow-dependency",),
        "An HTTP service that every request asks takes half a second to answer.", _slow_stock, seconds=6.0,
    ),
    Scenario(
        "slow-dependency-decoy", "decoy", "slow-dependency", ("lock-contention",),
        "Requests ask a quick Redis, after they have waited for one lock.", _lock_next_to_redis,
        needs=("gcc", "redis-server"),
    ),
    Scenario(
        "printed-log", "fault", "duplicate-logging", ("output-pipe-full",),
        "The application prints its log; the collector is away, and the forwarder in between waits for it.",
        _collector_away, needs=("gcc",), seconds=10.0,
    ),
)  # fmt: skip
