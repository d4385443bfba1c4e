"""A file system without room: a job fills the disk on which a service keeps its files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LOG, LabApplication
from lab.environment import LabEnvironment, build_python_command
from lab.load import wait_for
from lab.scenario import Live, Scenario


def _start_uploads(
    environment: LabEnvironment, rng: random.Random, size_mb: int, rate: int, kilobytes: int
) -> LabApplication:
    """Start the service on a disk of its own, and measure its healthy phase."""
    application = LabApplication(environment, rng)
    application.disk(size_mb)
    application.serve(
        build_python_command("web/uploads.py", "--port", application.port, "--directory", DATA, "--log", LOG)
    )
    application.clients(rate, "--body-bytes", kilobytes * 1000)
    application.baseline()
    return application


@contextmanager
def _filled_by_export(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an export that is written to the disk of the service until no room is left."""
    size_mb, rate, kilobytes = rng.randrange(120, 260), rng.randrange(30, 60), rng.randrange(20, 90)
    application = _start_uploads(environment, rng, size_mb, rate, kilobytes)
    environment.host_sh(f"head -c {size_mb}M /dev/zero >{DATA}/export.csv 2>/dev/null || :")
    yield application.live(size_mb=size_mb, rate=rate, kilobytes=kilobytes)


@contextmanager
def _filled_by_log(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A debug log grows by megabytes per second on the same disk."""
    size_mb, rate, kilobytes = rng.randrange(120, 200), rng.randrange(20, 40), rng.randrange(10, 40)
    application = _start_uploads(environment, rng, size_mb, rate, kilobytes)
    line = "debug: checked item in cart, nothing to do"
    environment.on_host(["sh", "-c", f"exec yes '{line}' >>{DATA}/debug.log"])
    wait_for(lambda: _used_pct(environment) >= 99, "the log to fill the disk", 60.0)
    yield application.live(size_mb=size_mb, rate=rate, kilobytes=kilobytes)


@contextmanager
def _well_filled(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A disk that is four fifths full, and stays so: the service removes old files itself."""
    size_mb, rate, kilobytes = rng.randrange(200, 300), rng.randrange(20, 40), rng.randrange(10, 40)
    application = _start_uploads(environment, rng, size_mb, rate, kilobytes)
    environment.host_sh(f"head -c {size_mb * 3 // 4}M /dev/zero >{DATA}/archive.tar")
    yield application.live(size_mb=size_mb, rate=rate, kilobytes=kilobytes)


def _used_pct(environment: LabEnvironment) -> int:
    return int(environment.host_sh(f"df -P {DATA} | tail -n 1").split()[4].rstrip("%"))


SCENARIOS = (
    Scenario(
        "disk-full-validation", "validation", "disk-full", ("disk-full",),
        "A debug log fills the disk of a service that keeps what its clients send.", _filled_by_log,
    ),
    Scenario(
        "disk-full-decoy", "decoy", "disk-full", (),
        "A disk is four fifths full, as it always is; no client notices.", _well_filled,
    ),
    Scenario(
        "disk-full", "fault", "disk-full", ("disk-full",),
        "An export fills the disk of a service that keeps what its clients send.", _filled_by_export,
    ),
)  # fmt: skip
