"""Further mechanisms of faults of memory, disks and dependencies: other programs, other places."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.application import DATA, LOG, LabApplication, slow_disk
from lab.environment import LabEnvironment, build_python_command
from lab.faults.kernel_side import blocked_tasks, freeze_filesystem
from lab.load import wait_for
from lab.scenario import Live, Scenario

MIB = 1 << 20
POOL = "/run/pool"


@contextmanager
def _hungry_report(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A report in the same group holds all of its lines in memory; the kernel kills the biggest, which is the shop."""
    application = LabApplication(environment, rng)
    shop_mb, rate, pause_s = rng.randrange(110, 160), rng.randrange(40, 90), rng.uniform(1.0, 2.5)
    report_mb = int(shop_mb * rng.uniform(0.6, 0.75))
    limit_mb = shop_mb + 40 + report_mb // 3
    environment.app.limit_memory(limit_mb * MIB)
    application.shop("--threads", 4, "--memory-mb", shop_mb, "--lookups", 4, supervised=True)
    application.clients(rate, "--poisson")
    application.baseline()
    report = f"while :; do head -c {report_mb}M /dev/zero | tail -n 1 | wc -c; sleep {pause_s:.1f}; done"
    environment.on_host(["sh", "-c", report])
    yield application.live(
        more=lambda: {"killed": application.exits.read_text().count("exit=137") if application.exits.exists() else 0},
        pid=False, shop_mb=shop_mb, report_mb=report_mb, limit_mb=limit_mb, pause_s=pause_s, rate=rate,
    )  # fmt: skip


@contextmanager
def _crowded_group(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Limit and index are as they were; a sidecar's own memory leaves the mapped index too little of the group."""
    application = LabApplication(environment, rng)
    index_mb, rate, touch = rng.randrange(110, 170), rng.randrange(40, 80), rng.randrange(6, 12)
    iops, sidecar_mb = rng.randrange(300, 600), int(index_mb * rng.uniform(0.7, 0.85))
    slow_disk(environment.app, application.disk(index_mb + 40), iops=iops)
    index = application.file("index", index_mb)
    environment.app.limit_memory((index_mb + 60) * MIB)
    application.items(map=index, touch=touch, workers=12)
    environment.on_host(["cat", index]).wait()
    application.clients(rate, "--poisson")
    application.baseline()
    environment.on_host(
        build_python_command("shop.py", "--port", application.port + 100, "--memory-mb", sidecar_mb)
    )
    wait_for(lambda: f":{application.port + 100} " in environment.host_net.sh("ss -Hltn"), "the sidecar")
    yield application.live(
        more=_since(_major_faults(application)), index_mb=index_mb, sidecar_mb=sidecar_mb, rate=rate, touch=touch,
        iops=iops
    )  # fmt: skip


@contextmanager
def _off_heap(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Direct buffers of a JVM: the heap is as small as ever, and what grows is outside it."""
    application = LabApplication(environment, rng)
    rate, buffer_kb = rng.randrange(30, 60), rng.randrange(80, 150)
    jvm = ("-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch", "-XX:MaxDirectMemorySize=2g", "-XX:+UseSerialGC")
    application.orders(*jvm, bufferKb=buffer_kb, reuseBuffers="true")
    application.clients(rate, "--poisson")
    application.baseline()
    application.orders(*jvm, bufferKb=buffer_kb)
    yield application.live(
        more=_since(_resident_mb(application)), rate=rate, buffer_kb=buffer_kb, access_log=""
    )


@contextmanager
def _synchronous_mount(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The application did not change: its file system was mounted with `sync`."""
    application = LabApplication(environment, rng)
    iops, rate = rng.randrange(120, 220), rng.randrange(70, 120)
    slow_disk(environment.app, application.disk(160), iops=iops)
    application.shop("--threads", 6, "--journal", f"{DATA}/journal.json")
    application.clients(rate, "--poisson")
    application.baseline()
    environment.host_sh(f"mount -o remount,sync {DATA}")
    yield application.live(iops=iops, rate=rate)


@contextmanager
def _compaction(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One process with a deep asynchronous queue, which never waits itself, reads and writes next to the service."""
    application = LabApplication(environment, rng)
    iops, depth, block_kb = rng.randrange(250, 450), rng.randrange(48, 97), rng.choice((16, 32))
    rate, reads = rng.randrange(30, 60), rng.randrange(40, 80)
    slow_disk(environment.app, application.disk(300), iops=iops)
    table, segment = application.file("table", 64), application.file("segment", 96)
    application.items(table=table, lookups=1, workers=16)
    application.clients(rate)
    application.baseline()
    # The tool under the name of a program that would do this.
    environment.host_sh("cp $(command -v fio) /run/compactd")
    environment.on_host(
        ["/run/compactd", "--name=merge", f"--filename={segment}", "--rw=randrw", f"--rwmixread={reads}",
         f"--bs={block_kb}k", f"--iodepth={depth}", "--direct=1", "--ioengine=libaio", "--time_based",
         "--runtime=280", "--thread", "--output=/dev/null"]
    )  # fmt: skip
    device = Path("/sys/dev/block", application.loop_device(), "stat")
    yield application.live(
        more=_since(lambda: sum(map(int, environment.host_sh(f"cat {device}").split()[0:5:4]))),
        iops=iops, depth=depth, block_kb=block_kb, reads_percent=reads, rate=rate,
    )  # fmt: skip


@contextmanager
def _lost_backend(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The storage beneath the disk stops answering: its requests never end, nor do those who wait."""
    application = LabApplication(environment, rng)
    threads, workers, rate = rng.randrange(6, 11), rng.randrange(3, 5), rng.randrange(30, 60)
    _disk_on_a_pool(application)
    application.shop(
        "--threads", threads, "--workers", workers, "--journal", f"{DATA}/orders.json", "--fsync"
    )
    application.clients(rate, "--poisson")
    application.baseline()
    with freeze_filesystem(environment, POOL):
        yield application.live(more=blocked_tasks, threads=threads, workers=workers, rate=rate)


def _disk_on_a_pool(application: LabApplication) -> None:
    """A disk at DATA that is itself a file of a file system, as a volume of a storage pool is."""
    application.disk(160)
    application.environment.host_sh(
        f"mkdir -p {POOL}; mount --move {DATA} {POOL}; dd if=/dev/zero of={POOL}/volume bs=1M count=96 status=none;"
        f"mkfs.ext4 -q {POOL}/volume; sync -f {POOL}/volume;"
        f"loop=$(losetup --find --show --direct-io=on {POOL}/volume);"
        f"mount -o noatime $loop {DATA} || {{ losetup -d $loop; exit 1; }}; losetup -d $loop"
    )


@contextmanager
def _no_page_cache(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A release took the library's own cache away: every page of half a kilobyte is read again, from the page cache."""
    application = LabApplication(environment, rng)
    tickets, rate = rng.randrange(180_000, 320_000), rng.randrange(12, 22)
    path = str(environment.directory / "tickets.db")
    subprocess.run(
        build_python_command("tickets.py", "--file", path, "--fill", tickets), check=True, timeout=60
    )
    command = build_python_command(
        "tickets.py", "--file", path, "--port", application.port, "--threads", 4, "--log", LOG, "--cache-kb"
    )  # fmt: skip
    application.serve([*command, "65536"])
    application.clients(rate, "--poisson")
    application.baseline(4.0)
    application.serve([*command, "0"])
    yield application.live(more=_since(_read_calls(application)), tickets=tickets, rate=rate)


@contextmanager
def _run_slow_shard(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The typical answer is as quick as ever: each so many-th question goes to a shard that takes seconds."""
    application = LabApplication(environment, rng)
    stock_port, slow_ms, every = rng.randrange(5000, 6900), rng.randrange(1000, 1800), rng.randrange(4, 8)
    rate = rng.randrange(30, 60)
    threads = int(rate / every * slow_ms / 1000 * rng.uniform(1.6, 2.0))
    stock = environment.serve(
        "stock.py", stock_port, "--slow-ms", slow_ms, "--slow-every", every, client_side=True
    )
    application.shop("--threads", threads, "--stock", f"{environment.client_address}:{stock_port}")
    application.clients(rate, "--poisson", timeout_s=4.0)
    application.baseline()
    stock.send_signal(signal.SIGUSR1)
    yield application.live(
        stock_port=stock_port, slow_ms=slow_ms, slow_every=every, threads=threads, rate=rate
    )


def _since(count: Callable[[], float]) -> Callable[[], dict[str, float]]:
    """What a counter of the mechanism has grown by since now."""
    before = count()
    return lambda: {"counted": count() - before}


def _major_faults(application: LabApplication) -> Callable[[], float]:
    return lambda: float(_proc(application, "stat").rpartition(")")[2].split()[9])


def _resident_mb(application: LabApplication) -> Callable[[], float]:
    return lambda: int(_proc(application, "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def _read_calls(application: LabApplication) -> Callable[[], float]:
    return lambda: float(_proc(application, "io").split("syscr: ")[1].split()[0])


def _proc(application: LabApplication, name: str) -> str:
    assert application.server is not None
    return Path(f"/proc/{application.server.pid}/{name}").read_text()


SCENARIOS = (
    Scenario(
        "memcg-oom-holdout", "holdout", "memcg-oom", ("memcg-oom-kill",),
        "A report next to the shop uses the memory of their group up; the shop, which is bigger, is killed for it.",
        _hungry_report, seconds=8.0,
    ),
    Scenario(
        "major-faults-holdout", "holdout", "major-faults", ("major-fault-thrashing",),
        "A sidecar's memory pushes a mapped index out of the group's page cache.", _crowded_group,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "memory-leak-holdout", "holdout", "memory-leak", ("memory-leak",),
        "A JVM keeps a direct buffer of every order; its heap stays small.", _off_heap, needs=("java", "javac"),
        seconds=10.0,
    ),
    Scenario(
        "osync-log-holdout", "holdout", "osync-log", ("sync-write-amplification",),
        "The file system was mounted with `sync`; the application writes its journal as it always did.",
        _synchronous_mount, needs=("mkfs.ext4",),
    ),
    Scenario(
        "disk-saturation-holdout", "holdout", "disk-saturation", ("disk-saturation",),
        "A compaction keeps dozens of asynchronous requests under way on the disk that the service reads.",
        _compaction, needs=("gcc", "mkfs.ext4", "fio"),
    ),
    Scenario(
        "dstate-holdout", "holdout", "dstate", ("dstate-pileup",),
        "The storage beneath a disk stopped answering: a process that waits for it waits indefinitely.", _lost_backend,
        needs=("mkfs.ext4", "fsfreeze"), seconds=15.0, global_effect=("load",),
    ),
    Scenario(
        "small-reads-holdout", "holdout", "small-reads", ("small-read-pattern",),
        "A service on SQLite without a cache reads its cached file in pages of 512 bytes.", _no_page_cache,
        global_effect=("cpu",),
    ),
    Scenario(
        "slow-dependency-holdout", "holdout", "slow-dependency", ("slow-dependency",),
        "One shard of the stock service takes seconds; all others answer at once.", _run_slow_shard, seconds=8.0,
    ),
)  # fmt: skip
