"""Boxes of farms: a Go service behind nginx that looks a carrier's name up for each question, by an office's server."""

from __future__ import annotations

import sys

from lab.load import wait_for
from lab.real.services.golang import GoService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

CONFIGURATION = "nameserver {server}\nsearch {domains}\noptions ndots:{dots} timeout:2 attempts:2\n"
# A board of the office lists the calendar of the head office.
BOARD = "while :; do getent ahostsv4 {name} >/dev/null; sleep {pause_s:.1f}; done"


class Farms:
    """The services that run, without nginx. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, far_ms: float) -> None:
        """Start them. far_ms: how long the name server takes for a name of the head office."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        port, carrier_port = town.take_ports(2)
        carrier = f"{rng.choice(('rates', 'arrivals', 'api'))}.{rng.choice(('eu', 'north'))}.carrier.example"
        company = rng.choice(("boxes.example", "farmboxes.example", "valley.example"))
        self.near = [f"prod.{company}"]
        self.far = [f"hq.{company}", rng.choice((f"office.{company}", "holding.example"))]
        self.dots = rng.choice((4, 5))
        self.server = f"{environment.client_address.rpartition('.')[0]}.{rng.randrange(40, 60)}"
        self._start_names([carrier, f"calendar.{self.far[0]}"], far_ms)
        self.file = environment.directory / "resolv.conf"
        self.search_in(self.near)
        environment.host_sh(f"mount --bind {self.file} /etc/resolv.conf")
        ApiServer(
            environment, environment.client_address, carrier_port, client_side=True,
            delay_ms=rng.uniform(4, 15), work_us=150, answer_bytes=rng.randrange(500, 4_000),
        )  # fmt: skip
        self.service = GoService(
            environment, "valley/boxes.go", port, "-carrier", f"http://{carrier}:{carrier_port}", "-rounds",
            rng.randrange(500, 2_000),
        )  # fmt: skip
        self.service.start()
        self.upstream = build_upstream("boxes", (f"{environment.host_address}:{port}",))
        words = BOARD.format(name=f"calendar.{self.far[0]}.", pause_s=rng.uniform(2, 5))
        environment.on_host(["sh", "-c", words])
        town.parameters |= {"boxes": port, "carrier": carrier, "far_ms": round(far_ms), "dots": self.dots}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "boxes")

    def search_in(self, domains: list[str]) -> None:
        """Let the resolver try a name in these domains first, as a new lease of the network sets it."""
        self.file.write_text(
            CONFIGURATION.format(server=self.server, domains=" ".join(domains), dots=self.dots)
        )

    def _start_names(self, names: list[str], far_ms: float) -> None:
        environment = self.environment
        environment.client_net.sh(f"ip addr add {self.server}/24 dev eth0")
        words = [word for name in names for word in ("--name", name)]
        words += [word for domain in self.far for word in ("--far", f"{domain}={far_ms:.0f}")]
        program = str(PROGRAMS / "valley" / "office_names.py")
        environment.on_client(
            [sys.executable, "-B", program, "--listen", f"{self.server}:53", "--address", environment.client_address,
             *words]
        )  # fmt: skip
        listing = f"ss -Hlun src {self.server}:53"
        wait_for(lambda: bool(environment.client_net.sh(listing)), "the names of the office")
