"""The disk is the bottleneck: a log that is forced out on every request, or another process that fills the queue."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment, build_python_command
from lab.scenario import Live, Scenario

REQUEST_LOG = f"{DATA}/requests.log"


@contextmanager
def _osync_log(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the flag with which the log is opened. The disk does a few hundred requests per second."""
    application = LabApplication(environment, rng)
    iops, log_bytes = rng.randrange(250, 400), rng.randrange(150, 400)
    rate = int(iops * rng.uniform(0.9, 1.1))
    slow_disk(environment.app, application.disk(128), iops=iops)
    knobs: dict[str, Any] = {"log": REQUEST_LOG, "log_bytes": log_bytes, "workers": 16}
    application.items(**knobs)
    application.clients(rate)
    application.baseline()
    application.items(**knobs, osync=1)
    repair = partial(application.items, **knobs)
    yield application.live(iops=iops, rate=rate, log_bytes=log_bytes, access_log=REQUEST_LOG, repair=repair)


@contextmanager
def _fsynced_journal(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Every order is one record, and a careful person made every record an fsync."""
    application = LabApplication(environment, rng)
    iops, rate = rng.randrange(60, 120), rng.randrange(60, 110)
    slow_disk(environment.app, application.disk(160), iops=iops)
    options = ("--threads", 6, "--journal", f"{DATA}/journal.json")
    application.shop(*options)
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop(*options, "--fsync")
    yield application.live(iops=iops, rate=rate)


def _busy_disk(
    application: LabApplication, rng: random.Random, *backup: object, iops: int = 0, bytes_per_s: int = 0
) -> Live:  # fmt: skip
    """Requests read a table past the page cache, and log normally; then a backup begins on the same disk."""
    rate, lookups = rng.randrange(40, 80), rng.randrange(1, 3)
    slow_disk(application.environment.app, application.disk(256), iops=iops, bytes_per_s=bytes_per_s)
    table = application.file("table", 96)
    application.items(table=table, lookups=lookups, workers=16)
    application.clients(rate)
    application.baseline()
    application.environment.on_host(build_python_command("backup.py", table, *backup))
    return application.live(
        rate=rate, lookups=lookups, iops=iops, bytes_per_s=bytes_per_s, backup=" ".join(map(str, backup))
    )


@contextmanager
def _backup_reads(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    iops, depth = rng.randrange(300, 500), rng.randrange(60, 110)
    yield _busy_disk(LabApplication(environment, rng), rng, "--depth", depth, "--block-kb", 16, iops=iops)


@contextmanager
def _backup_of_big_blocks(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The disk's bandwidth is short rather than its requests per second, and several programs share the work."""
    rate, depth = rng.randrange(20, 40) << 20, rng.randrange(16, 32)
    options = ("--depth", depth, "--block-kb", 512, "--processes")
    yield _busy_disk(LabApplication(environment, rng), rng, *options, bytes_per_s=rate)


@contextmanager
def _import_updates(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The request log is not forced out; an import updates blocks past the page cache on the same disk."""
    iops, depth = rng.randrange(250, 400), rng.randrange(40, 90)
    yield _busy_disk(
        LabApplication(environment, rng), rng, "--depth", depth, "--block-kb", 8, "--update", iops=iops
    )


SCENARIOS = (
    Scenario(
        "osync-log", "fault", "osync-log", ("sync-write-amplification",),
        "The request log is opened with O_SYNC; the load, the lines and the disk are as before.", _osync_log,
        needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "osync-log-validation", "validation", "osync-log", ("sync-write-amplification",),
        "A web shop calls fsync after the record of every order, on a disk of some hundred requests per second.",
        _fsynced_journal, needs=("mkfs.ext4",),
    ),
    Scenario(
        "osync-log-decoy", "decoy", "osync-log", ("disk-saturation",),
        "An import reads and writes blocks directly on the disk that the application reads; the log is buffered.",
        _import_updates, needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "disk-saturation", "fault", "disk-saturation", ("disk-saturation",),
        "A backup reads at random, many requests at once, from the disk that the application reads.",
        _backup_reads, needs=("gcc", "mkfs.ext4"),
    ),
    Scenario(
        "disk-saturation-validation", "validation", "disk-saturation", ("disk-saturation",),
        "Two dozen processes read big blocks until the bandwidth of the disk is used up.", _backup_of_big_blocks,
        needs=("gcc", "mkfs.ext4"),
    ),
)  # fmt: skip
