"""A shop for hampers: gunicorn behind nginx, which passes questions about deliveries on to a courier."""

from __future__ import annotations

import signal

from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer


class HamperShop:
    """The services that run."""

    def __init__(self, town: Town) -> None:
        """Start them, and the courier at the first of its addresses."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        port, self.courier_port = town.take_ports(2)
        company = rng.choice(("swift", "north", "blue"))
        self.name = f"{rng.choice(('tracking', 'api', 'status'))}.{company}courier.example"
        network = environment.client_address.rpartition(".")[0]
        self.addresses = [f"{network}.{number}" for number in rng.sample(range(20, 200), 2)]
        for address in self.addresses:
            environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        self._settings = {
            "delay_ms": rng.uniform(15, 40), "work_us": rng.uniform(100, 300),
            "answer_bytes": rng.randrange(300, 2_000),
        }  # fmt: skip
        self.courier = self._start_courier(self.addresses[0])
        self.names = environment.directory / "names"
        self._write_name(self.addresses[0])
        self.resolver = environment.on_host(
            ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.1",
             "--bind-interfaces", "--pid-file=/run/dnsmasq.pid", "--user=root", f"--addn-hosts={self.names}",
             f"--local-ttl={rng.choice((30, 60))}"]
        )  # fmt: skip
        wait_for(lambda: bool(environment.host_net.sh("ss -Hlun src 127.0.0.1:53")), "dnsmasq")
        file = environment.directory / "resolv.conf"
        file.write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:2\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")
        self.app = Gunicorn(
            environment, port, "borough/hampers_app.py", address="127.0.0.1", workers=2, threads=rng.choice((6, 8)),
            variables={"COURIER": f"{self.name}:{self.courier_port}", "ROUNDS": str(rng.randrange(500, 2_000))},
        )  # fmt: skip
        self._shop = build_upstream("hampers", (f"127.0.0.1:{port}",))
        town.parameters |= {
            "hampers": port,
            "courier": f"{self.name}:{self.courier_port}",
            "at": self.addresses,
        }

    def build_upstreams(self, *others: str) -> str:
        """Return what nginx needs, with `others` as further servers of the courier."""
        return self._shop + build_upstream("courier", (f"{self.name}:{self.courier_port}", *others))

    def build_locations(self) -> str:
        """Return the locations of nginx."""
        return build_proxy("/deliveries/", "courier") + build_proxy("~ ^/(hampers|parcels)/", "hampers")

    def move_courier(self) -> None:
        """Let the courier serve at its other address, and no longer at the first; its name follows."""
        former, self.courier = self.courier, self._start_courier(self.addresses[1])
        self._write_name(self.addresses[1])
        self.resolver.send_signal(signal.SIGHUP)
        self.environment.stop(former.server)

    def _write_name(self, address: str) -> None:
        self.names.write_text(f"{address} {self.name}\n")

    def _start_courier(self, address: str) -> ApiServer:
        return ApiServer(self.environment, address, self.courier_port, client_side=True, **self._settings)
