"""The seats of a cinema: a Node service with a Redis."""

from __future__ import annotations

import subprocess

from lab.load import wait_for
from lab.real.services.redis import Redis
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

SCREENS = "for n in $(seq {count}); do exec {{fd}}<>/dev/tcp/127.0.0.1/{port}; done; sleep infinity"


class Cinema:
    """The services that run. `clients` is how many connections Redis accepts."""

    def __init__(
        self, town: Town, clients: int, screens: int, release: int, address: str = "127.0.0.1"
    ) -> None:
        """Start them.

        Args:
            screens: how many displays keep a connection to Redis.
            address: what Node listens on.
        """
        rng, self.environment = town.rng, town.environment
        self.clients = clients
        self.port, redis_port = town.take_ports(2)
        self.redis = Redis(self.environment, redis_port, "--maxclients", str(clients))
        self.redis.populate(200, "film", rng.randrange(200, 1_500))
        self.environment.on_host(["bash", "-c", SCREENS.format(count=screens, port=redis_port)])
        self.access_log = str(self.environment.directory / "seats.log")
        self.address = f"{address}:{self.port}"
        self.variables = {
            "ADDRESS": address, "PORT": str(self.port), "REDIS": self.redis.address,
            "SEATS": str(rng.randrange(120, 240)), "WORK": str(rng.randrange(10, 60)), "ACCESS_LOG": self.access_log,
        }  # fmt: skip
        self.start(release)
        town.parameters |= {"seats": self.port, "clients": clients, "screens": screens}

    def start(self, release: int) -> None:
        """Start a release of the service."""
        variables = {**self.variables, "RELEASE": str(release)}
        command = ["env", *(f"{name}={value}" for name, value in variables.items()),
                   "node", str(PROGRAMS / "trades" / "seats.mjs")]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        listing = f"ss -Hltn sport = :{self.port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the seats", 40.0)

    def replace(self, release: int) -> None:
        """Start another release in place of the one that runs."""
        self.environment.stop(self.server)
        self.start(release)

    def count_connections(self) -> int:
        """Return how many connections Redis has."""
        listing = f"ss -Htn state established sport = :{self.redis.port}"
        return len(self.environment.host_net.sh(listing).splitlines())
