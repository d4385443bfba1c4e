"""The table of what a running platform consists of, besides its engines: how each is started and stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from culprit.launch.paths import PYTHON, ROOT, python_path

TERM = ((int(signal.SIGTERM), 10.0),)
# Warm, then cold: a task that does not end within the first time is taken up by the next start.
WORKER = ((int(signal.SIGTERM), 12.0), (int(signal.SIGQUIT), 4.0))


@dataclass(frozen=True, slots=True)
class Service:
    """One process. `stop` are signals with the seconds to wait after each; then comes SIGKILL.

    `port` is the TCP port on which it listens once it is ready; None where it has none.
    """

    name: str
    command: tuple[str, ...]
    stop: tuple[tuple[int, float], ...] = TERM
    death_signal: int = int(signal.SIGTERM)
    port: int | None = None


def api(address: str, port: int) -> Service:
    """HTTP and the interface. Streams to browsers are cut after some seconds when it stops."""
    options = ("--host", address, "--port", str(port), "--log-level", "warning", "--no-access-log")
    more = ("--no-server-header", "--timeout-graceful-shutdown", "3")
    # Without this option uvicorn believes X-Forwarded-For of every process on this machine.
    proxies = ("--forwarded-allow-ips", os.environ.get("CULPRIT_TRUSTED_PROXIES", ""))
    return Service("api", (str(PYTHON), "-m", "uvicorn", "culprit.main:app", *options, *more, *proxies))


def workers() -> tuple[Service, ...]:
    """One worker per kind of queue. A cold end at our death: nobody is left to wait for a warm one."""
    return tuple(
        Service(f"worker-{kind}", (str(PYTHON), "-m", "culprit.worker", kind), WORKER, int(signal.SIGQUIT))
        for kind in ("ssh", "parse")
    )


SCHEDULER = Service("scheduler", (str(PYTHON), "-m", "culprit.scheduler"))
MIGRATE = (str(PYTHON), "-m", "alembic", "-c", str(ROOT / "migrations" / "alembic.ini"), "upgrade", "head")
# Two arenas instead of eight per CPU, fixed thresholds so that freed memory goes back at once, and no threads of
# the numerical library: measured after two dozen captures, see docs/decisions/0034.
LESS_MEMORY = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "OPENBLAS_NUM_THREADS": "1",
}
BOOTSTRAP = (str(PYTHON), "-m", "culprit.bootstrap")


def environment(base: Mapping[str, str], **settings: str) -> dict[str, str]:
    """The environment of every process of the platform."""
    own = {
        "PYTHONPATH": python_path(),
        "PYTHONUNBUFFERED": "1",
        "C_FORCE_ROOT": "1",  # Celery's warning about root; tasks carry ids and no pickles
    }
    dropped = {"CULPRIT_UP_BEGAN", "CULPRIT_UP_PHASES", "PYTHONHOME", "VIRTUAL_ENV"}
    kept = {name: value for name, value in base.items() if name not in dropped}
    return LESS_MEMORY | kept | own | settings
