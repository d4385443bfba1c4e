"""Much ado in system calls: tiny reads of a big file, and every line of a log written twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab.application import LabApplication
from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario


@contextmanager
def _jar_scan(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the size of a read. The archive is read by seek and read, as some class loaders do."""
    application = LabApplication(environment, rng)
    scan_mb, rate = rng.randrange(4, 9), rng.randrange(30, 50)
    knobs: dict[str, Any] = {"scan": _archive(environment, 16), "scan_bytes": scan_mb << 20, "scan_seek": 1}
    application.items(**knobs, scan_chunk=65536)
    application.clients(rate)
    application.baseline()
    application.items(**knobs, scan_chunk=512)
    yield application.live(scan_mb=scan_mb, rate=rate)


@contextmanager
def _unbuffered_catalog(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Buffering was switched off, so that the file is read in the pieces in which it is asked for."""
    application = LabApplication(environment, rng)
    block, kb, rate = rng.randrange(100, 300), rng.randrange(700, 1100), rng.randrange(20, 40)
    options = ("--catalog", _archive(environment, 4), "--read-bytes", kb << 10)
    application.shop(*options, "--read-block", 1 << 17)
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop(*options, "--read-block", block)
    yield application.live(block=block, kb=kb, rate=rate)


@contextmanager
def _big_reads(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """More bytes per second than with the fault, in big pieces."""
    application = LabApplication(environment, rng)
    scan_mb, rate = rng.randrange(12, 16), rng.randrange(30, 60)
    application.items(
        scan=_archive(environment, 16), scan_bytes=scan_mb << 20, scan_chunk=rng.choice((131072, 262144))
    )
    application.clients(rate)
    application.baseline()
    yield application.live(scan_mb=scan_mb, rate=rate)


@contextmanager
def _second_log(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A second output was configured; both get every line."""
    application = LabApplication(environment, rng)
    rate, log_bytes, second = rng.randrange(80, 160), rng.randrange(120, 400), "/run/console.log"
    application.items(log_bytes=log_bytes)
    application.clients(rate)
    application.baseline()
    application.items(log_bytes=log_bytes, log2=second)
    logs = ("/run/access.log", second)
    yield application.live(more=lambda: _sizes(environment, logs), rate=rate, log_bytes=log_bytes)


def _handlers(environment: LabEnvironment, rng: random.Random, *same: str) -> Live:
    application = LabApplication(environment, rng)
    rate, handlers = rng.randrange(50, 100), 2
    application.shop()
    application.clients(rate, "--poisson")
    application.baseline()
    application.shop("--handlers", handlers, *same)
    logs = tuple(f"/run/access.log.{number}" for number in range(handlers))
    return application.live(
        more=lambda: _sizes(environment, logs), access_log=logs[0], rate=rate, handlers=handlers
    )


@contextmanager
def _two_handlers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The logger of the framework and the one of the application both have a handler."""
    yield _handlers(environment, rng, "--same-lines")


@contextmanager
def _two_logs(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """As many writes to as many files, but what is written differs: an access log and an audit log."""
    yield _handlers(environment, rng)


def _archive(environment: LabEnvironment, size_mb: int) -> str:
    path = environment.directory / "archive"
    path.write_bytes(random.Random(size_mb).randbytes(size_mb << 20))
    return str(path)


def _sizes(environment: LabEnvironment, logs: tuple[str, ...]) -> dict[str, float]:
    return {f"bytes.{path.rpartition('/')[2]}": environment.host.path(path).stat().st_size for path in logs}


SCENARIOS = (
    Scenario(
        "small-reads", "fault", "small-reads", ("small-read-pattern",),
        "A cached archive is read in steps of 512 bytes, with a seek before each.", _jar_scan, needs=("gcc",),
        global_effect=("cpu",),
    ),
    Scenario(
        "small-reads-validation", "validation", "small-reads", ("small-read-pattern",),
        "A Python service reads its catalog without a buffer, a few hundred bytes at a time.",
        _unbuffered_catalog, global_effect=("cpu",),
    ),
    Scenario(
        "small-reads-decoy", "decoy", "small-reads", (),
        "An archive is read on every request, in pieces of hundreds of kilobytes.", _big_reads, needs=("gcc",),
    ),
    Scenario(
        "duplicate-logging", "fault", "duplicate-logging", ("duplicate-logging",),
        "Every line of the access log is written to a second file as well.", _second_log, needs=("gcc",),
    ),
    Scenario(
        "duplicate-logging-validation", "validation", "duplicate-logging", ("duplicate-logging",),
        "Two handlers of one Python logger write the same lines to two files.", _two_handlers,
    ),
    Scenario(
        "duplicate-logging-decoy", "decoy", "duplicate-logging", (),
        "Two files get as many lines, and the lines differ.", _two_logs,
    ),
)  # fmt: skip
