"""Tours of a ferry company: nginx, a Node service, a Redis, and a gunicorn that works out what the Redis lacks."""

from __future__ import annotations

import random
import subprocess
import time

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.redis import Redis
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live

# Fares change from time to time: what is remembered of a sailing goes.
CHANGES = "while :; do redis-cli -p {port} del fares:$(shuf -n 1 -i 0-{last}) >/dev/null; sleep {pause}; done"


class FerryCompany:
    """The services that run. `parameters` collects what was chosen."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start the software and neighbors; the Redis knows the fares of all sailings."""
        self.environment, self.rng = environment, rng
        self.port, node_port, fares_port, agency_port = draw_ports(rng, 4)
        self.sailings, self.fare_bytes = rng.randrange(1800, 3600), rng.randrange(6_000, 11_000)
        neighbours = start_neighbours(environment, rng)
        agency = ApiServer(
            environment, environment.client_address, agency_port, client_side=True,
            delay_ms=rng.uniform(110, 190), work_us=150, answer_bytes=rng.choice((800, 3000)),
        )  # fmt: skip
        self.gunicorn = Gunicorn(
            environment, fares_port, "ferry_fares_app.py", workers=2, threads=rng.choice((48, 64)), address="127.0.0.1",
            variables={
                "AGENCY_URL": f"http://{agency.address}", "FARE_BYTES": str(self.fare_bytes),
                "ROUNDS": str(rng.randrange(500, 2000)),
            },
        )  # fmt: skip
        options = ("--maxmemory-policy", "allkeys-lru", "--maxmemory-samples", "10")
        self.redis = Redis(environment, rng.choice((6379, 6390, 7100)), *options)
        self.redis.populate(self.sailings, "fares", self.fare_bytes)
        environment.host_sh("mkdir -p /run/tours")
        variables = {
            "ADDRESS": "127.0.0.1", "PORT": node_port, "STORE": self.redis.address, "WORK": rng.randrange(40, 160),
            "FARES": f"http://127.0.0.1:{fares_port}", "SAILINGS": self.sailings, "KEPT_S": rng.choice((3600, 7200)),
            "ACCESS_LOG": "/run/tours/access.log",
        }  # fmt: skip
        self.node: subprocess.Popen[bytes] = environment.on_host(
            [
                "env",
                *(f"{name}={value}" for name, value in variables.items()),
                "node",
                str(PROGRAMS / "tours.mjs"),
            ]
        )
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{node_port}")), "the tours")
        self.nginx = Nginx(
            environment, self.port,
            NginxSettings(
                http_lines=build_upstream("tours", (f"127.0.0.1:{node_port}",)),
                server_lines=build_proxy("/", "tours"),
            ),
        )  # fmt: skip
        words = CHANGES.format(port=self.redis.port, last=self.sailings - 1, pause=rng.choice((2, 3)))
        environment.on_host(["sh", "-c", words])
        self.parameters: dict[str, object] = {
            "port": self.port, "sailings": self.sailings, "fare_bytes": self.fare_bytes, "neighbours": neighbours,
        }  # fmt: skip
        self.healthy: dict[str, float] = {}

    def count_used_bytes(self) -> int:
        """Return the memory that the Redis uses, in bytes."""
        return int(self.redis.run("INFO", "memory").partition("used_memory:")[2].split()[0])

    def start_clients(self, rate: float, paths: list[str], *, warm_s: float = 3.0, range_: int = 0) -> None:
        """Start clients, and measure the healthy phase after a warm-up."""
        self.parameters |= {"rate": rate, "paths": paths}
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths,
            options=("--timeout-s", 4, "--range", range_ or self.sailings),
        )  # fmt: skip
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.healthy = self.load.baseline(4.0)

    def build_live(self, pid: int, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, pid),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, ACCESS_LOG,
            mark=self.load.mark,
        )  # fmt: skip
