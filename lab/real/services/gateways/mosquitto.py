"""A mosquitto on the host that keeps the last value of many meters, and the meters that send them."""

from __future__ import annotations

import random
import signal
import subprocess
import sys

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.web_neighbours import PROGRAMS

CONFIGURATION = """
listener {port} {address}
listener {port} 127.0.0.1
user mosquitto
allow_anonymous true
persistence true
persistence_location {directory}/
max_queued_messages 5000
log_dest file {directory}/mosquitto.log
log_type error
log_type warning
log_type notice
connection_messages false
{lines}
"""


class Mosquitto:
    """A mosquitto that runs on the host's address and 127.0.0.1. `server` is its process."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, port: int, lines: str) -> None:
        """Start mosquitto with `lines` of configuration, and wait until it listens."""
        self.environment, self.rng, self.port = environment, rng, port
        self.directory = environment.directory / "mosquitto"
        environment.host_sh(f"install -d -o mosquitto {self.directory}")
        self.file = environment.directory / "mosquitto.conf"
        self._write_configuration(lines)
        self.server: subprocess.Popen[bytes] = environment.on_host(["mosquitto", "-c", str(self.file)])
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "mosquitto", 20.0)
        if self.server.poll() is not None:
            raise RuntimeError(
                f"mosquitto ended: {(environment.directory / 'programs.log').read_text()[-800:]}"
            )

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def reload(self, lines: str) -> None:
        """Change the lines of the configuration; clients keep their connections."""
        self._write_configuration(lines)
        self.server.send_signal(signal.SIGHUP)

    def start_meters(self, meters: int, rate: float) -> None:
        """Let meters on the clients' side send a first value each, then `rate` values a second together."""
        ready = self.environment.directory / "meters.ready"
        self.environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "clients" / "field_meters.py"),
             "--to", f"{self.environment.host_address}:{self.port}", "--meters", str(meters), "--rate", f"{rate:.2f}",
             "--words", str(self.rng.randrange(6, 14)), "--seed", str(self.rng.randrange(10_000)),
             "--ready", str(ready)]
        )  # fmt: skip
        wait_for(ready.exists, "first values of meters", 40.0)

    def _write_configuration(self, lines: str) -> None:
        text = CONFIGURATION.format(
            port=self.port, address=self.environment.host_address, directory=self.directory, lines=lines
        )
        self.file.write_text(text)

    def _is_listening(self) -> bool:
        return bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}").strip())
