"""A maker of paints: a Java service behind HAProxy, with the recipes of all tints in memory."""

from __future__ import annotations

import os
from pathlib import Path

from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.java import JavaService
from lab.real.services.towns.town import Town


class PaintMaker:
    """The services that run."""

    def __init__(self, town: Town, release: int, bases: int, tints_of_a_base: int, parts: int) -> None:
        """Start them. parts: of how many tints a mixture consists."""
        rng, environment = town.rng, town.environment
        self.port, front = town.take_ports(2)
        self.service = JavaService(environment, "harbor/Mixtures.java", self.port)
        heap_mb = rng.choice((192, 256, 320))
        collector = rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"))
        self.options = [
            f"-Xmx{heap_mb}m", f"-Xms{heap_mb}m", collector, "-Dsun.net.httpserver.nodelay=true",
            f"-Dthreads={rng.choice((16, 24, 32))}", f"-Dbases={bases}", f"-Dtints={bases * tints_of_a_base}",
            f"-Dparts={parts}",
        ]  # fmt: skip
        self.environment = environment
        self.start(release)
        settings = HaproxySettings(
            frontend=rng.choice(("www", "paints")), backend="mixtures",
            servers=(f"{environment.host_address}:{self.port}",), server_words="check inter 4s",
        )  # fmt: skip
        self.haproxy = Haproxy(environment, front, settings)
        town.parameters |= {"mixtures": self.port, "words": self.options}

    @property
    def pid(self) -> int:
        return self.service.pid

    @property
    def access_log(self) -> str:
        return self.service.access_log

    def start(self, release: int) -> None:
        """Start a release of the service."""
        self.service.start(*self.options, f"-Drelease={release}")

    def replace(self, release: int) -> None:
        """End the release that runs, and start another."""
        self.service.stop()
        self.start(release)

    def measure_mixture(self, count: int) -> float:
        """Return the seconds of a CPU that a mixture takes, once the JVM has compiled what it does."""
        self._read_mixtures(1, count)
        before = self._read_cpu_s()
        self._read_mixtures(count + 1, 2 * count)
        return (self._read_cpu_s() - before) / count

    def _read_mixtures(self, first: int, last: int) -> None:
        address = f"{self.environment.host_address}:{self.port}/mixtures"
        self.environment.client_net.sh(f"curl -s -m 30 -o /dev/null 'http://{address}/[{first}-{last}]'")

    def _read_cpu_s(self) -> float:
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
