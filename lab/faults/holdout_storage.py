"""Further ways into illnesses of memory, disks and what a service asks: other programs, other places."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.lab.faults.kernel_side import blocked_tasks, frozen
from e2e.lab.load import wait_for
from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site, python
from e2e.lab.stage import DATA, LOG, Stage, slow_disk

MIB = 1 << 20
POOL = "/run/pool"


@contextmanager
def _hungry_report(site: Site, rng: random.Random) -> Iterator[Live]:
    """A report in the same group holds all of its lines in memory; the kernel kills the biggest, which is the shop."""
    stage = Stage(site, rng)
    shop_mb, rate, pause_s = rng.randrange(110, 160), rng.randrange(40, 90), rng.uniform(1.0, 2.5)
    report_mb = int(shop_mb * rng.uniform(0.6, 0.75))
    limit_mb = shop_mb + 40 + report_mb // 3
    site.app.limit_memory(limit_mb * MIB)
    stage.shop("--threads", 4, "--memory-mb", shop_mb, "--lookups", 4, supervised=True)
    stage.clients(rate, "--poisson")
    stage.baseline()
    report = f"while :; do head -c {report_mb}M /dev/zero | tail -n 1 | wc -c; sleep {pause_s:.1f}; done"
    site.on_host(["sh", "-c", report])
    yield stage.live(
        more=lambda: {"killed": stage.exits.read_text().count("exit=137") if stage.exits.exists() else 0},
        pid=False, shop_mb=shop_mb, report_mb=report_mb, limit_mb=limit_mb, pause_s=pause_s, rate=rate,
    )  # fmt: skip


@contextmanager
def _crowded_group(site: Site, rng: random.Random) -> Iterator[Live]:
    """Limit and index are as they were; a sidecar's own memory leaves the mapped index too little of the group."""
    stage = Stage(site, rng)
    index_mb, rate, touch = rng.randrange(110, 170), rng.randrange(40, 80), rng.randrange(6, 12)
    iops, sidecar_mb = rng.randrange(300, 600), int(index_mb * rng.uniform(0.7, 0.85))
    slow_disk(site.app, stage.disk(index_mb + 40), iops=iops)
    index = stage.file("index", index_mb)
    site.app.limit_memory((index_mb + 60) * MIB)
    stage.items(map=index, touch=touch, workers=12)
    site.on_host(["cat", index]).wait()
    stage.clients(rate, "--poisson")
    stage.baseline()
    site.on_host(python("shop.py", "--port", stage.port + 100, "--memory-mb", sidecar_mb))
    wait_for(lambda: f":{stage.port + 100} " in site.host_net.sh("ss -Hltn"), "the sidecar")
    yield stage.live(
        more=_since(_major_faults(stage)), index_mb=index_mb, sidecar_mb=sidecar_mb, rate=rate, touch=touch, iops=iops
    )  # fmt: skip


@contextmanager
def _off_heap(site: Site, rng: random.Random) -> Iterator[Live]:
    """Direct buffers of a JVM: the heap is as small as ever, and what grows lies beside it."""
    stage = Stage(site, rng)
    rate, buffer_kb = rng.randrange(30, 60), rng.randrange(80, 150)
    jvm = ("-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch", "-XX:MaxDirectMemorySize=2g", "-XX:+UseSerialGC")
    stage.orders(*jvm, bufferKb=buffer_kb, reuseBuffers="true")
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.orders(*jvm, bufferKb=buffer_kb)
    yield stage.live(more=_since(_resident_mb(stage)), rate=rate, buffer_kb=buffer_kb, access_log="")


@contextmanager
def _synchronous_mount(site: Site, rng: random.Random) -> Iterator[Live]:
    """Nobody changed the application: somebody mounted its file system with `sync`."""
    stage = Stage(site, rng)
    iops, rate = rng.randrange(120, 220), rng.randrange(70, 120)
    slow_disk(site.app, stage.disk(160), iops=iops)
    stage.shop("--threads", 6, "--journal", f"{DATA}/journal.json")
    stage.clients(rate, "--poisson")
    stage.baseline()
    site.host_sh(f"mount -o remount,sync {DATA}")
    yield stage.live(iops=iops, rate=rate)


@contextmanager
def _compaction(site: Site, rng: random.Random) -> Iterator[Live]:
    """One process with a deep asynchronous queue, which never waits itself, reads and writes beside the service."""
    stage = Stage(site, rng)
    iops, depth, block_kb = rng.randrange(250, 450), rng.randrange(48, 97), rng.choice((16, 32))
    rate, reads = rng.randrange(30, 60), rng.randrange(40, 80)
    slow_disk(site.app, stage.disk(300), iops=iops)
    table, segment = stage.file("table", 64), stage.file("segment", 96)
    stage.items(table=table, lookups=1, workers=16)
    stage.clients(rate)
    stage.baseline()
    # The tool under the name of a program that would do this.
    site.host_sh("cp $(command -v fio) /run/compactd")
    site.on_host(
        ["/run/compactd", "--name=merge", f"--filename={segment}", "--rw=randrw", f"--rwmixread={reads}",
         f"--bs={block_kb}k", f"--iodepth={depth}", "--direct=1", "--ioengine=libaio", "--time_based",
         "--runtime=280", "--thread", "--output=/dev/null"]
    )  # fmt: skip
    device = Path("/sys/dev/block", stage.loop_device(), "stat")
    yield stage.live(
        more=_since(lambda: sum(map(int, site.host_sh(f"cat {device}").split()[0:5:4]))),
        iops=iops, depth=depth, block_kb=block_kb, reads_percent=reads, rate=rate,
    )  # fmt: skip


@contextmanager
def _lost_backend(site: Site, rng: random.Random) -> Iterator[Live]:
    """The storage beneath the disk stops answering: its requests never end, nor do those who wait."""
    stage = Stage(site, rng)
    threads, workers, rate = rng.randrange(6, 11), rng.randrange(3, 5), rng.randrange(30, 60)
    _disk_on_a_pool(stage)
    stage.shop("--threads", threads, "--workers", workers, "--journal", f"{DATA}/orders.json", "--fsync")
    stage.clients(rate, "--poisson")
    stage.baseline()
    with frozen(site, POOL):
        yield stage.live(more=blocked_tasks, threads=threads, workers=workers, rate=rate)


def _disk_on_a_pool(stage: Stage) -> None:
    """A disk at DATA that is itself a file of a file system, as a volume of a storage pool is."""
    stage.disk(160)
    stage.site.host_sh(
        f"mkdir -p {POOL}; mount --move {DATA} {POOL}; dd if=/dev/zero of={POOL}/volume bs=1M count=96 status=none;"
        f"mkfs.ext4 -q {POOL}/volume; sync -f {POOL}/volume;"
        f"loop=$(losetup --find --show --direct-io=on {POOL}/volume);"
        f"mount -o noatime $loop {DATA} || {{ losetup -d $loop; exit 1; }}; losetup -d $loop"
    )


@contextmanager
def _no_page_cache(site: Site, rng: random.Random) -> Iterator[Live]:
    """A release took the library's own cache away: every page of half a kilobyte is read again, from the page cache."""
    stage = Stage(site, rng)
    tickets, rate = rng.randrange(180_000, 320_000), rng.randrange(12, 22)
    path = str(site.directory / "tickets.db")
    subprocess.run(python("tickets.py", "--file", path, "--fill", tickets), check=True, timeout=60)
    command = python(
        "tickets.py", "--file", path, "--port", stage.port, "--threads", 4, "--log", LOG, "--cache-kb"
    )  # fmt: skip
    stage.serve([*command, "65536"])
    stage.clients(rate, "--poisson")
    stage.baseline(4.0)
    stage.serve([*command, "0"])
    yield stage.live(more=_since(_read_calls(stage)), tickets=tickets, rate=rate)


@contextmanager
def _one_slow_shard(site: Site, rng: random.Random) -> Iterator[Live]:
    """The typical answer is as quick as ever: each so many-th question goes to a shard that takes seconds."""
    stage = Stage(site, rng)
    stock_port, slow_ms, every = rng.randrange(5000, 6900), rng.randrange(1000, 1800), rng.randrange(4, 8)
    rate = rng.randrange(30, 60)
    threads = int(rate / every * slow_ms / 1000 * rng.uniform(1.6, 2.0))
    stock = site.serve("stock.py", stock_port, "--slow-ms", slow_ms, "--slow-every", every, client_side=True)
    stage.shop("--threads", threads, "--stock", f"{site.client_address}:{stock_port}")
    stage.clients(rate, "--poisson", timeout_s=4.0)
    stage.baseline()
    stock.send_signal(signal.SIGUSR1)
    yield stage.live(stock_port=stock_port, slow_ms=slow_ms, slow_every=every, threads=threads, rate=rate)


def _since(count: Callable[[], float]) -> Callable[[], dict[str, float]]:
    """What a counter of the mechanism has grown by since now."""
    before = count()
    return lambda: {"counted": count() - before}


def _major_faults(stage: Stage) -> Callable[[], float]:
    return lambda: float(_proc(stage, "stat").rpartition(")")[2].split()[9])


def _resident_mb(stage: Stage) -> Callable[[], float]:
    return lambda: int(_proc(stage, "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def _read_calls(stage: Stage) -> Callable[[], float]:
    return lambda: float(_proc(stage, "io").split("syscr: ")[1].split()[0])


def _proc(stage: Stage, name: str) -> str:
    assert stage.server is not None
    return Path(f"/proc/{stage.server.pid}/{name}").read_text()


SCENARIOS = (
    Scenario(
        "memcg-oom-unseen", "blind", "memcg-oom", ("memcg-oom-kill",),
        "A report beside the shop uses the memory of their group up; the shop, which is bigger, is killed for it.",
        _hungry_report, seconds=8.0,
    ),
    Scenario(
        "major-faults-unseen", "blind", "major-faults", ("major-fault-thrashing",),
        "A sidecar's memory pushes a mapped index out of the group's page cache.", _crowded_group,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "memory-leak-unseen", "blind", "memory-leak", ("memory-leak",),
        "A JVM keeps a direct buffer of every order; its heap stays small.", _off_heap, needs=("java", "javac"),
        seconds=10.0,
    ),
    Scenario(
        "osync-log-unseen", "blind", "osync-log", ("sync-write-amplification",),
        "The file system was mounted with `sync`; the application writes its journal as it always did.",
        _synchronous_mount, needs=("mkfs.ext4",),
    ),
    Scenario(
        "disk-saturation-unseen", "blind", "disk-saturation", ("disk-saturation",),
        "A compaction keeps dozens of asynchronous requests under way on the disk that the service reads.",
        _compaction, needs=("gcc", "mkfs.ext4", "fio"),
    ),
    Scenario(
        "dstate-unseen", "blind", "dstate", ("dstate-pileup",),
        "The storage beneath a disk stopped answering: whoever waits for it waits for ever.", _lost_backend,
        needs=("mkfs.ext4", "fsfreeze"), seconds=15.0, global_effect=("load",),
    ),
    Scenario(
        "small-reads-unseen", "blind", "small-reads", ("small-read-pattern",),
        "A service on SQLite without a cache reads its cached file in pages of 512 bytes.", _no_page_cache,
        global_effect=("cpu",),
    ),
    Scenario(
        "slow-dependency-unseen", "blind", "slow-dependency", ("slow-dependency",),
        "One shard of the stock service takes seconds; all others answer at once.", _one_slow_shard, seconds=8.0,
    ),
)  # fmt: skip
