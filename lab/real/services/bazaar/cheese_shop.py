"""A cheese shop: nginx and Node on this host, behind an edge that is on another one and passes visitors on."""

from __future__ import annotations

import subprocess

from lab.load import wait_for
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

EDGE_PORT = 80
EDGE = """
global
    maxconn 4000
    nbthread 1
defaults
    mode http
    timeout connect 3s
    timeout client 30s
    timeout server 30s
frontend visitors
    bind {address}:{port} backlog 1024
    http-request set-header X-Forwarded-For {network}.%[rand(250)].%[rand(250)]
    default_backend shop
backend shop
    http-reuse safe
    server shop1 {to} source {source} maxconn 400
"""
LIMITS = """
    real_ip_header X-Forwarded-For;
    set_real_ip_from {edges};
    limit_conn_zone $binary_remote_addr zone=visitors:2m;
    limit_conn_status {status};
    limit_conn visitors {most};
"""


class CheeseShop:
    """The services that run. `upstream` is what nginx needs for them, `most` the requests of an address at a time."""

    def __init__(self, town: Town) -> None:
        """Start Node, and the store on another host."""
        rng, self.environment = town.rng, town.environment
        self.town, self.edge_address = town, f"10.80.0.{rng.randrange(60, 90)}"
        port, store_port = town.take_ports(2)
        self.status, self.store_ms = rng.choice((429, 503)), rng.uniform(170, 260)
        store = ApiServer(
            self.environment, self.environment.client_address, store_port, client_side=True,
            delay_ms=self.store_ms, work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        self.access_log = str(self.environment.directory / "cheeses.log")
        variables = {
            "ADDRESS": "127.0.0.1", "PORT": port, "STORE": store.address, "WORK": rng.randrange(10, 60),
            "ACCESS_LOG": self.access_log,
        }  # fmt: skip
        command = ["env", *(f"{name}={value}" for name, value in variables.items()),
                   "node", str(PROGRAMS / "bazaar" / "cheeses.mjs")]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the cheeses", 40.0)
        self.upstream = build_upstream("cheeses", (f"127.0.0.1:{port}",))
        self.most = rng.randrange(4, 7)
        town.parameters |= {"cheeses": port, "most": self.most, "store_ms": round(self.store_ms, 1)}

    @property
    def pid(self) -> int:
        return self.server.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "cheeses")

    def build_limits(self, edges: str) -> str:
        """Return what nginx allows visitors, whose addresses it takes from `edges`."""
        return self.upstream + LIMITS.format(edges=edges, status=self.status, most=self.most)

    def start_edge(self, to: str) -> str:
        """Start the edge in front of `to`. Returns the address for visitors."""
        rng, net = self.town.rng, self.environment.client_net
        net.sh(f"ip addr add {self.edge_address}/24 dev eth0")
        file = self.environment.directory / "edge.cfg"
        file.write_text(EDGE.format(
            address=self.environment.client_address, port=EDGE_PORT, to=to, source=self.edge_address,
            network=f"{rng.randrange(60, 120)}.{rng.randrange(1, 250)}",
        ))  # fmt: skip
        self.environment.on_client(["haproxy", "-db", "-f", str(file)])
        listing = f"ss -Hltn sport = :{EDGE_PORT}"
        wait_for(lambda: bool(net.sh(listing)), "the edge")
        return f"{self.environment.client_address}:{EDGE_PORT}"
