"""A surveyor: a Node service behind nginx, which compresses maps for an edge on another host."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.load import wait_for
from lab.real.services.nginx import Nginx, build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

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
    http-request set-header Accept-Encoding gzip
    default_backend site
backend site
    http-reuse safe
    server site1 {to} maxconn 400
"""
COMPRESSION = """
    gzip on; gzip_types application/json text/css application/javascript; gzip_comp_level {level};
    gzip_proxied any; gzip_http_version 1.0; gzip_min_length 1000; proxy_buffers 32 64k; proxy_max_temp_file_size 0;
"""


class Surveyor:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start Node."""
        rng, self.environment = town.rng, town.environment
        port = town.take_ports(1)[0]
        self.access_log = str(self.environment.directory / "parcels.log")
        variables = {
            "ADDRESS": self.environment.host_address, "PORT": port, "MAPS": rng.randrange(12, 30),
            "POINTS": rng.randrange(24_000, 40_000), "WORK": rng.randrange(10, 60), "ACCESS_LOG": self.access_log,
        }  # fmt: skip
        command = ["env", *(f"{name}={value}" for name, value in variables.items()),
                   "node", str(PROGRAMS / "parish" / "parcels.mjs")]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the parcels", 40.0)
        self.upstream = build_upstream("parcels", (f"{self.environment.host_address}:{port}",))
        town.parameters |= {"parcels": port, "points": variables["POINTS"]}

    @property
    def pid(self) -> int:
        return self.server.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "parcels")

    def build_lines(self, level: int) -> str:
        """Return what nginx needs for the upstream, and how it compresses answers."""
        return self.upstream + COMPRESSION.format(level=level)

    def measure_map(self, nginx: Nginx, count: int) -> float:
        """Return how many seconds of a CPU nginx takes for a map that it compresses."""
        before = _read_cpu_s(nginx.list_workers())
        words = "curl -s -m 30 -o /dev/null -H 'Accept-Encoding: gzip'"
        self.environment.host_sh(f"{words} 'http://{nginx.address}/parcels/[1-{count}]'")
        return (_read_cpu_s(nginx.list_workers()) - before) / count

    def start_edge(self, to: str) -> str:
        """Start the edge in front of `to`. Returns the address for visitors."""
        net, address = self.environment.client_net, self.environment.client_address
        file = self.environment.directory / "edge.cfg"
        file.write_text(EDGE.format(address=address, port=EDGE_PORT, to=to))
        self.environment.on_client(["haproxy", "-db", "-f", str(file)])
        listing = f"ss -Hltn sport = :{EDGE_PORT}"
        wait_for(lambda: bool(net.sh(listing)), "the edge")
        return f"{address}:{EDGE_PORT}"


def _read_cpu_s(pids: list[int]) -> float:
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e9
