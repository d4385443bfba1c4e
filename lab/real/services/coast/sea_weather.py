"""The weather for sailors: php-fpm behind nginx, which asks stations of the coast by their names."""

from __future__ import annotations

import json
import os
import signal
import sys

from lab.load import wait_for
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

IPV6_ADDRESS = 28


class SeaWeather:
    """The services that run, without nginx."""

    def __init__(self, town: Town) -> None:
        """Start the stations, the name server of the company and the service."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        self.station_port, php_port = town.take_ports(2)
        ApiServer(
            environment, environment.client_address, self.station_port, client_side=True,
            delay_ms=rng.uniform(4, 15), work_us=150, answer_bytes=rng.randrange(500, 4_000),
        )  # fmt: skip
        zone = rng.choice(("coast.internal", "stations.example.net", "sea.example.org"))
        self.resolves_here = rng.random() < 0.5
        self._start_names()
        options = rng.choice(("timeout:1 attempts:1", "timeout:1 attempts:1 edns0"))
        server = "127.0.0.1" if self.resolves_here else self.name_server
        file = environment.directory / "resolv.conf"
        file.write_text(f"nameserver {server}\noptions {options}\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")
        children = rng.choice((28, 32, 40))
        variables = {
            "STATION_URL": f'"http://{rng.choice(("buoy", "pier", "mole"))}%d.{zone}:{self.station_port}"',
            "STATIONS": str(rng.randrange(5, 30)), "ROUNDS": str(rng.randrange(300, 900)),
        }  # fmt: skip
        (environment.directory / "srv" / "weather" / "coast").mkdir(parents=True)
        self.php = Php(
            environment, php_port, ("coast/weather.php",),
            PhpSettings(pool="weather", max_children=children, variables=variables),
        )  # fmt: skip
        town.parameters |= {
            "zone": zone, "resolves_here": self.resolves_here, "options": options,
            "children": children,
        }  # fmt: skip

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        script = str(self.php.directory / "coast" / "weather.php")
        return build_fastcgi(location, self.php.address, script)

    def answer_for_ipv6(self, answers: bool) -> None:
        """Let the name server of the company answer queries for IPv6 addresses, or keep silent about them."""
        self._settings.write_text(json.dumps({"silent": [] if answers else [IPV6_ADDRESS]}))
        os.kill(self._names.pid, signal.SIGHUP)

    def _start_names(self) -> None:
        environment = self.environment
        self.name_server = f"{environment.client_address.rpartition('.')[0]}.53"
        environment.client_net.sh(f"ip addr add {self.name_server}/24 dev eth0")
        self._settings = environment.directory / "zone.json"
        self._names = environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "coast" / "zone_server.py"), "--listen", f"{self.name_server}:53",
             "--address", environment.client_address, "--settings", str(self._settings)]
        )  # fmt: skip
        listing = f"ss -Hlun src {self.name_server}:53"
        wait_for(lambda: bool(environment.client_net.sh(listing)), "a name server")
        if self.resolves_here:
            environment.on_host(
                ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.1",
                 "--bind-interfaces", "--pid-file=/run/dnsmasq.pid", "--user=root", f"--server={self.name_server}"]
            )  # fmt: skip
            wait_for(lambda: bool(environment.host_net.sh("ss -Hlun src 127.0.0.1:53")), "dnsmasq")
