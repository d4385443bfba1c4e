"""A publisher of maps: a Java service behind nginx, with its routes in memory."""

from __future__ import annotations

from lab.real.services.java import JavaService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town


class MapPublisher:
    """The service that runs. `upstream` is what nginx needs for it."""

    #: What a route takes in the heap.
    ROUTE_BYTES = 830

    def __init__(self, town: Town, release: int, heap_share: float, buffers_mb: int) -> None:
        """Start it.

        Args:
            heap_share: which part of the heap the routes take.
            buffers_mb: how much memory the service may have in buffers outside of the heap.
        """
        rng, environment = town.rng, town.environment
        port = town.take_ports(1)[0]
        heap_mb = rng.choice((448, 512, 576))
        collector = rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"))
        self.service = JavaService(environment, "valley/Sheets.java", port)
        self.options = [
            f"-Xmx{heap_mb}m", f"-Xms{heap_mb}m", collector, f"-XX:MaxDirectMemorySize={buffers_mb}m",
            "-Dsun.net.httpserver.nodelay=true", f"-Dthreads={rng.choice((24, 32, 40))}",
            f"-Dpixels={rng.randrange(900, 1_400) * 1024}",
            f"-Droutes={round(heap_mb * heap_share * (1 << 20) / self.ROUTE_BYTES)}",
        ]  # fmt: skip
        self.start(release)
        self.upstream = build_upstream("maps", (f"{environment.host_address}:{port}",))
        town.parameters |= {
            "maps": port, "heap_mb": heap_mb, "buffers_mb": buffers_mb, "collector": collector,
            "words": self.options[5:],
        }  # fmt: skip

    @property
    def pid(self) -> int:
        return self.service.pid

    def start(self, release: int) -> None:
        """Start a release of the service."""
        self.service.start(*self.options, f"-Drelease={release}")

    def replace(self, release: int) -> None:
        """End the release that runs, and start another."""
        self.service.stop()
        self.start(release)

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "maps")
