"""A tire dealer: a Go service behind nginx, which reads what suppliers have from their files."""

from __future__ import annotations

from pathlib import Path

from lab.real.services.golang import GoService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town


class TireDealer:
    """The service that runs. `upstream` is what nginx needs for it."""

    def __init__(self, town: Town) -> None:
        """Write the files of suppliers; the service is started by `start`."""
        rng, self.environment = town.rng, town.environment
        self.port, suppliers = town.take_ports(1)[0], rng.randrange(4, 9)
        directory = self.environment.directory / "suppliers"
        directory.mkdir()
        articles = rng.randrange(7_000, 10_000)
        for supplier in range(suppliers):
            lines = (
                f"{article * 37 % articles:06};{155 + article % 12 * 10}/{55 + article % 5 * 5} R{14 + article % 6};"
                f"{rng.randrange(60)};{rng.randrange(3_900, 29_900)}\n"
                for article in range(articles)
            )
            (directory / f"{supplier}.csv").write_text("".join(lines))
        self._options = (
            "-files", directory, "-suppliers", suppliers, "-articles", articles,
            "-rounds", rng.randrange(200, 1_200),
        )  # fmt: skip
        self._release = rng.randrange(20, 60)
        self.address = f"{self.environment.host_address}:{self.port}"
        self.service = GoService(self.environment, "borough/tires.go", self.port)
        self.upstream = build_upstream("tires", (self.address,))
        town.parameters |= {"tires": self.port, "articles": articles, "suppliers": suppliers}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "tires")

    def start(self, change: str = "") -> None:
        """Start the service, with a change that the next release has."""
        release = self._release + bool(change)
        self.service.options = (*self._options, "-release", release, *((change,) if change else ()))
        self.service.start()

    def restart(self, change: str) -> None:
        """Start another release in place of the one that runs."""
        self.service.stop()
        self.start(change)

    def measure_stock(self, count: int) -> float:
        """Return how many seconds of a CPU the service takes for an answer from a file."""
        before = self._read_cpu_s()
        self.environment.host_sh(f"curl -s -m 30 -o /dev/null 'http://{self.address}/stocks/[1-{count}]'")
        return (self._read_cpu_s() - before) / count

    def _read_cpu_s(self) -> float:
        files = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(file.read_text().split()[0]) for file in files) / 1e9
