"""A mover: a Go service for quotes behind nginx, and depots on another host."""

from __future__ import annotations

from lab.load import wait_for
from lab.real.services.golang import GoService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS


class Mover:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, conns: int, route_s: float, release: int) -> None:
        """Start them.

        Args:
            conns: how many connections the service keeps to the depots.
            route_s: how long a depot takes to plan a route.
        """
        rng, self.environment = town.rng, town.environment
        port, depots_port = town.take_ports(2)
        depots = f"{self.environment.client_address}:{depots_port}"
        self.environment.on_client(
            ["env", "-u", "PYTHONPATH", "/usr/bin/python3", "-B", str(PROGRAMS / "harbor" / "depots.py"), "--listen",
             depots, "--quick-ms", f"{rng.uniform(6, 16):.1f}", "--route-s", f"{route_s:.2f}"]
        )  # fmt: skip
        listing = f"ss -Hltn sport = :{depots_port}"
        wait_for(lambda: bool(self.environment.client_net.sh(listing)), "depots", 20.0)
        self.service = GoService(
            self.environment, "harbor/quotes.go", port, "-depots", depots, "-conns", conns, "-rounds",
            rng.randrange(800, 3_000),
        )  # fmt: skip
        self.options = self.service.options
        self.start(release)
        self.upstream = build_upstream("quotes", (f"{self.environment.host_address}:{port}",))
        town.parameters |= {"quotes": port, "conns": conns, "route_s": round(route_s, 2)}

    @property
    def pid(self) -> int:
        return self.service.pid

    def start(self, release: int) -> None:
        """Start a release of the service."""
        self.service.options = (*self.options, "-release", release)
        self.service.start()

    def replace(self, release: int) -> None:
        """End the release that runs, and start another."""
        self.service.stop()
        self.start(release)

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "quotes")
