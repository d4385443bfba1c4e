"""A logistics company: a Node program behind nginx that shows notices and reports events to hosts of customers."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.node import NodeService
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live

ZONES = ("northwind.example", "acme-tools.example", "bluebird.example", "kestrel.example", "orchard.example")
OURS, THEIRS = "10.80.0.53", "10.80.0.58"


class Zones:
    """Name servers of customers on the clients' side, and the dnsmasq of the host that asks them."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start them, and let the host resolve its names with dnsmasq."""
        self.environment = environment
        self.zones = rng.sample(ZONES, rng.randrange(4, 6))
        self.theirs = rng.choice(self.zones)
        self.servers = {address: self._start_server(address) for address in (OURS, THEIRS)}
        environment.on_host(
            ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.1",
             "--bind-interfaces", "--pid-file=/run/dnsmasq.pid", "--user=root", f"--cache-size={rng.choice((0, 500))}",
             f"--server={OURS}", f"--server=/{self.theirs}/{THEIRS}"]
        )  # fmt: skip
        wait_for(lambda: bool(environment.host_net.sh("ss -Hlun src 127.0.0.1:53")), "dnsmasq")
        file = environment.directory / "resolv.conf"
        options = rng.choice(("timeout:2 attempts:2", "timeout:3 attempts:1", "timeout:1 attempts:3"))
        file.write_text(f"nameserver 127.0.0.1\noptions {options}\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")

    def change_theirs(self, **settings: object) -> None:
        """Let the name server of this customer answer in another way."""
        (self.environment.directory / f"zone-{THEIRS}.json").write_text(json.dumps(settings))
        os.kill(self.servers[THEIRS], signal.SIGHUP)

    def _start_server(self, address: str) -> int:
        environment = self.environment
        environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        server = environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "name_server.py"), "--listen", f"{address}:53",
             "--address", environment.client_address, "--settings", str(environment.directory / f"zone-{address}.json")]
        )  # fmt: skip
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hlun src {address}:53")), "a name server")
        return server.pid


class Logistics:
    """The services that run. `parameters` collects what was chosen."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start name servers, the hosts of customers, Node, nginx and neighbors."""
        self.environment, self.rng = environment, rng
        port, node_port, hook_port, tracking_port = draw_ports(rng, 4)
        self.zones = Zones(environment, rng)
        ApiServer(
            environment, environment.client_address, hook_port, client_side=True,
            delay_ms=rng.uniform(20, 60), work_us=100, answer_bytes=200,
        )  # fmt: skip
        ApiServer(
            environment, environment.client_address, tracking_port, client_side=True,
            delay_ms=rng.uniform(3, 9), work_us=150, answer_bytes=rng.randrange(300, 3000),
        )  # fmt: skip
        self.node = NodeService(environment, "notices.mjs", node_port)
        notices = rng.randrange(40, 200)
        for number in range(notices):
            text = f"<h1>Notice {number}</h1>" + "<p>The gate is open.</p>" * rng.randrange(20, 200)
            (self.node.directory / f"notice-{number}.html").write_text(text)
        self.node.write_settings(
            directory=str(self.node.directory), notices=notices, timeout_ms=rng.choice((5000, 10_000)),
            tracking=f"{rng.choice(('tracking', 'parcels'))}.depot.internal:{tracking_port}",
            customers=[f"hooks.{zone}:{hook_port}" for zone in self.zones.zones],
        )  # fmt: skip
        self.node.start()
        lines = NginxSettings(
            http_lines=build_upstream("notices", (f"{environment.host_address}:{node_port}",)),
            server_lines=build_proxy("/", "notices"),
        )
        self.nginx = Nginx(environment, port, lines)
        self.parameters: dict[str, object] = {
            "port": port, "zones": len(self.zones.zones), "neighbours": start_neighbours(environment, rng),
        }  # fmt: skip

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        rng = self.rng
        paths = (
            ["/events/{n}"] * rng.randrange(2, 4)
            + ["/notices/{n}"] * rng.randrange(3, 6)
            + ["/health/{n}"] * rng.randrange(1, 3)
        )
        self.load: Load = start_requests(
            self.environment, rng, self.nginx.address, rate, *paths, options=("--timeout-s", 4)
        )
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(3.0)
        self.parameters |= {"rate": rate, "paths": paths, "healthy": self.load.baseline(4.0)}

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, self.node.pid),
            self.parameters | parameters, self.load.stats, ACCESS_LOG, mark=self.load.mark,
        )  # fmt: skip
