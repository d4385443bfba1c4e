"""Memory: a working set that no longer fits, kills for want of memory, leaks, and what merely looks like them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario

MIB = 1 << 20


@contextmanager
def _shrunk_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the memory limit, which now holds a fraction of the mapped index."""
    application = LabApplication(environment, rng)
    index_mb, share = rng.randrange(160, 240), rng.uniform(0.35, 0.5)
    rate, touch, iops = rng.randrange(60, 120), rng.randrange(5, 10), rng.randrange(400, 700)
    # ext4 needs a sixth of a small disk for itself, and a full file system would be a second fault.
    slow_disk(environment.app, application.disk(index_mb * 5 // 4 + 60), iops=iops)
    index = application.file("index", index_mb)
    environment.app.limit_memory((index_mb + 200) * MIB)
    application.items(map=index, touch=touch, workers=16)
    _warm(environment, index)
    application.clients(rate)
    application.baseline()
    environment.app.limit_memory(int(index_mb * share) * MIB)

    def repair() -> None:
        environment.app.limit_memory((index_mb + 200) * MIB)
        _warm(environment, index)

    yield application.live(index_mb=index_mb, share=share, rate=rate, touch=touch, iops=iops, repair=repair)


@contextmanager
def _grown_catalog(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The limit stays; the catalog of the new season is several times as large."""
    application = LabApplication(environment, rng)
    limit_mb, rate, lookups = rng.randrange(70, 100), rng.randrange(25, 50), rng.randrange(8, 16)
    bytes_per_s = rng.randrange(12, 24) * MIB
    slow_disk(environment.app, application.disk(limit_mb * 4 + 40), bytes_per_s=bytes_per_s)
    small, large = application.file("spring", 16), application.file("summer", limit_mb * 3)
    environment.app.limit_memory(limit_mb * MIB)
    options = ("--threads", 6, "--lookups", lookups)
    application.shop(*options, "--catalog", small)
    _warm(environment, small)
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop(*options, "--catalog", large)
    yield application.live(limit_mb=limit_mb, rate=rate, lookups=lookups, bytes_per_s=bytes_per_s)


@contextmanager
def _big_reader(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A reader goes through a big file again and again: the page cache is at its limit, and no process waits for it."""
    application = LabApplication(environment, rng)
    limit_mb, rate, block_kb = rng.randrange(100, 160), rng.randrange(60, 120), rng.choice((128, 256, 1024))
    application.disk(limit_mb * 2 + 40)
    archive = application.file("archive", limit_mb * 2)
    application.items(burn_us=300)
    application.clients(rate)
    application.baseline()
    environment.app.limit_memory(limit_mb * MIB)
    slow_reader = f"while :; do dd if={archive} of=/dev/null bs={block_kb}k status=none; sleep 0.2; done"
    environment.on_host(["sh", "-c", slow_reader])
    yield application.live(limit_mb=limit_mb, rate=rate, block_kb=block_kb)


@contextmanager
def _leak_to_the_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The release keeps what every request allocates; a supervisor starts it again each time it is killed."""
    application = LabApplication(environment, rng)
    limit_mb, rate, leak_kb = rng.randrange(90, 150), rng.randrange(80, 140), rng.randrange(300, 600)
    environment.app.limit_memory(limit_mb * MIB)
    application.items(supervised=True, cache_kb=leak_kb)
    application.clients(rate)
    application.baseline()
    application.items(supervised=True, leak_kb=leak_kb)
    repair = partial(application.items, supervised=True, cache_kb=leak_kb)
    yield application.live(
        more=lambda: _exits(application),
        limit_mb=limit_mb,
        rate=rate,
        leak_kb=leak_kb,
        pid=False,
        repair=repair,
    )


@contextmanager
def _spool_in_memory(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Files in a tmpfs belong to the memory of the group, and stay when the process is killed."""
    application = LabApplication(environment, rng)
    limit_mb, rate = rng.randrange(80, 140), rng.randrange(50, 90)
    environment.host_sh("mkdir /run/spool; mount -t tmpfs -o size=2g tmpfs /run/spool")
    environment.app.limit_memory(limit_mb * MIB)
    application.shop("--threads", 4, supervised=True)
    application.clients(rate)
    application.baseline()
    application.shop("--threads", 4, "--spool", "/run/spool", supervised=True)
    yield application.live(more=lambda: _exits(application), limit_mb=limit_mb, rate=rate, pid=False)


@contextmanager
def _killed_from_outside(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Exit 137 as well, but a user sends SIGKILL; memory is nowhere near the limit."""
    application = LabApplication(environment, rng)
    limit_mb, rate, every_s = rng.randrange(400, 900), rng.randrange(80, 140), rng.uniform(1.5, 3.0)
    environment.app.limit_memory(limit_mb * MIB)
    application.items(supervised=True, cache_kb=400)
    application.clients(rate)
    application.baseline()
    over = threading.Event()
    killer = threading.Thread(target=_kill_children, args=(application, every_s, over))
    killer.start()
    try:
        yield application.live(
            more=lambda: _exits(application), limit_mb=limit_mb, rate=rate, every_s=every_s, pid=False
        )
    finally:
        over.set()
        killer.join()


@contextmanager
def _heap_over_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """-Xmx is a multiple of what the group may have; the heap grows with the orders until it is killed."""
    application = LabApplication(environment, rng)
    limit_mb, times, keep_kb = rng.randrange(160, 240), rng.randrange(3, 6), rng.randrange(600, 1100)
    rate = rng.randrange(60, 100)
    environment.app.limit_memory(limit_mb * MIB)
    application.orders("-Xmx64m", "-XX:+UseSerialGC", supervised=True, keepKb=keep_kb, keepMb=20)
    application.clients(rate)
    application.baseline()
    application.orders(f"-Xmx{limit_mb * times}m", "-XX:+UseSerialGC", supervised=True, keepKb=keep_kb)
    yield application.live(
        more=lambda: _exits(application),
        limit_mb=limit_mb,
        xmx_mb=limit_mb * times,
        keep_kb=keep_kb,
        rate=rate,
        pid=False,
    )


@contextmanager
def _heap_touched_at_start(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The options of a bigger machine were copied: the heap is touched at the start, which never ends well."""
    application = LabApplication(environment, rng)
    limit_mb, heap_mb, rate = rng.randrange(180, 280), rng.randrange(700, 1500), rng.randrange(30, 60)
    environment.app.limit_memory(limit_mb * MIB)
    application.orders("-XX:MaxHeapSize=80m", supervised=True, auditMs=3)
    application.clients(rate, "--poisson")
    application.baseline()
    heap = (f"-XX:MaxHeapSize={heap_mb}m", f"-XX:InitialHeapSize={heap_mb}m", "-XX:+AlwaysPreTouch")
    application.orders("-XX:+UseParallelGC", *heap, supervised=True, wait=False, auditMs=3)
    yield application.live(
        more=lambda: _exits(application), limit_mb=limit_mb, heap_mb=heap_mb, rate=rate, pid=False
    )


@contextmanager
def _sidecar_next_to_jvm(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The heap of the JVM fits well; what is killed, and killed for, is the web shop in the same group."""
    application = LabApplication(environment, rng)
    limit_mb, rate, basket_kb = rng.randrange(260, 340), rng.randrange(80, 120), rng.randrange(600, 900)
    environment.app.limit_memory(limit_mb * MIB)
    related = [
        "java",
        "-Xmx64m",
        "-XX:+UseSerialGC",
        f"-Dport={application.port + 200}",
        "-cp",
        application.build("Orders.java"),
        "Orders",
    ]
    environment.on_host(related)
    application.shop("--basket-kb", basket_kb, "--baskets", 20, supervised=True)
    application.clients(rate)
    application.baseline()
    application.shop("--basket-kb", basket_kb, supervised=True)
    yield application.live(
        more=lambda: _exits(application), limit_mb=limit_mb, rate=rate, basket_kb=basket_kb, pid=False
    )


@contextmanager
def _steady_leak(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Every request leaves something behind; the limit is minutes away, and requests are as quick as ever."""
    application = LabApplication(environment, rng)
    rate, leak_kb = rng.randrange(80, 140), rng.randrange(40, 90)
    environment.app.limit_memory(4096 * MIB)
    application.items(cache_kb=leak_kb)
    application.clients(rate)
    application.baseline()
    application.items(leak_kb=leak_kb)
    yield application.live(more=_growth(application), rate=rate, leak_kb=leak_kb)


@contextmanager
def _unbounded_baskets(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A dictionary from which nothing is removed, in an interpreter."""
    application = LabApplication(environment, rng)
    rate, basket_kb = rng.randrange(40, 80), rng.randrange(60, 160)
    application.shop("--basket-kb", basket_kb, "--baskets", 30)
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop("--basket-kb", basket_kb)
    yield application.live(more=_growth(application), rate=rate, basket_kb=basket_kb)


@contextmanager
def _growing_cache(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The memory of the group grows as fast, but it is page cache, which goes when it is needed."""
    application = LabApplication(environment, rng)
    rate, mb_per_s = rng.randrange(60, 120), rng.randrange(6, 14)
    application.disk(700)
    application.items(burn_us=300)
    application.clients(rate)
    application.baseline()
    environment.app.limit_memory(4096 * MIB)
    grow = f"while :; do head -c {mb_per_s}M /dev/urandom >>{DATA}/archive || exit; sleep 1; done"
    environment.on_host(["sh", "-c", grow])
    yield application.live(more=_growth(application), rate=rate, mb_per_s=mb_per_s)


def _warm(environment: LabEnvironment, path: str) -> None:
    environment.on_host(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"]).wait()


def _exits(application: LabApplication) -> dict[str, float]:
    """How often the application was killed."""
    return {"killed": application.exits.read_text().count("exit=137") if application.exits.exists() else 0}


def _growth(application: LabApplication) -> Callable[[], dict[str, float]]:
    """How much the resident memory of the application has grown since now."""
    assert application.server is not None
    statm, page_mb = Path(f"/proc/{application.server.pid}/statm"), os.sysconf("SC_PAGE_SIZE") / MIB
    begin = int(statm.read_text().split()[1])
    return lambda: {"grown_mb": (int(statm.read_text().split()[1]) - begin) * page_mb}


def _kill_children(application: LabApplication, every_s: float, over: threading.Event) -> None:
    assert application.server is not None
    children = Path(f"/proc/{application.server.pid}/task/{application.server.pid}/children")
    while not over.wait(every_s):
        with contextlib.suppress(OSError):
            for pid in children.read_text().split():
                os.kill(int(pid), signal.SIGKILL)


SCENARIOS = (
    Scenario(
        "major-faults", "fault", "major-faults", ("major-fault-thrashing",),
        "The memory limit was lowered below the mapped index, which is read again and again.", _shrunk_limit,
        needs=("gcc", "mkfs.ext4"), global_effect=("app-memory",),
    ),
    Scenario(
        "major-faults-validation", "validation", "major-faults", ("major-fault-thrashing",),
        "A mapped catalog grew to three times the memory of its group.", _grown_catalog,
        needs=("mkfs.ext4",),
    ),
    Scenario(
        "major-faults-decoy", "decoy", "major-faults", (),
        "A sequential reader keeps the page cache at its limit; requests do not need it.", _big_reader,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "disk-saturation-decoy", "decoy", "disk-saturation", ("major-fault-thrashing",),
        "The disk is busy because a mapped index no longer fits into memory.", _shrunk_limit,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "memcg-oom", "fault", "memcg-oom", ("memcg-oom-kill",),
        "The application grows to the limit of its group, is killed, and starts again.", _leak_to_the_limit,
        needs=("gcc",), seconds=8.0, global_effect=("app-memory",),
    ),
    Scenario(
        "memcg-oom-validation", "validation", "memcg-oom", ("memcg-oom-kill",),
        "Files in a tmpfs use the memory of the group up; the web shop is killed and can never start again.",
        _spool_in_memory, seconds=8.0,
    ),
    Scenario(
        "memcg-oom-decoy", "decoy", "memcg-oom", (),
        "The application dies with 137 because a user kills it; memory is far from the limit.",
        _killed_from_outside, needs=("gcc",), seconds=8.0,
    ),
    Scenario(
        "jvm-heap", "fault", "jvm-heap", ("jvm-heap-over-limit",),
        "-Xmx is several times the memory limit; the JVM is killed when its heap grows.", _heap_over_limit,
        needs=("java", "javac"), seconds=10.0, global_effect=("app-memory",),
    ),
    Scenario(
        "jvm-heap-validation", "validation", "jvm-heap", ("jvm-heap-over-limit",),
        "A heap larger than the memory limit is touched at start: the JVM is killed again and again.",
        _heap_touched_at_start, needs=("java", "javac"), seconds=8.0,
    ),
    Scenario(
        "jvm-heap-decoy", "decoy", "jvm-heap", ("memcg-oom-kill",),
        "A JVM with a modest heap runs next to a leaking Python process, which is killed.", _sidecar_next_to_jvm,
        needs=("java", "javac"), seconds=10.0,
    ),
    Scenario(
        "memory-leak", "fault", "memory-leak", ("memory-leak",),
        "Resident memory grows by some megabytes per second, far from the limit.", _steady_leak, needs=("gcc",),
        seconds=10.0, global_effect=("app-memory",),
    ),
    Scenario(
        "memory-leak-validation", "validation", "memory-leak", ("memory-leak",),
        "A Python service never forgets a basket; its group has no limit.", _unbounded_baskets, seconds=10.0,
    ),
    Scenario(
        "memory-leak-decoy", "decoy", "memory-leak", (),
        "The page cache of the group grows by some megabytes per second; processes do not.", _growing_cache,
        needs=("gcc", "mkfs.ext4"), seconds=10.0,
    ),
    Scenario(
        "page-cache", "healthy", "healthy", (),
        "Most of the memory of the group is page cache of an archive that grows; no process needs it.",
        _growing_cache, needs=("gcc", "mkfs.ext4"), seconds=8.0, global_effect=("app-memory",),
    ),
)  # fmt: skip
