"""Much ado in system calls: tiny reads of a big file, and every line of a log written twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site
from e2e.lab.stage import Stage


@contextmanager
def _jar_scan(site: Site, rng: random.Random) -> Iterator[Live]:
    """One variable: the size of a read. The archive is read by seek and read, as some class loaders do."""
    stage = Stage(site, rng)
    scan_mb, rate = rng.randrange(4, 9), rng.randrange(30, 50)
    knobs: dict[str, Any] = {"scan": _archive(site, 16), "scan_bytes": scan_mb << 20, "scan_seek": 1}
    stage.items(**knobs, scan_chunk=65536)
    stage.clients(rate)
    stage.baseline()
    stage.items(**knobs, scan_chunk=512)
    yield stage.live(scan_mb=scan_mb, rate=rate)


@contextmanager
def _unbuffered_catalogue(site: Site, rng: random.Random) -> Iterator[Live]:
    """Somebody switched buffering off, so that the file is read in the pieces in which it is asked for."""
    stage = Stage(site, rng)
    block, kb, rate = rng.randrange(100, 300), rng.randrange(700, 1100), rng.randrange(20, 40)
    options = ("--catalogue", _archive(site, 4), "--read-bytes", kb << 10)
    stage.shop(*options, "--read-block", 1 << 17)
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.shop(*options, "--read-block", block)
    yield stage.live(block=block, kb=kb, rate=rate)


@contextmanager
def _big_reads(site: Site, rng: random.Random) -> Iterator[Live]:
    """More bytes per second than in the sick case, in big pieces."""
    stage = Stage(site, rng)
    scan_mb, rate = rng.randrange(12, 16), rng.randrange(30, 60)
    stage.items(scan=_archive(site, 16), scan_bytes=scan_mb << 20, scan_chunk=rng.choice((131072, 262144)))
    stage.clients(rate)
    stage.baseline()
    yield stage.live(scan_mb=scan_mb, rate=rate)


@contextmanager
def _second_log(site: Site, rng: random.Random) -> Iterator[Live]:
    """A second output was configured; both get every line."""
    stage = Stage(site, rng)
    rate, log_bytes, second = rng.randrange(80, 160), rng.randrange(120, 400), "/run/console.log"
    stage.items(log_bytes=log_bytes)
    stage.clients(rate)
    stage.baseline()
    stage.items(log_bytes=log_bytes, log2=second)
    logs = ("/run/access.log", second)
    yield stage.live(more=lambda: _sizes(site, logs), rate=rate, log_bytes=log_bytes)


def _handlers(site: Site, rng: random.Random, *same: str) -> Live:
    stage = Stage(site, rng)
    rate, handlers = rng.randrange(50, 100), 2
    stage.shop()
    stage.clients(rate, "--poisson")
    stage.baseline()
    stage.shop("--handlers", handlers, *same)
    logs = tuple(f"/run/access.log.{number}" for number in range(handlers))
    return stage.live(more=lambda: _sizes(site, logs), access_log=logs[0], rate=rate, handlers=handlers)


@contextmanager
def _two_handlers(site: Site, rng: random.Random) -> Iterator[Live]:
    """The logger of the framework and the one of the application both have a handler."""
    yield _handlers(site, rng, "--same-lines")


@contextmanager
def _two_logs(site: Site, rng: random.Random) -> Iterator[Live]:
    """As many writes to as many files, but what is written differs: an access log and an audit log."""
    yield _handlers(site, rng)


def _archive(site: Site, size_mb: int) -> str:
    path = site.directory / "archive"
    path.write_bytes(random.Random(size_mb).randbytes(size_mb << 20))
    return str(path)


def _sizes(site: Site, logs: tuple[str, ...]) -> dict[str, float]:
    return {f"bytes.{path.rpartition('/')[2]}": site.host.path(path).stat().st_size for path in logs}


SCENARIOS = (
    Scenario(
        "small-reads", "fault", "small-reads", ("small-read-pattern",),
        "A cached archive is read in steps of 512 bytes, with a seek before each.", _jar_scan, needs=("gcc",),
        global_effect=("cpu",),
    ),
    Scenario(
        "small-reads-blind", "blind", "small-reads", ("small-read-pattern",),
        "A Python service reads its catalogue without a buffer, a few hundred bytes at a time.",
        _unbuffered_catalogue, global_effect=("cpu",),
    ),
    Scenario(
        "small-reads-lookalike", "lookalike", "small-reads", (),
        "An archive is read on every request, in pieces of hundreds of kilobytes.", _big_reads, needs=("gcc",),
    ),
    Scenario(
        "duplicate-logging", "fault", "duplicate-logging", ("duplicate-logging",),
        "Every line of the access log is written to a second file as well.", _second_log, needs=("gcc",),
    ),
    Scenario(
        "duplicate-logging-blind", "blind", "duplicate-logging", ("duplicate-logging",),
        "Two handlers of one Python logger write the same lines to two files.", _two_handlers,
    ),
    Scenario(
        "duplicate-logging-lookalike", "lookalike", "duplicate-logging", (),
        "Two files get as many lines, and the lines differ.", _two_logs,
    ),
)  # fmt: skip
