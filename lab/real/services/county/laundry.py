"""A laundry: three Java services behind HAProxy, which ask a planner of routes on another host."""

from __future__ import annotations

import subprocess
import time

from lab.load import wait_for
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.java import build_classes
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer, start_requests

JVM = (
    "-Xmx96m",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-XX:TieredStopAtLevel=1",
    "-Dsun.net.httpserver.nodelay=true",
)
SERVERS = 3


class Laundry:
    """The services that run."""

    def __init__(self, town: Town, balance: str) -> None:
        """Start them. balance: how HAProxy chooses a server."""
        self.town, rng, environment = town, town.rng, town.environment
        port, planner_port, *ports = town.take_ports(2 + SERVERS)
        self.threads, planner_ms = rng.choice((4, 5)), rng.uniform(420, 520)
        #: How many pickups a second a server can answer.
        self.server_rate = self.threads / (planner_ms / 1000)
        planner = ApiServer(
            environment, environment.client_address, planner_port, client_side=True,
            delay_ms=planner_ms, work_us=rng.uniform(50, 150), answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        classes = build_classes(environment, "county/Laundry.java")
        self.servers: list[subprocess.Popen[bytes]] = []
        for number in ports:
            words = ["127.0.0.1", number, planner.address, self.threads, rng.randrange(200, 900)]
            command = ["java", *JVM, "-cp", str(classes), "Laundry", *map(str, words)]
            self.servers.append(environment.on_host(command))
        for number in ports:
            listing = f"ss -Hltn sport = :{number}"
            wait_for(lambda listing=listing: bool(environment.host_net.sh(listing)), "the laundry", 40.0)
        settings = HaproxySettings(
            frontend="laundry", backend="pickups", servers=tuple(f"127.0.0.1:{number}" for number in ports),
            server_words="check inter 5s", balance=balance,
        )  # fmt: skip
        self.haproxy = Haproxy(environment, port, settings)
        town.parameters |= {"laundry": port, "threads": self.threads, "planner_ms": round(planner_ms)}

    def start_offices(self, count: int, rate: float, paths: list[str]) -> None:
        """Start clients at so many addresses, and measure the healthy phase after a warm-up."""
        environment = self.town.environment
        network = environment.client_address.rpartition(".")[0]
        addresses = [f"{network}.{number}" for number in range(101, 101 + count)]
        for address in addresses:
            environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        options = (
            "--timeout-s",
            4,
            "--range",
            100_000,
            *(word for item in addresses for word in ("--source", item)),
        )
        load = start_requests(environment, self.town.rng, self.haproxy.address, rate, *paths, options=options)
        self.town.load = load
        wait_for(lambda: load.stats()["ok"] > 50, "answers to offices")
        time.sleep(4.0)
        self.town.parameters |= {
            "rate": rate,
            "paths": paths,
            "offices": count,
            "healthy": load.baseline(4.0),
        }
