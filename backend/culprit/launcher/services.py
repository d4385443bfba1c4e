"""Services of a running platform, besides the engines: how each is started and stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from culprit.launcher import progress
from culprit.launcher.paths import PYTHON, ROOT, build_python_path
from culprit.launcher.supervision.child_processes import ManagedProcess, StopSignals, start_child

TERM = ((signal.SIGTERM, 10.0),)
# Warm, then cold shutdown: a task that does not end within the first time runs again after the next start.
WORKER = ((signal.SIGTERM, 12.0), (signal.SIGQUIT, 4.0))
WORKERS = ("worker-ssh", "worker-parse")  # one per kind of queue
START_GRACE_S = 2.0  # a service without a port counts as started after this time
LOG_MAX = 8 << 20
TCP_LISTEN = "0A"  # state of a listening socket in /proc/net/tcp


def open_log(path: Path) -> IO[bytes]:
    """Return the log of one service. A large log is rotated, with one older file."""
    if path.exists() and path.stat().st_size > LOG_MAX:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


class ServiceProcess(ManagedProcess):
    """One process. `port` is the TCP port on which it listens once it is ready; None if it has none."""

    def __init__(
        self,
        name: str,
        command: tuple[str, ...],
        stop: StopSignals = TERM,
        death_signal: int = signal.SIGTERM,
        port: int | None = None,
    ) -> None:
        super().__init__(name, stop)
        self.command = command
        self.death_signal = death_signal
        self.port = port
        self.env: Mapping[str, str] = {}
        self.started = 0.0

    def restart(self, failures: int) -> None:
        """Start the service in the data directory, with its environment."""
        with open_log(self.log_path) as log:
            self.child = start_child(
                self.command, log=log, env=self.env, cwd=self.log_path.parent.parent,
                death_signal=self.death_signal,
            )  # fmt: skip
        self.started = time.monotonic()

    def is_ready(self) -> bool:
        """Return whether the service itself, and no other process, listens on its port."""
        if self.port is None:
            return time.monotonic() - self.started > START_GRACE_S
        return self.pid is not None and is_listening(self.pid, self.port)


def is_listening(pid: int, port: int) -> bool:
    """Return whether the process itself listens on TCP `port`, and not another process."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    with contextlib.suppress(OSError):
        return any(str(link.readlink()) in inodes for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def build_api_service(address: str, port: int) -> ServiceProcess:
    """Return the service of the API and the frontend.

    Streams to browsers are cut after some seconds when it stops.
    """
    options = ("--host", address, "--port", str(port), "--log-level", "warning", "--no-access-log")
    more = ("--no-server-header", "--timeout-graceful-shutdown", "3")
    # Without this option uvicorn trusts X-Forwarded-For of every process on this machine.
    proxies = ("--forwarded-allow-ips", os.environ.get("CULPRIT_TRUSTED_PROXIES", ""))
    server = (str(PYTHON), "-m", "uvicorn", "--factory", "culprit.server.web:create_app")
    return ServiceProcess("api", (*server, *options, *more, *proxies), port=port)


def list_services(address: str, port: int) -> list[ServiceProcess]:
    """Return the services in the order of their start.

    Workers stop cold if the supervisor dies: no process could wait for a warm stop.
    """
    worker = (str(PYTHON), "-m", "culprit.server.worker")
    return [
        build_api_service(address, port),
        *(
            ServiceProcess(name, (*worker, name.removeprefix("worker-")), WORKER, signal.SIGQUIT)
            for name in WORKERS
        ),
        ServiceProcess("scheduler", (str(PYTHON), "-m", "culprit.server.scheduler")),
    ]


MIGRATE = (str(PYTHON), "-m", "alembic", "-c", str(ROOT / "migrations" / "alembic.ini"), "upgrade", "head")
BOOTSTRAP = (str(PYTHON), "-m", "culprit.server.bootstrap")
# Two arenas instead of eight per CPU, fixed thresholds so that freed memory goes back at once, and no threads
# of the numerical library: measured after two dozen captures, see docs/decisions/0034.
LESS_MEMORY = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "OPENBLAS_NUM_THREADS": "1",
}


def build_process_environment(base: Mapping[str, str], **settings: str) -> dict[str, str]:
    """Return the environment of every process of the platform."""
    own = {
        "PYTHONPATH": build_python_path(),
        "PYTHONUNBUFFERED": "1",
        "C_FORCE_ROOT": "1",  # silence Celery's warning about root: tasks carry IDs and no pickles
    }
    dropped = {progress.VARIABLE, "PYTHONHOME", "VIRTUAL_ENV"}
    stored = {name: value for name, value in base.items() if name not in dropped}
    return LESS_MEMORY | stored | own | settings
