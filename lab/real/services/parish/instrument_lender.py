"""A lender of instruments: a Java service behind nginx, an office that values instruments, and suppliers of rates."""

from __future__ import annotations

import subprocess

from lab.real.services.java import JavaService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer, start_requests

FEED = """
n={first}; while :; do sleep {pause_s:.2f}; n=$(( n * 31 % 99991 ))
curl -s -m 8 -o /dev/null http://{address}/rates/$n/$(( 900 + n % 6000 )); done
"""


class InstrumentLender:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, pause_s: float) -> None:
        """Start them. pause_s: how long suppliers wait before they send a rate."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, partner_port = town.take_ports(2)
        self.value_ms = rng.uniform(420, 650)
        partner = ApiServer(
            self.environment, self.environment.client_address, partner_port, client_side=True,
            delay_ms=self.value_ms, work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        self.service = JavaService(self.environment, "parish/Loans.java", port)
        self.service.start(
            "-Xmx128m", rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC")), "-Dsun.net.httpserver.nodelay=true",
            f"-Dpartner={partner.address}", f"-Dinstruments={rng.randrange(1_000, 9_000)}",
            f"-Dthreads={rng.choice((80, 96, 120))}", f"-Drounds={rng.randrange(200, 1_500)}",
        )  # fmt: skip
        self.address = f"{self.environment.host_address}:{port}"
        self.upstream = build_upstream("loans", (self.address,))
        self._feed = self._start_feed(pause_s)
        town.parameters |= {"loans": port, "value_ms": round(self.value_ms, 1)}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "loans")

    def start_office(self, rate: float) -> None:
        """Let an office have so many instruments valued a second."""
        start_requests(self.environment, self.town.rng, self.address, rate, "/inventories/{n}")

    def replace_feed(self, pause_s: float) -> None:
        """Let suppliers send rates at another pace from now on."""
        self.environment.stop(self._feed)
        self._feed = self._start_feed(pause_s)

    def _start_feed(self, pause_s: float) -> subprocess.Popen[bytes]:
        words = FEED.format(first=self.town.rng.randrange(2, 90_000), pause_s=pause_s, address=self.address)
        return self.environment.on_host(["sh", "-c", words])
