"""A watchmaker: a Java service behind HAProxy, whose suppliers are on other hosts."""

from __future__ import annotations

from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.java import JavaService
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer


class Watchmaker:
    """The services that run. `threads` is how many requests are answered at a time."""

    def __init__(self, town: Town, release: int) -> None:
        """Start them."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, front, *ports = town.take_ports(4)
        self.threads, self.price_ms = rng.randrange(12, 17), rng.uniform(130, 190)
        suppliers = [
            ApiServer(
                self.environment, self.environment.client_address, number, client_side=True,
                delay_ms=self.price_ms, work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(300, 1_500),
            )
            for number in ports
        ]  # fmt: skip
        self.service = JavaService(self.environment, "bazaar/Repairs.java", port)
        self._options = (
            "-Xmx160m", rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC")), "-Dsun.net.httpserver.nodelay=true",
            f"-Dthreads={self.threads}", f"-Dsuppliers={','.join(supplier.address for supplier in suppliers)}",
            f"-Dwait={rng.randrange(2_000, 3_000)}", f"-Dhttp.maxConnections={2 * self.threads}",
        )  # fmt: skip
        self.service.start(*self._options, f"-Drelease={release}")
        settings = HaproxySettings(
            frontend=rng.choice(("www", "watches")), backend="repairs",
            servers=(f"{self.environment.host_address}:{port}",), server_words="check inter 5s",
        )  # fmt: skip
        self.haproxy = Haproxy(self.environment, front, settings)
        town.parameters |= {"repairs": port, "pool": self.threads, "price_ms": round(self.price_ms, 1)}

    @property
    def pid(self) -> int:
        return self.service.pid

    @property
    def access_log(self) -> str:
        return self.service.access_log

    def draw_rate(self) -> float:
        """Return how many repairs a second occupy more than half of the threads."""
        return self.town.rng.uniform(0.55, 0.61) * self.threads / (2 * self.price_ms / 1000)

    def replace(self, release: int, *options: str) -> None:
        """Start another release of the service in place of the one that runs."""
        self.service.stop()
        self.service.start(*self._options, f"-Drelease={release}", *options)
