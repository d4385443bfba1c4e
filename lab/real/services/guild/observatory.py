"""An observatory: a Go service behind nginx that counts names of catalogs in its sights."""

from __future__ import annotations

from pathlib import Path

from lab.real.services.golang import GoService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town


class Observatory:
    """The service that runs. `upstream` is what nginx needs for it."""

    def __init__(self, town: Town, release: int) -> None:
        """Start a release of the service."""
        rng, self.environment = town.rng, town.environment
        port, self.names = town.take_ports(1)[0], rng.randrange(500, 800)
        self.service = GoService(self.environment, "guild/sights.go", port)
        self._start(release)
        self.upstream = build_upstream("sights", (f"{self.environment.host_address}:{port}",))
        town.parameters |= {"sights": port, "names": self.names}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "sights")

    def measure_sight(self, count: int) -> float:
        """Return how many seconds of a CPU a description of a sight takes."""
        before = self._read_cpu_s()
        to = f"{self.environment.host_address}:{self.service.port}"
        self.environment.host_sh(f"curl -s -m 30 -o /dev/null 'http://{to}/sights/[1-{count}]'")
        return (self._read_cpu_s() - before) / count

    def replace(self, release: int) -> None:
        """Start another release of the service in place of the one that runs."""
        self.service.stop()
        self._start(release)

    def _start(self, release: int) -> None:
        self.service.options = ("-release", release, "-names", self.names)
        self.service.start()

    def _read_cpu_s(self) -> float:
        files = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(file.read_text().split()[0]) for file in files) / 1e9
