"""A tea shop: a Java service behind nginx, with a Redis, and a relay of its events on another host."""

from __future__ import annotations

import json
import sys

from lab.load import wait_for
from lab.real.services.java import JavaService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.redis import Redis
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS


class TeaShop:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        port, redis_port, relay_port = town.take_ports(3)
        self.redis = Redis(self.environment, redis_port)
        self.redis.populate(200, "tea", rng.randrange(300, 1_500))
        self._settings = self.environment.directory / "relay.json"
        self.store_in(rng.uniform(1, 3))
        relay = f"{self.environment.client_address}:{relay_port}"
        program = str(PROGRAMS / "square" / "event_relay.py")
        self.environment.on_client(
            [sys.executable, "-B", program, "--listen", relay, "--settings", str(self._settings)]
        )
        listing = f"ss -Hltn sport = :{relay_port}"
        wait_for(lambda: bool(self.environment.client_net.sh(listing)), "a relay", 20.0)
        self.service = JavaService(self.environment, "square/Baskets.java", port)
        lines, threads = rng.randrange(180, 260), rng.choice((48, 56, 64))
        self.service.start(
            "-Xmx128m", rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC")), "-Dsun.net.httpserver.nodelay=true",
            f"-Dthreads={threads}", f"-Dredis={redis_port}", f"-Devents={relay}", f"-Dlines={lines}",
            f"-Dwait={rng.randrange(900, 1_400)}",
        )  # fmt: skip
        self.upstream = build_upstream("teas", (f"{self.environment.host_address}:{port}",))
        town.parameters |= {"teas": port, "lines": lines, "tea_threads": threads}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "teas")

    def store_in(self, milliseconds: float) -> None:
        """Let the relay take so long for an event."""
        self._settings.with_suffix(".new").write_text(json.dumps({"store_ms": milliseconds}))
        self._settings.with_suffix(".new").replace(self._settings)
