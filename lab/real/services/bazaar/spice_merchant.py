"""A spice merchant: gunicorn with a single process of many threads behind nginx, and a Redis."""

from __future__ import annotations

from pathlib import Path

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.redis import Redis
from lab.real.services.towns.town import Town


class SpiceMerchant:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, release: int) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        port, redis_port = town.take_ports(2)
        spices = rng.randrange(200, 500)
        self.redis = Redis(self.environment, redis_port)
        self.redis.populate(spices, "spice", rng.randrange(60, 400))
        blends, threads = rng.randrange(1_700, 2_300), rng.choice((16, 24, 32))
        self.app = Gunicorn(
            self.environment, port, "bazaar/blends_app.py", address="127.0.0.1", workers=1, threads=threads,
            variables={
                "REDIS_PORT": str(redis_port), "SPICES": str(spices), "BLENDS": str(blends),
                "ROUNDS": str(rng.randrange(300, 900)), "RELEASE": str(release),
            },
        )  # fmt: skip
        self.upstream = build_upstream("spices", (f"127.0.0.1:{port}",))
        town.parameters |= {"blends_port": port, "blends": blends, "blend_threads": threads}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "spices")

    def measure_suggestion(self, count: int) -> float:
        """Return how many seconds of a CPU an answer with suggestions takes."""
        worker = self.app.list_workers()[0]
        before = self._read_cpu_s(worker)
        to = f"{self.app.address}:{self.app.port}"
        self.environment.host_sh(f"curl -s -m 30 -o /dev/null 'http://{to}/blends/[1-{count}]'")
        return (self._read_cpu_s(worker) - before) / count

    @staticmethod
    def _read_cpu_s(pid: int) -> float:
        nanoseconds = (
            int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )
        return sum(nanoseconds) / 1e9

    def replace(self, release: int) -> None:
        """Start another release of the service in place of the one that runs."""
        self.app.restart(RELEASE=str(release))
