"""Faults of CPUs, processes and scheduled jobs under real web services."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.application import DATA, LabApplication, slow_disk, use_cpus
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.catalog_host import (
    CatalogHost,
    choose_pages,
    write_pictures,
)
from lab.scenario import Live, Scenario

PIDS = Path("/sys/fs/cgroup/pids")
# Starts the job, waits, and starts it again; the arguments: the pause in seconds, the job.
SCHEDULER = 'while :; do sh "$1"; sleep "$0"; done'
# Starts jobs that wait for a lock; the arguments: the lock, how many, the group that they join.
LOCKED_JOBS = """
for number in $(seq "$1"); do sh -c 'echo $$ >"$1"; exec flock "$0" cksum "$0"' "$0" "$2" & sleep 0.02; done; wait
"""
AS_USER = ("setpriv", "--reuid=33", "--regid=33", "--clear-groups", "--")
NEEDS = ("gunicorn", "nginx", "redis-server")


@contextmanager
def _few_cpus(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The services are confined to one CPU, by their group or by their affinity."""
    dots = rng.randrange(60, 85)
    host = CatalogHost(
        environment, rng, workers=rng.randrange(4, 7), application="posters_app.py",
        variables={"DOTS_PER_INCH": str(dots)},
    )  # fmt: skip
    letters = rng.randrange(1, 4)
    pictures_per_s = rng.uniform(0.60, 0.66) / (0.026 * (dots / 110) ** 2)
    host.start_clients(
        round(pictures_per_s * (1 + letters), 1), ("/posters/{n}", *["/letters/{n}"] * letters)
    )
    host.measure_baseline()
    cpu, way = rng.randrange(2), rng.choice(("group", "affinity"))
    if way == "group":
        use_cpus(environment.app, str(cpu))
    else:
        for pid in environment.app.pids():
            subprocess.run(["taskset", "-acp", str(cpu), str(pid)], capture_output=True, check=False)
    yield host.build_live(way=way, cpu=cpu)


@contextmanager
def _few_processes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """No process can be started any more: the group or the user has as many as it may have."""
    host = CatalogHost(
        environment,
        rng,
        workers=rng.randrange(3, 6),
        threads=rng.choice((1, 4, 8)),
        application="documents_app.py",
    )
    pages = ("/letters/{n}", "/invoices/{n}", "/receipts/{n}")
    host.start_clients(rng.randrange(50, 80), (*pages, *(rng.choice(pages) for _ in range(3))))
    directory = PIDS / environment.app.path.strip("/")
    environment.cleanup.remove([directory.parent, directory])
    directory.mkdir(parents=True)
    processes = [host.gunicorn.pid, *host.gunicorn.list_workers()]
    for pid in processes:
        (directory / "cgroup.procs").write_text(str(pid))
    host.measure_baseline()
    way = rng.choice(("group", "jobs", "user"))
    spare = rng.randrange(2)
    if way == "group":
        limit = _count_tasks(processes) + spare
        (directory / "pids.max").write_text(str(limit))
    elif way == "jobs":
        room = rng.randrange(60, 160)
        limit = _count_tasks(processes) + room
        (directory / "pids.max").write_text(str(limit))
        _start_locked_jobs(environment, rng, directory, room + rng.randrange(2, 12))
    else:
        limit = _count_tasks_of("www-data") + spare
        for pid in processes[1:]:
            subprocess.run([*AS_USER, "prlimit", "--pid", str(pid), f"--nproc={limit}"], check=True)
    yield host.build_live(way=way, limit=limit)


def _count_tasks(pids: list[int]) -> int:
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)


def _count_tasks_of(user: str) -> int:
    """Return how many threads `user` has, as the kernel counts them, without those that are just ending."""
    listed = subprocess.run(
        ["ps", "-L", "-u", user, "-o", "comm="], capture_output=True, text=True, check=False
    )
    return sum(
        line.split()[0] not in ("gzip", "cksum") for line in listed.stdout.splitlines() if line.strip()
    )


def _start_locked_jobs(environment: LabEnvironment, rng: random.Random, directory: Path, count: int) -> None:
    """Start a job again and again, while an earlier run keeps its lock; they fill the group."""
    lock = environment.directory / f"{rng.choice(('reindex', 'feed-sync', 'price-import'))}.lock"
    lock.touch()
    environment.on_host(["flock", str(lock), "sleep", "3600"])
    environment.on_host(["sh", "-c", LOCKED_JOBS, str(lock), str(count), str(directory / "cgroup.procs")])
    most = int((directory / "pids.max").read_text())
    wait_for(lambda: int((directory / "pids.current").read_text()) >= most, "the jobs", 30.0)


@contextmanager
def _compression_job(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A job that starts at fixed times compresses the archive with many threads."""
    dots = rng.randrange(60, 85)
    host = CatalogHost(
        environment, rng, workers=rng.randrange(3, 6), application="posters_app.py",
        variables={"DOTS_PER_INCH": str(dots)},
    )  # fmt: skip
    archive = environment.directory / "var" / "archive"
    size_mb = rng.randrange(30, 50)
    _write_archive(archive, size_mb)
    letters = rng.randrange(1, 5)
    pictures_per_s = rng.uniform(0.44, 0.54) / (0.026 * (dots / 110) ** 2)
    host.start_clients(
        round(pictures_per_s * (1 + letters), 1), ("/posters/{n}", *["/letters/{n}"] * letters)
    )
    host.measure_baseline()
    threads, pause_s = rng.randrange(6, 13), rng.randrange(3, 7)
    target = archive.parent / "archive.tar"
    command = rng.choice(
        (
            f"xz -4 -T{threads} --block-size=1MiB -c >{target}.xz",
            f"zstd -q -f -17 -B1MiB -T{threads} -o {target}.zst",
        )
    )
    job = environment.directory / "etc" / rng.choice(("archive-orders", "nightly-export", "backup-var"))
    job.parent.mkdir()
    job.write_text(f"#!/bin/sh\ntar -C {archive} -cf - . | {command}\n")
    environment.on_host(["sh", "-c", SCHEDULER, str(pause_s), str(job)])
    yield host.build_live(
        job=job.name,
        command=command.split()[0],
        threads=threads,
        pause_s=pause_s,
        size_mb=size_mb,
    )


def _write_archive(directory: Path, size_mb: int) -> None:
    """Write lines of orders, which compress as text does."""
    directory.mkdir(parents=True)
    draw = random.Random(size_mb)
    for number in range(size_mb):
        text = draw.randbytes(500_000).hex()
        lines = [
            f"{text[at : at + 60]};{draw.choice(('open', 'paid', 'sent'))}" for at in range(0, len(text), 60)
        ]
        (directory / f"orders-{number:03}.csv").write_text("\n".join(lines))


@contextmanager
def _volume_job(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A job copies files on the volume from which nginx reads the pictures."""
    application = LabApplication(environment, rng)
    image = application.disk(rng.randrange(900, 1300))
    files, kilobytes = rng.randrange(400, 800), rng.choice((48, 64, 96))
    write_pictures(environment, f"{DATA}/media", files, kilobytes)
    write_pictures(environment, f"{DATA}/exports", 25, 10_000)
    rate = rng.randrange(110, 170)
    slow_disk(environment.app, image, bytes_per_s=int(rate * kilobytes * 1024 * rng.uniform(1.8, 2.5)))
    host = CatalogHost(
        environment, rng, workers=rng.randrange(2, 4), proxied=True,
        server_lines=f"location /media/ {{ root {DATA}; sendfile off; directio 4k; }}\n",
    )  # fmt: skip
    host.start_clients(rate, (*["/media/p{n}"] * rng.randrange(6, 12), *choose_pages(rng, total=5)), files)
    host.measure_baseline()
    job = environment.directory / rng.choice(("copy-exports", "verify-exports"))
    if job.name == "copy-exports":
        work = (
            f"mkdir -p {DATA}/copy; cd {DATA}/exports;"
            "for f in *; do dd if=$f of=../copy/$f bs=1M iflag=direct oflag=direct status=none; done"
        )
    else:
        work = f"cd {DATA}/exports; for f in *; do dd if=$f iflag=direct bs=1M status=none | cksum; done"
    job.write_text(f"#!/bin/sh\n{work}\n")
    pause_s = rng.randrange(2, 6)
    command = ["sh", "-c", SCHEDULER, str(pause_s), str(job)]
    running = [environment.on_host(command)]
    yield host.build_live(
        lambda: environment.stop(running.pop()),
        lambda: running.append(environment.on_host(command)),
        files=files,
        kilobytes=kilobytes,
        job=job.name,
        pause_s=pause_s,
    )


SCENARIOS = (
    Scenario(
        "cpuset-too-small", "development", "cpuset-too-small", ("cpuset-too-small",),
        "Services that need most of two CPUs may run on one only.", _few_cpus,
        needs=(*NEEDS, "taskset"), global_effect=("cpu",), software=("gunicorn", "nginx"), seconds=8.0,
    ),
    Scenario(
        "process-limit", "development", "process-limit", ("process-limit",),
        "A service that starts programs for its answers cannot start any more.", _few_processes,
        needs=(*NEEDS, "flock", "prlimit"), software=("gunicorn",), seconds=8.0,
    ),
    Scenario(
        "scheduled-job-cpu", "development", "scheduled-job-cpu", ("scheduled-job", "cpu-neighbour-contention"),
        "A job compresses an archive with many threads next to a web service.", _compression_job,
        needs=(*NEEDS, "xz", "zstd", "tar"), global_effect=("cpu",), software=("gunicorn", "nginx"), seconds=8.0,
    ),
    Scenario(
        "scheduled-job-disk", "development", "scheduled-job-disk", ("scheduled-job", "disk-saturation"),
        "A job copies large files on the volume from which nginx reads pictures.", _volume_job,
        needs=NEEDS, global_effect=("disk",), software=("nginx",), seconds=8.0,
    ),
)  # fmt: skip
