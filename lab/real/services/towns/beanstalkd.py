"""A beanstalkd on the host that keeps jobs in files, and the packers that take them."""

from __future__ import annotations

import subprocess
import sys

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.web_neighbours import PROGRAMS


class Beanstalkd:
    """A beanstalkd that runs. `server` is its process."""

    def __init__(self, environment: LabEnvironment, port: int, directory: str) -> None:
        """Start it on the loopback address. Every change is on disk before it answers."""
        self.environment, self.port = environment, port
        environment.host_sh(f"install -d -o 65534 {directory}")
        self.server: subprocess.Popen[bytes] = environment.on_host(
            ["beanstalkd", "-l", "127.0.0.1", "-p", str(port), "-b", directory, "-f", "0", "-u", "nobody"]
        )
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "beanstalkd")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def start_packers(self, count: int) -> None:
        """Start programs that take jobs and delete them."""
        for _ in range(count):
            self.environment.on_host(
                [sys.executable, "-B", str(PROGRAMS / "towns" / "packer.py"), str(self.port)]
            )
