"""A file system without room: a job fills the disk on which a service keeps its files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LOG, LabApplication
from lab.environment import LabEnvironment, build_python_command
from lab.scenario import Live, Scenario


@contextmanager
def _filled_by_export(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an export that is written to the disk of the service until no room is left."""
    application = LabApplication(environment, rng)
    size_mb, rate, kilobytes = rng.randrange(120, 260), rng.randrange(30, 60), rng.randrange(20, 90)
    application.disk(size_mb)
    application.serve(
        build_python_command("web/uploads.py", "--port", application.port, "--directory", DATA, "--log", LOG)
    )
    application.clients(rate, "--body-bytes", kilobytes * 1000)
    application.baseline()
    environment.host_sh(f"head -c {size_mb}M /dev/zero >{DATA}/export.csv 2>/dev/null || :")
    yield application.live(size_mb=size_mb, rate=rate, kilobytes=kilobytes)


SCENARIOS = (
    Scenario(
        "disk-full", "fault", "disk-full", ("disk-full",),
        "An export fills the disk of a service that keeps what its clients send.", _filled_by_export,
    ),
)  # fmt: skip
