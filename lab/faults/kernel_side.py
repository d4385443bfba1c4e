"""The kernel's part: tasks that nobody can interrupt, and kernel threads that need a CPU of their own."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site, python
from e2e.lab.stage import DATA, Stage, limit_io, weigh_cpu

KSM = "/sys/kernel/mm/ksm"


@contextmanager
def _throttled_readers(site: Site, rng: random.Random) -> Iterator[Live]:
    """The limit is on the device itself: dozens of tasks wait for it, and the device looks idle."""
    stage = Stage(site, rng)
    readers, iops, rate = rng.randrange(24, 40), rng.randrange(20, 50), rng.randrange(20, 40)
    stage.disk(128)
    table = stage.file("table", 64)
    stage.items(table=table, lookups=1, workers=16)
    stage.clients(rate)
    stage.baseline()
    limit_io(site.app, stage.loop_device(), iops=iops)
    site.on_host(python("backup.py", table, "--depth", readers, "--block-kb", 16, "--processes"))
    yield stage.live(more=blocked_tasks, readers=readers, iops=iops, rate=rate)


@contextmanager
def _frozen_filesystem(site: Site, rng: random.Random) -> Iterator[Live]:
    """A snapshot froze the file system and never thawed it: whoever writes waits for it."""
    stage = Stage(site, rng)
    writers, rate = rng.randrange(15, 30), rng.randrange(30, 60)
    stage.disk(64)
    stage.shop("--threads", writers, "--journal", f"{DATA}/journal.json")
    stage.clients(rate, "--poisson")
    stage.baseline()
    with frozen(site):
        yield stage.live(more=blocked_tasks, writers=writers, rate=rate)


@contextmanager
def frozen(site: Site, where: str = DATA) -> Iterator[None]:
    """Freezes the file system at `where` until the block ends, or this process does.

    A task that waits for it cannot even be killed.
    """
    enter = ["nsenter", "-t", str(site.host.process.pid), "--mount", "--"]
    script = f"fsfreeze -f {where} && echo frozen; read end; fsfreeze -u {where}"
    holder = subprocess.Popen(
        [*enter, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert holder.stdin is not None and holder.stdout is not None
    try:
        if holder.stdout.readline() != b"frozen\n":
            raise RuntimeError("fsfreeze failed")
        yield
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait(10)


@contextmanager
def _runnable_crowd(site: Site, rng: random.Random) -> Iterator[Live]:
    """The load is as high, of tasks that compute at the lowest weight and give way at once."""
    stage = Stage(site, rng)
    cpu, tasks, rate = rng.randrange(2), rng.randrange(10, 16), rng.randrange(40, 80)
    stage.items(burn_us=400)
    stage.clients(rate)
    stage.baseline()
    batch = stage.group("batch")
    weigh_cpu(batch, 0.01)
    for _ in range(tasks):
        site.on_host(["nice", "-n", "19", "taskset", "-c", str(cpu), "sha256sum", "/dev/zero"], batch)
    yield stage.live(more=blocked_tasks, cpu=cpu, tasks=tasks, rate=rate)


@contextmanager
def _merging(site: Site, rng: random.Random) -> Iterator[Live]:
    """Somebody told the kernel to look for equal pages without a pause, where there are few."""
    stage = Stage(site, rng)
    guests_mb, pages = rng.randrange(200, 500), rng.randrange(4000, 20000)
    cpu, rate = rng.randrange(2), rng.randrange(90, 110)
    site.on_host(python("guests.py", "--mb", guests_mb))
    stage.items(burn_us=7000, cpu=cpu)
    stage.clients(rate)
    stage.baseline()
    for name, value in (("smart_scan", 0), ("pages_to_scan", pages), ("sleep_millisecs", 0), ("run", 1)):
        if Path(KSM, name).exists():
            site.janitor.set_global(f"{KSM}/{name}", str(value))
    before_s = _kernel_cpu_s("ksmd")
    with _kernel_thread_on("ksmd", cpu):
        yield stage.live(
            more=lambda: {"kernel_cpu_s": _kernel_cpu_s("ksmd") - before_s},
            guests_mb=guests_mb, pages=pages, cpu=cpu, rate=rate,
        )  # fmt: skip


@contextmanager
def _kernel_thread_on(name: str, cpu: int) -> Iterator[None]:
    """Keeps a kernel thread on the CPU of the application, as on a host that has no other.

    Its priority makes up for the weight that the lab has as a whole, and a real application has not.
    """
    pid = next(
        int(comm.parent.name) for comm in Path("/proc").glob("[0-9]*/comm") if comm.read_text() == f"{name}\n"
    )
    cpus, nice = os.sched_getaffinity(pid), os.getpriority(os.PRIO_PROCESS, pid)
    os.sched_setaffinity(pid, {cpu})
    os.setpriority(os.PRIO_PROCESS, pid, -10)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, pid, nice)
        os.sched_setaffinity(pid, cpus)


@contextmanager
def _compressing(site: Site, rng: random.Random) -> Iterator[Live]:
    """Reports go to a file system that compresses as hard as it can, in workers of the kernel."""
    stage = Stage(site, rng)
    level, rate = rng.randrange(11, 16), rng.randrange(120, 180)
    stage.disk(400, kind="btrfs", options=f"compress-force=zstd:{level},thread_pool=2")
    stage.items(burn_us=2500)
    stage.clients(rate, "--poisson")
    stage.baseline()
    site.on_host(python("archiver.py", DATA))
    before_s = _kernel_cpu_s("kworker")
    yield stage.live(
        more=lambda: {"kernel_cpu_s": _kernel_cpu_s("kworker") - before_s}, level=level, rate=rate
    )


@contextmanager
def _called_kworker(site: Site, rng: random.Random) -> Iterator[Live]:
    """What computes is called like a kernel thread, but it is a process, in another group."""
    stage = Stage(site, rng)
    cpu, jobs, rate = rng.randrange(2), rng.randrange(2, 5), rng.randrange(60, 120)
    stage.items(burn_us=2000, cpu=cpu)
    stage.clients(rate)
    stage.baseline()
    other = stage.group("other")
    weigh_cpu(other, 30.0)
    for number in range(jobs):
        script = f"echo kworker/{cpu}:{number + 1}-mm >/proc/$$/comm; while :; do :; done"
        site.on_host(["taskset", "-c", str(cpu), "sh", "-c", script], other)
    yield stage.live(cpu=cpu, jobs=jobs, rate=rate)


def blocked_tasks() -> dict[str, float]:
    """Tasks of the whole machine that cannot be interrupted."""
    states = [_stat(entry) for entry in Path("/proc").glob("[0-9]*/task/[0-9]*/stat")]
    return {"blocked_tasks": sum(1 for fields in states if fields and fields[0] == "D")}


def _kernel_cpu_s(name: str) -> float:
    """CPU time of all kernel threads whose name begins so."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        fields = _stat(entry)
        if fields and fields[1] == "2" and (entry.parent / "comm").read_text().startswith(name):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(path: Path) -> list[str]:
    """Fields of a stat file after the name: state, parent, ...; none once the task is gone."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


SCENARIOS = (
    Scenario(
        "dstate", "fault", "dstate", ("dstate-pileup",),
        "Dozens of readers wait without interruption for a device that lets few requests through.",
        _throttled_readers, needs=("gcc", "mkfs.ext4"), seconds=15.0, global_effect=("load",),
    ),
    Scenario(
        "dstate-blind", "blind", "dstate", ("dstate-pileup",),
        "A frozen file system: whoever writes to it waits for ever, and the CPU has nothing to do.",
        _frozen_filesystem, needs=("mkfs.ext4", "fsfreeze"), seconds=15.0, global_effect=("load",),
    ),
    Scenario(
        "dstate-lookalike", "lookalike", "dstate", (),
        "The load is high of runnable batch jobs of the lowest weight; requests do not notice.",
        _runnable_crowd, needs=("gcc",), seconds=15.0, global_effect=("cpu", "load"),
    ),
    Scenario(
        "kernel-thread", "fault", "kernel-thread", ("kernel-thread-busy",),
        "ksmd compares pages without a pause and takes a CPU.", _merging, needs=("gcc",), seconds=8.0,
        global_effect=("cpu", "ksm"),
    ),
    Scenario(
        "kernel-thread-blind", "blind", "kernel-thread", ("kernel-thread-busy",),
        "Workers of the kernel compress what an archiver writes, and take the CPU.", _compressing,
        needs=("gcc", "mkfs.btrfs"), seconds=8.0, global_effect=("cpu",),
    ),
    Scenario(
        "kernel-thread-lookalike", "lookalike", "kernel-thread", ("cpu-neighbour-contention",),
        "Processes of another group, named like kernel threads, take the CPU of the application.",
        _called_kworker, needs=("gcc",), global_effect=("cpu",),
    ),
)  # fmt: skip
