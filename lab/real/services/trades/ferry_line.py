"""A ferry line: gunicorn behind nginx, which gets fares from a partner by name, and the partner's name server."""

from __future__ import annotations

import subprocess

from lab.load import wait_for
from lab.real.services.companies.leisure_host import PartnerCompany
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town

NAME_SERVER = "10.80.0.53"
HOST, GATEWAY = "2001:db8:80::1", "2001:db8:80::fe"


def connect_second_protocol(town: Town, network: str) -> None:
    """Give the host an address and a route of version 6. Nothing that is sent to `network` arrives."""
    environment = town.environment
    environment.client_net.sh(
        f"ip -6 addr add {GATEWAY}/64 dev eth0 nodad; ip -6 route add blackhole {network}::/48"
    )
    environment.host_net.sh(
        f"ip -6 addr add {HOST}/64 dev eth0 nodad; ip -6 route add default via {GATEWAY} dev eth0"
    )


class FerryLine:
    """The services that run. `upstream` and `location` are what nginx needs for them."""

    def __init__(self, town: Town, fare_ms: float, connect_s: float) -> None:
        """Start them.

        Args:
            fare_ms: how long the partner takes for a fare.
            connect_s: for how long the application tries an address.
        """
        rng, environment = town.rng, town.environment
        self.environment = environment
        partner_port, app_port = town.take_ports(2)
        self.network = f"2001:db8:{rng.randrange(0x100, 0xFFF):x}"
        connect_second_protocol(town, self.network)
        PartnerCompany(environment, partner_port, fares=(fare_ms, rng.uniform(0.1, 0.2)))
        environment.client_net.sh(f"ip addr add {NAME_SERVER}/24 dev eth0")
        self.zone = rng.choice(("baltic-lines.example", "islands.example", "north-ferries.example"))
        self.name = f"{rng.choice(('fares', 'api', 'booking'))}.{self.zone}"
        self.name_server: subprocess.Popen[bytes] | None = None
        self.publish(environment.client_address)
        file = environment.directory / "resolv.conf"
        file.write_text(f"nameserver {NAME_SERVER}\noptions timeout:{rng.choice((1, 2))} attempts:2\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")
        self.app = Gunicorn(
            environment, app_port, "trades/voyages_app.py", address="127.0.0.1", workers=2, threads=36,
            variables={
                "PARTNER": f"{self.name}:{partner_port}", "CONNECT_S": f"{connect_s:.2f}",
                "ROUNDS": str(rng.randrange(500, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("voyages", (f"127.0.0.1:{app_port}",))
        self.location = build_proxy("/", "voyages")
        town.parameters |= {"fare_ms": round(fare_ms), "connect_s": round(connect_s, 2), "name": self.name}

    def publish(self, *addresses: str) -> None:
        """Let the partner's name server know these addresses of the partner."""
        if self.name_server:
            self.environment.stop(self.name_server)
        self.name_server = self.environment.on_client(
            ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", f"--listen-address={NAME_SERVER}",
             "--bind-interfaces", f"--pid-file={self.environment.directory}/names.pid", "--user=root",
             f"--local=/{self.zone}/", f"--host-record={self.name},{','.join(addresses)}"]
        )  # fmt: skip
        listing = f"ss -Hlun src {NAME_SERVER}:53"
        wait_for(lambda: bool(self.environment.client_net.sh(listing)), "the name server")

    def draw_address(self, town: Town) -> str:
        """Return an address of version 6 of the partner."""
        return f"{self.network}::{town.rng.randrange(0x10, 0xFFFF):x}"
