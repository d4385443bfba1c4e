"""The kernel's part: tasks that cannot be interrupted, and kernel threads that need a CPU of their own."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.application import DATA, LabApplication, limit_io, weigh_cpu
from lab.environment import LabEnvironment, build_python_command
from lab.scenario import Live, Scenario

KSM = "/sys/kernel/mm/ksm"


@contextmanager
def _throttled_readers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The limit is on the device itself: dozens of tasks wait for it, and the device looks idle."""
    application = LabApplication(environment, rng)
    readers, iops, rate = rng.randrange(24, 40), rng.randrange(20, 50), rng.randrange(20, 40)
    application.disk(128)
    table = application.file("table", 64)
    application.items(table=table, lookups=1, workers=16)
    application.clients(rate)
    application.baseline()
    limit_io(environment.app, application.loop_device(), iops=iops)
    environment.on_host(
        build_python_command("backup.py", table, "--depth", readers, "--block-kb", 16, "--processes")
    )
    yield application.live(more=blocked_tasks, readers=readers, iops=iops, rate=rate)


@contextmanager
def _frozen_filesystem(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A snapshot froze the file system and never thawed it: every writer waits for it."""
    application = LabApplication(environment, rng)
    writers, rate = rng.randrange(15, 30), rng.randrange(30, 60)
    application.disk(64)
    application.shop("--threads", writers, "--journal", f"{DATA}/journal.json")
    application.clients(rate, "--poisson")
    application.baseline()
    with freeze_filesystem(environment):
        yield application.live(more=blocked_tasks, writers=writers, rate=rate)


@contextmanager
def freeze_filesystem(environment: LabEnvironment, where: str = DATA) -> Iterator[None]:
    """Freezes the file system at `where` until the block ends, or this process does.

    A task that waits for it cannot even be killed.
    """
    enter = ["nsenter", "-t", str(environment.host.process.pid), "--mount", "--"]
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
def _runnable_crowd(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The load is as high, of tasks that compute at the lowest weight and give way at once."""
    application = LabApplication(environment, rng)
    cpu, tasks, rate = rng.randrange(2), rng.randrange(10, 16), rng.randrange(40, 80)
    application.items(burn_us=400)
    application.clients(rate)
    application.baseline()
    batch = application.group("batch")
    weigh_cpu(batch, 0.01)
    for _ in range(tasks):
        environment.on_host(["nice", "-n", "19", "taskset", "-c", str(cpu), "sha256sum", "/dev/zero"], batch)
    yield application.live(more=blocked_tasks, cpu=cpu, tasks=tasks, rate=rate)


@contextmanager
def _merging(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The kernel was configured to look for equal pages without a pause, where there are few."""
    application = LabApplication(environment, rng)
    guests_mb, pages = rng.randrange(200, 500), rng.randrange(4000, 20000)
    cpu, rate = rng.randrange(2), rng.randrange(90, 110)
    environment.on_host(build_python_command("guests.py", "--mb", guests_mb))
    application.items(burn_us=7000, cpu=cpu)
    application.clients(rate)
    application.baseline()
    for name, value in (("smart_scan", 0), ("pages_to_scan", pages), ("sleep_millisecs", 0), ("run", 1)):
        if Path(KSM, name).exists():
            environment.cleanup.set_global(f"{KSM}/{name}", str(value))
    before_s = _kernel_cpu_s("ksmd")
    with _kernel_thread_on("ksmd", cpu):
        yield application.live(
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
def _compressing(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Reports go to a file system that compresses as hard as it can, in workers of the kernel."""
    application = LabApplication(environment, rng)
    level, rate = rng.randrange(11, 16), rng.randrange(120, 180)
    application.disk(400, kind="btrfs", options=f"compress-force=zstd:{level},thread_pool=2")
    application.items(burn_us=2500)
    application.clients(rate, "--poisson")
    application.baseline()
    environment.on_host(build_python_command("archiver.py", DATA))
    before_s = _kernel_cpu_s("kworker")
    yield application.live(
        more=lambda: {"kernel_cpu_s": _kernel_cpu_s("kworker") - before_s}, level=level, rate=rate
    )


@contextmanager
def _called_kworker(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """What computes is called like a kernel thread, but it is a process, in another group."""
    application = LabApplication(environment, rng)
    cpu, jobs, rate = rng.randrange(2), rng.randrange(2, 5), rng.randrange(60, 120)
    application.items(burn_us=2000, cpu=cpu)
    application.clients(rate)
    application.baseline()
    other = application.group("other")
    weigh_cpu(other, 30.0)
    for number in range(jobs):
        script = f"echo kworker/{cpu}:{number + 1}-mm >/proc/$$/comm; while :; do :; done"
        environment.on_host(["taskset", "-c", str(cpu), "sh", "-c", script], other)
    yield application.live(cpu=cpu, jobs=jobs, rate=rate)


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
        "dstate", "fault", "dstate", ("io-throttled-by-cgroup", "dstate-pileup"),
        "Dozens of readers wait without interruption for a device that lets few requests through.",
        _throttled_readers, needs=("gcc", "mkfs.ext4"), seconds=15.0, global_effect=("load",),
    ),
    Scenario(
        "dstate-validation", "validation", "dstate", ("dstate-pileup",),
        "A frozen file system: every writer waits indefinitely, and the CPU has nothing to do.",
        _frozen_filesystem, needs=("mkfs.ext4", "fsfreeze"), seconds=15.0, global_effect=("load",),
    ),
    Scenario(
        "dstate-decoy", "decoy", "dstate", (),
        "The load is high of runnable batch jobs of the lowest weight; requests do not notice.",
        _runnable_crowd, needs=("gcc",), seconds=15.0, global_effect=("cpu", "load"),
    ),
    Scenario(
        "kernel-thread", "fault", "kernel-thread", ("kernel-thread-busy",),
        "ksmd compares pages without a pause and takes a CPU.", _merging, needs=("gcc",), seconds=8.0,
        global_effect=("cpu", "ksm"),
    ),
    Scenario(
        "kernel-thread-validation", "validation", "kernel-thread", ("kernel-thread-busy",),
        "Workers of the kernel compress what an archiver writes, and take the CPU.", _compressing,
        needs=("gcc", "mkfs.btrfs"), seconds=8.0, global_effect=("cpu",),
    ),
    Scenario(
        "kernel-thread-decoy", "decoy", "kernel-thread", ("cpu-neighbour-contention",),
        "Processes of another group, named like kernel threads, take the CPU of the application.",
        _called_kworker, needs=("gcc",), global_effect=("cpu",),
    ),
)  # fmt: skip
