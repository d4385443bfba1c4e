"""Runtimes and caches: a pool of threads, a process that forks, and patterns that text is matched with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.golang import GO, GoService
from lab.real.services.hosts.runtime_host import PROGRAMS, RuntimeHost
from lab.real.services.java import JavaService
from lab.real.services.node import NodeService
from lab.real.services.redis import Redis
from lab.scenario import Live, Scenario

# What a review must not contain, before and after an update of the rules. Text, length range of a line, its mark.
ORDINARY_RULES = ("buy now|free money", "(?:http|ftp)://[a-z]+\\.example", "casino [0-9]+")
TRAILING_SPACE = ("\\s+$", (15_000, 19_000), " ")
ASSIGNMENT = (".*.*=.*", (650, 800), "x")
NUMBERED_WORDS = ("([a-z]+)+[0-9]$", (24, 25), "x")


@contextmanager
def _run_jvm_thread_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how long a partner takes for prices; pages need no partner, but the same threads."""
    host = RuntimeHost(environment, rng)
    threads, rate, slow_ms = rng.choice((8, 10, 12, 16)), rng.randrange(60, 110), rng.randrange(900, 1600)
    share = rng.choice((2, 3, 4))
    quick_ms = rng.randrange(8, 25)
    partner = host.start_partner(prices=(quick_ms, 0.3))
    service = JavaService(environment, "Storefront.java", host.port)
    work, scratch = rng.randrange(1500, 4000), rng.randrange(20, 60)
    service.write_settings(threads=threads, partner=partner, work=work, scratch=scratch, baskets=500, lines=8)
    service.start("-Xmx256m", rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC")))
    host.start_clients(rate, {"pages": 8 - share, "prices": share, "baskets": rng.choice((0, 1))}, warm_s=6.0)
    repair = partial(host.set_partner, prices=(quick_ms, 0.3))
    inject = partial(host.set_partner, prices=(slow_ms, 0.3))
    inject()
    yield host.build_live(service.pid, service.access_log, repair, inject, threads=threads, slow_ms=slow_ms)


@contextmanager
def _run_fork_copy_on_write(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: Redis saves its data set every few seconds, while carts are written all over it."""
    host = RuntimeHost(environment, rng)
    size_bytes = rng.choice((14_000, 18_000, 24_000))
    keys = rng.randrange(2_400, 3_200) * 1_000_000 // size_bytes
    redis = Redis(environment, rng.choice((6379, 6390, 7100)))
    redis.populate(keys, "session", size_bytes)
    service = GoService(environment, "accounts.go", host.port, "-redis", redis.address, "-keys", keys)
    service.write_settings(
        writes=rng.randrange(40, 80), reads=4, field_bytes=rng.randrange(50, 90), last_field=size_bytes - 100,
        rounds=rng.randrange(300, 900),
    )  # fmt: skip
    service.start()
    mix = {"carts": rng.choice((3, 4)), "sessions": rng.choice((2, 3)), "items": 1}
    host.start_clients(rng.randrange(150, 220), mix)
    save = rng.choice(("1 1", "2 10", "1 1000"))
    redis.run("CONFIG", "SET", "save", save)
    wait_for(lambda: "rdb_bgsave_in_progress:1" in redis.run("INFO", "persistence"), "the child of Redis")
    yield host.build_live(redis.pid, service.access_log, keys=keys, size_bytes=size_bytes, save=save)


@contextmanager
def _run_regex_backtracking(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an update of the rules contains a pattern that takes very long for a few reviews."""
    host = RuntimeHost(environment, rng)
    rule, lengths, mark = rng.choice((TRAILING_SPACE, ASSIGNMENT, NUMBERED_WORDS))
    service = NodeService(environment, "gateway.js", host.port)
    settings: dict[str, object] = {
        "work": rng.randrange(800, 2200), "separator": rng.randrange(*lengths), "mark": mark, "iterations": 300,
    }  # fmt: skip
    rules = [*rng.sample(ORDINARY_RULES, 2)]
    service.write_settings(**settings, rules=rules)
    service.start()
    host.start_clients(
        rng.randrange(60, 110), {"pages": rng.choice((3, 4)), "reviews": rng.choice((2, 3)), "signin": 1}
    )
    repair = partial(service.write_settings, **settings, rules=rules)
    inject = partial(service.write_settings, **settings, rules=[*rules, rule])
    inject()
    yield host.build_live(service.pid, service.access_log, repair, inject, rule=rule)


@contextmanager
def _run_regex_backtracking_threads(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the new rule; threads of the JVM match long reviews at the same time."""
    host = RuntimeHost(environment, rng)
    rule, lengths, mark = rng.choice((TRAILING_SPACE, ASSIGNMENT))
    service = JavaService(environment, "Storefront.java", host.port)
    settings: dict[str, object] = {
        "threads": rng.choice((24, 32, 48)), "partner": "", "work": rng.randrange(1500, 4000),
        "scratch": rng.randrange(20, 60), "baskets": rng.randrange(200, 2000), "lines": 8,
        "separator": rng.randrange(*lengths), "mark": mark,
    }  # fmt: skip
    service.write_settings(**settings, rule=rng.choice(ORDINARY_RULES[:1]))
    service.start("-Xmx320m")
    mix = {"pages": rng.choice((2, 3)), "reviews": rng.choice((4, 5)), "baskets": rng.choice((1, 2))}
    host.start_clients(rng.randrange(80, 120), mix, warm_s=6.0)
    service.write_settings(**settings, rule=rule)
    yield host.build_live(service.pid, service.access_log, rule=rule)


@contextmanager
def _run_blocking_command(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how an event loop waits for what a receipt needs; the partner is as quick as before."""
    host = RuntimeHost(environment, rng)
    signer = host.start_partner(sign=(rng.randrange(220, 320), 0.2))
    settings, pause_ms = environment.directory / "receipts.json", rng.randrange(250, 400)
    signing = rng.choice(("captured", "output", "paced"))
    settings.write_text(json.dumps({"signing": "async"}))
    server = environment.on_host(
        ["env", f"LISTEN={environment.host_address}:{host.port}", f"SIGNER={signer}", f"SETTINGS={settings}",
         f"WORK={rng.randrange(300, 900)}", "/usr/bin/python3", "-B", str(PROGRAMS / "daemons" / "receipts_app.py")]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{host.port}")), "the receipts")
    host.start_clients(rng.randrange(12, 18), {"spaces": 9, "receipts": 2}, timeout_s=10.0)
    settings.with_suffix(".new").write_text(json.dumps({"signing": signing, "pause_ms": pause_ms}))
    settings.with_suffix(".new").replace(settings)
    yield host.build_live(server.pid, "", signing=signing, pause_ms=pause_ms)


SCENARIOS = (
    Scenario(
        "jvm-thread-pool", "development", "jvm-thread-pool", ("worker-pool-exhausted", "slow-dependency"),
        "A partner answers slowly and all threads of a fixed pool wait for it; pages that need no partner queue.",
        _run_jvm_thread_pool, needs=("java", "javac"), seconds=8.0, software=("java",),
    ),
    Scenario(
        "fork-copy-on-write", "development", "fork-copy-on-write", ("fork-copy-on-write",),
        "Redis forks again and again to save a large data set that is being written; without that it is quick.",
        _run_fork_copy_on_write, needs=("redis-server", GO), seconds=15.0, software=("redis",),
        global_effect=("cpu",),
    ),
    Scenario(
        "regex-backtracking", "development", "regex-backtracking", ("cpu-hot-function", "blocked-event-loop"),
        "A new pattern backtracks in a few reviews, and the one thread of Node answers nothing else in the meantime.",
        _run_regex_backtracking, needs=("node",), seconds=8.0, software=("node",), global_effect=("cpu",),
    ),
    Scenario(
        "regex-backtracking-threads", "development", "regex-backtracking", ("cpu-hot-function",),
        "A new pattern backtracks in a few reviews and burns the CPUs of a JVM; other requests are cheap.",
        _run_regex_backtracking_threads, needs=("java", "javac"), seconds=8.0, software=("java",),
        global_effect=("cpu",),
    ),
    Scenario(
        "blocking-command", "development", "blocking-command", ("blocked-event-loop",),
        "A release waits for a command, or for its next attempt, in the one thread of an event loop.",
        _run_blocking_command, needs=("curl",), seconds=8.0, software=("aiohttp",),
    ),
)  # fmt: skip
