"""A Redis on the host, with a data set of its own."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for


class Redis:
    """A Redis that runs on the loopback address. `pid` is the server's."""

    def __init__(self, environment: LabEnvironment, port: int, *options: str) -> None:
        """Start it without snapshots and wait until it answers. `options` are those of redis-server."""
        self.environment, self.port = environment, port
        self.directory = environment.directory / f"redis-{port}"
        self.directory.mkdir()
        self.server: subprocess.Popen[bytes] = environment.on_host(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--enable-debug-command", "yes",
             "--dir", str(self.directory), "--logfile", str(self.directory / "redis.log"), *options]
        )  # fmt: skip
        wait_for(self._is_ready, f"redis on port {port}")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self.server.pid

    def run(self, *words: object) -> str:
        """Return the answer to one command."""
        return self.environment.host_sh(
            f"redis-cli -p {self.port} " + " ".join(f"'{word}'" for word in words)
        ).strip()

    def populate(self, count: int, prefix: str, size_bytes: int) -> None:
        """Create `count` keys `prefix`:N with values of this size."""
        self.run("DEBUG", "POPULATE", count, prefix, size_bytes)

    def _is_ready(self) -> bool:
        try:
            return self.run("PING") == "PONG"
        except RuntimeError:
            return False
