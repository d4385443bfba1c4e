"""Maps of trails: a Varnish in front of the program that draws them, and the line to hikers."""

from __future__ import annotations

from lab.network import Namespace
from lab.real.services.daemons.lighttpd import Lighttpd
from lab.real.services.daemons.varnish import Varnish
from lab.real.services.towns.town import Town

LINE = "tc qdisc replace dev eth1 root tbf rate {mbit}mbit burst {burst} limit {limit}"


class TrailMaps:
    """The maps. `varnish` serves them; the router that was inserted into the environment is the line's."""

    def __init__(self, town: Town, router: Namespace, mbit_per_s: int) -> None:
        """Start the services. mbit_per_s: what the line takes."""
        self.town, self.environment, self.router, self.mbit_per_s = town, town.environment, router, mbit_per_s
        rng = town.rng
        port, origin_port = town.take_ports(2)
        self.maps, low, high = (
            rng.randrange(60, 120),
            rng.randrange(30_000, 60_000),
            rng.randrange(160_000, 280_000),
        )
        sizes = [rng.randrange(low, high) for _ in range(self.maps)]
        self.mean_bytes = sum(sizes) / self.maps
        files = {f"maps/{number}.png": rng.randbytes(size) for number, size in enumerate(sizes)}
        files |= {f"account/{number}.html": rng.randbytes(2_000) for number in range(self.maps)}
        origin = Lighttpd(self.environment, origin_port, files)
        self.varnish = Varnish(
            self.environment,
            port,
            origin.address,
            storage_mb=rng.randrange(64, 120),
            ttl_s=rng.choice((300, 900)),
        )
        town.parameters |= {"maps": self.maps, "port": port, "mbit_per_s": mbit_per_s}

    @property
    def address(self) -> str:
        return self.varnish.address

    @property
    def pid(self) -> int:
        """The first process of Varnish."""
        return self.varnish.pid

    def move_line(self, burst: int, limit: int) -> None:
        """Let packets to hikers take a line that sends so many bytes at once and keeps so many waiting."""
        self.router.sh(LINE.format(mbit=self.mbit_per_s, burst=burst, limit=limit))

    def draw_rate(self, low: float, high: float) -> float:
        """Return how many requests a second take between these shares of the line."""
        return self.mbit_per_s * self.town.rng.uniform(low, high) * 1e6 / 8 / (self.mean_bytes * 0.75)

    def draw_paths(self) -> list[str]:
        """Return what hikers request: three maps for each page of an account."""
        return ["/maps/{n}.png"] * 3 + ["/account/{n}.html"]
