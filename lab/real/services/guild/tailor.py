"""A tailor: a Java service behind nginx, and a job that sends its patterns to a branch."""

from __future__ import annotations

import subprocess
import sys

from lab.real.services.java import JavaService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer


class Tailor:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, branch_port = town.take_ports(2)
        size, patterns = rng.choice((1_024, 2_048)), rng.randrange(300, 500)
        self.patterns = self.environment.directory / "patterns.dat"
        self.patterns.write_bytes(rng.randbytes(size * patterns))
        self.branch = ApiServer(
            self.environment, self.environment.client_address, branch_port, client_side=True,
            delay_ms=rng.uniform(2, 8), work_us=rng.uniform(50, 100), answer_bytes=100,
        )  # fmt: skip
        self.send_s, self.pause_s = rng.uniform(2.2, 3.6), rng.uniform(0.5, 1.1)
        self.service = JavaService(self.environment, "guild/Fittings.java", port)
        self.service.start(
            "-Xmx128m", rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC")), "-Dsun.net.httpserver.nodelay=true",
            f"-Dpatterns={self.patterns}", f"-Dsize={size}", f"-Dthreads={rng.choice((16, 24, 32))}",
        )  # fmt: skip
        self.upstream = build_upstream("tailor", (f"{self.environment.host_address}:{port}",))
        self.job = self._start_job("copy")
        town.parameters |= {"fittings": port, "send_s": round(self.send_s, 2)}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "tailor")

    def replace_job(self) -> None:
        """Start another release of the job in place of the one that runs."""
        self.environment.stop(self.job)
        self.job = self._start_job("send")

    def _start_job(self, first: str) -> subprocess.Popen[bytes]:
        words = [
            "--file", self.patterns, "--to", self.branch.address, "--first", first,
            "--bytes-per-s", self.patterns.stat().st_size / self.send_s, "--pause-s", self.pause_s,
        ]  # fmt: skip
        return self.environment.on_host(
            [sys.executable, "-B", str(PROGRAMS / "guild" / "share_patterns.py"), *map(str, words)]
        )
