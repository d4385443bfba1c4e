"""Go programs of lab/real/programs, compiled once for each environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for

PROGRAMS = Path(__file__).parents[1] / "programs"
GO = "/usr/local/go/bin/go"
CACHE = "/tmp/go-cache-lab"


def build_program(environment: LabEnvironment, source: str) -> Path:
    """Return the binary of a Go program; it is compiled at the first call."""
    binary = environment.directory / "bin" / Path(source).stem
    if not binary.exists():
        variables = {
            **os.environ,
            "GOCACHE": CACHE,
            "GOFLAGS": "-mod=mod",
            "GOTOOLCHAIN": "local",
            "GOPROXY": "off",
        }
        command = [GO, "build", "-o", str(binary), str(PROGRAMS / source)]
        subprocess.run(command, check=True, env=variables, cwd=environment.directory, timeout=120)
    return binary


class GoService:
    """A Go server on the host. Its settings and its log are in `directory`."""

    def __init__(self, environment: LabEnvironment, source: str, port: int, *options: object) -> None:
        self.environment, self.port, self.options = environment, port, options
        self.binary = build_program(environment, source)
        self.directory = environment.directory / self.binary.stem
        self.directory.mkdir()
        self.settings = self.directory / "settings.conf"
        self.access_log = str(self.directory / "access.log")

    @property
    def pid(self) -> int:
        return self.server.pid

    def write_settings(self, **values: object) -> None:
        """Write the settings; a server that runs reads them within half a second."""
        text = "".join(f"{name} = {value}\n" for name, value in values.items())
        self.settings.with_suffix(".new").write_text(text)
        self.settings.with_suffix(".new").replace(self.settings)

    def start(self, variables: Mapping[str, str] | None = None) -> None:
        """Start the server with these environment variables, and wait until it listens."""
        command = [
            "env", *(f"{name}={value}" for name, value in (variables or {}).items()), str(self.binary),
            "-listen", f"{self.environment.host_address}:{self.port}", "-access-log", self.access_log,
            "-settings", str(self.settings), *map(str, self.options),
        ]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(
            lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")),
            f"port {self.port}",
            40,
        )

    def stop(self) -> None:
        """End the server."""
        self.server.terminate()
        self.server.wait()
