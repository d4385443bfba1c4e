"""The gateway of a platform: Go processes that share a port, services behind it, and people who watch builds."""

from __future__ import annotations

import subprocess

from lab.load import wait_for
from lab.real.services.golang import build_program
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer, start_visitors


class Gateway:
    """The gateway that runs. `processes` are those of the release that was started last."""

    def __init__(self, town: Town, release: int, count: int) -> None:
        """Start the services and the gateway.

        Args:
            release: the number of the release.
            count: how many processes the gateway has.
        """
        rng, self.town, self.environment = town.rng, town, town.environment
        self.port, services_port = town.take_ports(2)
        self.count = count
        self.backlog = rng.choice((128, 256, 512))
        self.environment.host_net.sh(f"sysctl -qw net.core.somaxconn={self.backlog}")
        services = ApiServer(
            self.environment, "127.0.0.1", services_port,
            delay_ms=rng.uniform(4, 12), work_us=rng.uniform(150, 400), answer_bytes=rng.randrange(500, 4_000),
        )  # fmt: skip
        self.address = f"{self.environment.host_address}:{self.port}"
        self.access_log = str(self.environment.directory / "gateway.log")
        binary = build_program(self.environment, "platform/gateway.go")
        self._command = [
            str(binary), "-listen", self.address, "-services", services.address, "-rounds",
            str(rng.randrange(300, 1_500)), "-access-log", self.access_log,
        ]  # fmt: skip
        self.processes = self.start(release)
        town.parameters |= {"gateway": self.port, "processes": count, "backlog": self.backlog}

    def start(self, release: int) -> list[subprocess.Popen[bytes]]:
        """Start the processes of a release, and wait until all of them listen."""
        listing = f"ss -Hltn sport = :{self.port}"
        before = len(self.environment.host_net.sh(listing).splitlines())
        started = [
            self.environment.on_host([*self._command, "-release", str(release)]) for _ in range(self.count)
        ]
        wait_for(
            lambda: len(self.environment.host_net.sh(listing).splitlines()) >= before + self.count, "gateway"
        )
        return started

    def start_watchers(self, count: int) -> None:
        """Start people who watch builds."""
        start_visitors(
            self.environment, self.town.rng, self.address, count, count * 2.0, "/watch/{n}",
            options=("--stream", "--timeout-s", 900),
        )  # fmt: skip
        self.town.parameters |= {"watchers": count}

    def roll_out(self, release: int) -> list[subprocess.Popen[bytes]]:
        """Start a release, then ask the processes of the earlier one to end. Returns those."""
        earlier, self.processes = self.processes, self.start(release)
        for process in earlier:
            process.terminate()
        return earlier
