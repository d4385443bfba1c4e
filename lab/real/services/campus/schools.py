"""Timetables of schools: a Java service behind nginx."""

from __future__ import annotations

from lab.real.services.java import JavaService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town


class Schools:
    """The service that runs. `upstream` is what nginx needs for it."""

    def __init__(self, town: Town, release: int) -> None:
        """Start a release of the service."""
        rng, environment = town.rng, town.environment
        port, metaspace_mb = town.take_ports(1)[0], rng.randrange(15, 17)
        self.parts = rng.randrange(24, 31)
        self._options = (
            "-Xms448m", "-Xmx448m", "-Xmn96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            f"-XX:MaxMetaspaceSize={metaspace_mb}m",
            "-Dsun.net.httpserver.nodelay=true", f"-Dparts={self.parts}",
            f"-Dlessons={rng.randrange(1_700_000, 2_100_000)}", f"-Dthreads={rng.choice((16, 24, 32))}",
        )  # fmt: skip
        self.service = JavaService(environment, "campus/Timetables.java", port)
        self.start(release)
        self.upstream = build_upstream("timetables", (f"{environment.host_address}:{port}",))
        town.parameters |= {"timetables": port, "parts": self.parts}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "timetables")

    def start(self, release: int) -> None:
        """Start a release of the service."""
        self.service.start(*self._options, f"-Drelease={release}")

    def replace(self, release: int) -> None:
        """End the release that runs, and start another."""
        self.service.stop()
        self.start(release)
