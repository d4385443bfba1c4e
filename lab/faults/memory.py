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

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site
from e2e.lab.stage import DATA, Stage, slow_disk

MIB = 1 << 20


@contextmanager
def _shrunk_limit(site: Site, rng: random.Random) -> Iterator[Live]:
    """One variable: the memory limit, which now holds a fraction of the mapped index."""
    stage = Stage(site, rng)
    index_mb, share = rng.randrange(160, 240), rng.uniform(0.35, 0.5)
    rate, touch, iops = rng.randrange(60, 120), rng.randrange(5, 10), rng.randrange(400, 700)
    slow_disk(site.app, stage.disk(index_mb + 40), iops=iops)
    index = stage.file("index", index_mb)
    site.app.limit_memory((index_mb + 200) * MIB)
    stage.items(map=index, touch=touch, workers=16)
    _warm(site, index)
    stage.clients(rate)
    stage.baseline()
    site.app.limit_memory(int(index_mb * share) * MIB)

    def cure() -> None:
        site.app.limit_memory((index_mb + 200) * MIB)
        _warm(site, index)

    yield stage.live(index_mb=index_mb, share=share, rate=rate, touch=touch, iops=iops, cure=cure)


@contextmanager
def _grown_catalogue(site: Site, rng: random.Random) -> Iterator[Live]:
    """The limit stays; the catalogue of the new season is several times as large."""
    stage = Stage(site, rng)
    limit_mb, rate, lookups = rng.randrange(70, 100), rng.randrange(25, 50), rng.randrange(8, 16)
    bytes_per_s = rng.randrange(12, 24) * MIB
    slow_disk(site.app, stage.disk(limit_mb * 4 + 40), bytes_per_s=bytes_per_s)
    small, large = stage.file("spring", 16), stage.file("summer", limit_mb * 3)
    site.app.limit_memory(limit_mb * MIB)
    options = ("--threads", 6, "--lookups", lookups)
    stage.shop(*options, "--catalogue", small)
    _warm(site, small)
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.shop(*options, "--catalogue", large)
    yield stage.live(limit_mb=limit_mb, rate=rate, lookups=lookups, bytes_per_s=bytes_per_s)


@contextmanager
def _big_reader(site: Site, rng: random.Random) -> Iterator[Live]:
    """A reader goes through a big file again and again: the page cache is at its limit, and nobody waits for it."""
    stage = Stage(site, rng)
    limit_mb, rate, block_kb = rng.randrange(100, 160), rng.randrange(60, 120), rng.choice((128, 256, 1024))
    stage.disk(limit_mb * 2 + 40)
    archive = stage.file("archive", limit_mb * 2)
    stage.items(burn_us=300)
    stage.clients(rate)
    stage.baseline()
    site.app.limit_memory(limit_mb * MIB)
    slow_reader = f"while :; do dd if={archive} of=/dev/null bs={block_kb}k status=none; sleep 0.2; done"
    site.on_host(["sh", "-c", slow_reader])
    yield stage.live(limit_mb=limit_mb, rate=rate, block_kb=block_kb)


@contextmanager
def _leak_to_the_limit(site: Site, rng: random.Random) -> Iterator[Live]:
    """The release keeps what every request allocates; a supervisor starts it again each time it is killed."""
    stage = Stage(site, rng)
    limit_mb, rate, leak_kb = rng.randrange(90, 150), rng.randrange(80, 140), rng.randrange(300, 600)
    site.app.limit_memory(limit_mb * MIB)
    stage.items(supervised=True, cache_kb=leak_kb)
    stage.clients(rate)
    stage.baseline()
    stage.items(supervised=True, leak_kb=leak_kb)
    cure = partial(stage.items, supervised=True, cache_kb=leak_kb)
    yield stage.live(
        more=lambda: _exits(stage), limit_mb=limit_mb, rate=rate, leak_kb=leak_kb, pid=False, cure=cure
    )


@contextmanager
def _spool_in_memory(site: Site, rng: random.Random) -> Iterator[Live]:
    """Files in a tmpfs belong to the memory of the group, and stay when the process is killed."""
    stage = Stage(site, rng)
    limit_mb, rate = rng.randrange(80, 140), rng.randrange(50, 90)
    site.host_sh("mkdir /run/spool; mount -t tmpfs -o size=2g tmpfs /run/spool")
    site.app.limit_memory(limit_mb * MIB)
    stage.shop("--threads", 4, supervised=True)
    stage.clients(rate)
    stage.baseline()
    stage.shop("--threads", 4, "--spool", "/run/spool", supervised=True)
    yield stage.live(more=lambda: _exits(stage), limit_mb=limit_mb, rate=rate, pid=False)


@contextmanager
def _killed_from_outside(site: Site, rng: random.Random) -> Iterator[Live]:
    """Exit 137 as well, but somebody sends SIGKILL; memory is nowhere near the limit."""
    stage = Stage(site, rng)
    limit_mb, rate, every_s = rng.randrange(400, 900), rng.randrange(80, 140), rng.uniform(1.5, 3.0)
    site.app.limit_memory(limit_mb * MIB)
    stage.items(supervised=True, cache_kb=400)
    stage.clients(rate)
    stage.baseline()
    over = threading.Event()
    killer = threading.Thread(target=_kill_children, args=(stage, every_s, over))
    killer.start()
    try:
        yield stage.live(more=lambda: _exits(stage), limit_mb=limit_mb, rate=rate, every_s=every_s, pid=False)
    finally:
        over.set()
        killer.join()


@contextmanager
def _heap_over_limit(site: Site, rng: random.Random) -> Iterator[Live]:
    """-Xmx is a multiple of what the group may have; the heap grows with the orders until it is killed."""
    stage = Stage(site, rng)
    limit_mb, times, keep_kb = rng.randrange(160, 240), rng.randrange(3, 6), rng.randrange(600, 1100)
    rate = rng.randrange(60, 100)
    site.app.limit_memory(limit_mb * MIB)
    stage.orders("-Xmx64m", "-XX:+UseSerialGC", supervised=True, keepKb=keep_kb, keepMb=20)
    stage.clients(rate)
    stage.baseline()
    stage.orders(f"-Xmx{limit_mb * times}m", "-XX:+UseSerialGC", supervised=True, keepKb=keep_kb)
    yield stage.live(
        more=lambda: _exits(stage),
        limit_mb=limit_mb,
        xmx_mb=limit_mb * times,
        keep_kb=keep_kb,
        rate=rate,
        pid=False,
    )


@contextmanager
def _heap_touched_at_start(site: Site, rng: random.Random) -> Iterator[Live]:
    """Somebody copied the options of a bigger machine: the heap is touched at the start, which never ends well."""
    stage = Stage(site, rng)
    limit_mb, heap_mb, rate = rng.randrange(180, 280), rng.randrange(700, 1500), rng.randrange(30, 60)
    site.app.limit_memory(limit_mb * MIB)
    stage.orders("-XX:MaxHeapSize=80m", supervised=True, auditMs=3)
    stage.clients(rate, "--poisson")
    stage.baseline()
    heap = (f"-XX:MaxHeapSize={heap_mb}m", f"-XX:InitialHeapSize={heap_mb}m", "-XX:+AlwaysPreTouch")
    stage.orders("-XX:+UseParallelGC", *heap, supervised=True, wait=False, auditMs=3)
    yield stage.live(more=lambda: _exits(stage), limit_mb=limit_mb, heap_mb=heap_mb, rate=rate, pid=False)


@contextmanager
def _sidecar_beside_jvm(site: Site, rng: random.Random) -> Iterator[Live]:
    """The heap of the JVM fits well; what is killed, and killed for, is the web shop in the same group."""
    stage = Stage(site, rng)
    limit_mb, rate, basket_kb = rng.randrange(260, 340), rng.randrange(80, 120), rng.randrange(600, 900)
    site.app.limit_memory(limit_mb * MIB)
    beside = [
        "java",
        "-Xmx64m",
        "-XX:+UseSerialGC",
        f"-Dport={stage.port + 200}",
        "-cp",
        stage.build("Orders.java"),
        "Orders",
    ]
    site.on_host(beside)
    stage.shop("--basket-kb", basket_kb, "--baskets", 20, supervised=True)
    stage.clients(rate)
    stage.baseline()
    stage.shop("--basket-kb", basket_kb, supervised=True)
    yield stage.live(more=lambda: _exits(stage), limit_mb=limit_mb, rate=rate, basket_kb=basket_kb, pid=False)


@contextmanager
def _steady_leak(site: Site, rng: random.Random) -> Iterator[Live]:
    """Every request leaves something behind; the limit is minutes away, and requests are as quick as ever."""
    stage = Stage(site, rng)
    rate, leak_kb = rng.randrange(80, 140), rng.randrange(40, 90)
    site.app.limit_memory(4096 * MIB)
    stage.items(cache_kb=leak_kb)
    stage.clients(rate)
    stage.baseline()
    stage.items(leak_kb=leak_kb)
    yield stage.live(more=_growth(stage), rate=rate, leak_kb=leak_kb)


@contextmanager
def _unbounded_baskets(site: Site, rng: random.Random) -> Iterator[Live]:
    """A dictionary from which nobody removes anything, in an interpreter."""
    stage = Stage(site, rng)
    rate, basket_kb = rng.randrange(40, 80), rng.randrange(60, 160)
    stage.shop("--basket-kb", basket_kb, "--baskets", 30)
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.shop("--basket-kb", basket_kb)
    yield stage.live(more=_growth(stage), rate=rate, basket_kb=basket_kb)


@contextmanager
def _growing_cache(site: Site, rng: random.Random) -> Iterator[Live]:
    """The memory of the group grows as fast, but it is page cache, which goes when it is needed."""
    stage = Stage(site, rng)
    rate, mb_per_s = rng.randrange(60, 120), rng.randrange(6, 14)
    stage.disk(700)
    stage.items(burn_us=300)
    stage.clients(rate)
    stage.baseline()
    site.app.limit_memory(4096 * MIB)
    grow = f"while :; do head -c {mb_per_s}M /dev/urandom >>{DATA}/archive || exit; sleep 1; done"
    site.on_host(["sh", "-c", grow])
    yield stage.live(more=_growth(stage), rate=rate, mb_per_s=mb_per_s)


def _warm(site: Site, path: str) -> None:
    site.on_host(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"]).wait()


def _exits(stage: Stage) -> dict[str, float]:
    """How often the application was killed."""
    return {"killed": stage.exits.read_text().count("exit=137") if stage.exits.exists() else 0}


def _growth(stage: Stage) -> Callable[[], dict[str, float]]:
    """How much the resident memory of the application has grown since now."""
    assert stage.server is not None
    statm, page_mb = Path(f"/proc/{stage.server.pid}/statm"), os.sysconf("SC_PAGE_SIZE") / MIB
    begin = int(statm.read_text().split()[1])
    return lambda: {"grown_mb": (int(statm.read_text().split()[1]) - begin) * page_mb}


def _kill_children(stage: Stage, every_s: float, over: threading.Event) -> None:
    assert stage.server is not None
    children = Path(f"/proc/{stage.server.pid}/task/{stage.server.pid}/children")
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
        "major-faults-blind", "blind", "major-faults", ("major-fault-thrashing",),
        "A mapped catalogue grew to three times the memory of its group.", _grown_catalogue,
        needs=("mkfs.ext4",),
    ),
    Scenario(
        "major-faults-lookalike", "lookalike", "major-faults", (),
        "A sequential reader keeps the page cache at its limit; requests do not need it.", _big_reader,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "disk-saturation-lookalike", "lookalike", "disk-saturation", ("major-fault-thrashing",),
        "The disk is busy because a mapped index no longer fits into memory.", _shrunk_limit,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "memcg-oom", "fault", "memcg-oom", ("memcg-oom-kill",),
        "The application grows to the limit of its group, is killed, and starts again.", _leak_to_the_limit,
        needs=("gcc",), seconds=8.0, global_effect=("app-memory",),
    ),
    Scenario(
        "memcg-oom-blind", "blind", "memcg-oom", ("memcg-oom-kill",),
        "Files in a tmpfs use the memory of the group up; the web shop is killed and can never start again.",
        _spool_in_memory, seconds=8.0,
    ),
    Scenario(
        "memcg-oom-lookalike", "lookalike", "memcg-oom", (),
        "The application dies with 137 because somebody kills it; memory is far from the limit.",
        _killed_from_outside, needs=("gcc",), seconds=8.0,
    ),
    Scenario(
        "jvm-heap", "fault", "jvm-heap", ("jvm-heap-over-limit",),
        "-Xmx is several times the memory limit; the JVM is killed when its heap grows.", _heap_over_limit,
        needs=("java", "javac"), seconds=10.0, global_effect=("app-memory",),
    ),
    Scenario(
        "jvm-heap-blind", "blind", "jvm-heap", ("jvm-heap-over-limit",),
        "A heap larger than the memory limit is touched at start: the JVM is killed again and again.",
        _heap_touched_at_start, needs=("java", "javac"), seconds=8.0,
    ),
    Scenario(
        "jvm-heap-lookalike", "lookalike", "jvm-heap", ("memcg-oom-kill",),
        "A JVM with a modest heap lives beside a leaking Python process, which is killed.", _sidecar_beside_jvm,
        needs=("java", "javac"), seconds=10.0,
    ),
    Scenario(
        "memory-leak", "fault", "memory-leak", ("memory-leak",),
        "Resident memory grows by some megabytes per second, far from the limit.", _steady_leak, needs=("gcc",),
        seconds=10.0, global_effect=("app-memory",),
    ),
    Scenario(
        "memory-leak-blind", "blind", "memory-leak", ("memory-leak",),
        "A Python service never forgets a basket; its group has no limit.", _unbounded_baskets, seconds=10.0,
    ),
    Scenario(
        "memory-leak-lookalike", "lookalike", "memory-leak", (),
        "The page cache of the group grows by some megabytes per second; processes do not.", _growing_cache,
        needs=("gcc", "mkfs.ext4"), seconds=10.0,
    ),
    Scenario(
        "page-cache", "healthy", "healthy", (),
        "Most of the memory of the group is page cache of an archive that grows; nobody misses it.",
        _growing_cache, needs=("gcc", "mkfs.ext4"), seconds=8.0, global_effect=("app-memory",),
    ),
)  # fmt: skip
