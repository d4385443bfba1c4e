"""A hotel: a Caddy for its guests and the telephone exchange, which records calls, on one CPU of the host."""

from __future__ import annotations

import subprocess

from lab.application import use_cpus
from lab.real.services.towns.caddy import Caddy
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer

# Packs a recorded call, then waits for the next one.
RECORDER = 'while :; do head -c {kilobytes}k /dev/urandom | gzip -9 >"$0"; sleep {pause_s:.2f}; done'


class Hotel:
    """The services that run. `town` has the neighbors and the clients, `cpu` is what Caddy and the exchange share."""

    def __init__(self, town: Town, kilobytes: int, pause_s: float) -> None:
        """Start Caddy and the application. kilobytes: the size of a recorded call."""
        self.town = town
        environment, rng = town.environment, town.rng
        self.cpu = rng.randrange(2)
        self.pod = town.create_group(rng.choice(("edge", "frontend", "caddy")))
        self.exchange = town.create_group(rng.choice(("pbx", "exchange", "voice")))
        for group in (self.pod, self.exchange):
            use_cpus(group, str(self.cpu))
        port, app_port = town.take_ports(2)
        app = ApiServer(
            environment, "127.0.0.1", app_port,
            delay_ms=rng.uniform(2, 8), work_us=rng.uniform(300, 900), answer_bytes=rng.randrange(800, 6000),
        )  # fmt: skip
        self.caddy = Caddy(environment, rng, port, app.address, self.pod)
        self.exchange.allow_real_time()
        self._loop = RECORDER.format(kilobytes=kilobytes, pause_s=pause_s)
        town.parameters |= {
            "port": port,
            "cpu": self.cpu,
            "kilobytes": kilobytes,
            "pause_s": round(pause_s, 2),
        }

    def start_recorder(self, priority: int = 0) -> subprocess.Popen[bytes]:
        """Start what packs recorded calls, as an ordinary program or with a priority of the exchange itself."""
        before = ["chrt", "-r", str(priority)] if priority else []
        file = self.town.environment.directory / "call.gz"
        return self.town.environment.on_host([*before, "sh", "-c", self._loop, str(file)], self.exchange)

    def start_clients(self, rate: float) -> None:
        """Start guests, and measure the healthy phase."""
        rng = self.town.rng
        paths = ["/rooms/{n}"] * rng.randrange(2, 4) + ["/pages/{n}.html"] * rng.randrange(2, 4)
        self.town.start_clients(self.caddy.address, rate, paths, range_=self.caddy.pages)
