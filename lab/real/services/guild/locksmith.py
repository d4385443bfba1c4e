"""A locksmith: a Node service behind nginx, which reads from a depot through nginx with TLS."""

from __future__ import annotations

import datetime
import subprocess

from lab.load import wait_for
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.trades.insurer import Authority
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

DEPOT = """
    server {{
        listen {address}:{port} ssl;
        server_name {name};
        ssl_certificate {certificate};
        ssl_certificate_key {certificate};
        location / {{ proxy_pass http://{depot}; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    }}
"""


class Locksmith:
    """The services that run. `http_lines` is what nginx needs for them."""

    def __init__(self, town: Town, rest_days: float) -> None:
        """Start them. rest_days: for how long the certificate of the depot is valid from now on."""
        rng, self.environment = town.rng, town.environment
        port, tls_port, depot_port = town.take_ports(3)
        company = rng.choice(("oakgate", "ironhall", "brassworks"))
        name = f"depot.{company}.internal"
        directory = self.environment.directory / "pki"
        directory.mkdir()
        self.name, self.days = name, rng.choice((90, 180, 365))
        self.authority = Authority(directory, f"{company} services")
        self.certificate = directory / "depot.pem"
        self.write_certificate(datetime.timedelta(days=rest_days))
        depot = ApiServer(
            self.environment, self.environment.client_address, depot_port, client_side=True,
            delay_ms=rng.uniform(5, 30), work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        address = self.environment.host_address
        words = {
            "ADDRESS": address, "PORT": str(port), "DEPOT_PORT": str(tls_port), "DEPOT_NAME": name,
            "AUTHORITY": str(self.authority.file), "WORK": str(rng.randrange(10, 60)),
        }  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["env", *(f"{key}={value}" for key, value in words.items()), "node",
             str(PROGRAMS / "guild" / "calls.mjs")]
        )  # fmt: skip
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the calls", 40.0)
        self.http_lines = build_upstream("locksmith", (f"{address}:{port}",)) + DEPOT.format(
            address=address, port=tls_port, name=name, certificate=self.certificate, depot=depot.address
        )
        town.parameters |= {"calls": port, "depot": tls_port}

    @property
    def pid(self) -> int:
        return self.server.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "locksmith")

    def write_certificate(self, rest: datetime.timedelta) -> None:
        """Put a certificate in place that is valid for so long from now on. nginx reads it at a reload."""
        begins = datetime.datetime.now(datetime.UTC) + rest - datetime.timedelta(days=self.days)
        self.certificate.write_bytes(self.authority.issue(self.name, begins, self.days))
