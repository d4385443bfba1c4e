"""Anglers: php-fpm behind nginx, a MariaDB that is reached over the network, and a name server of the county."""

from __future__ import annotations

import json
import sys

from lab.load import wait_for
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

TABLES = """
GRANT ALL ON shop.* TO shop@'{network}.%' IDENTIFIED BY 'shop';
CREATE TABLE licenses (id INT AUTO_INCREMENT PRIMARY KEY, angler INT NOT NULL, water INT NOT NULL, year INT NOT NULL,
    KEY angler (angler, year));
INSERT INTO licenses (angler, water, year) SELECT seq % {anglers}, seq % 90, 2010 + seq % 16 FROM seq_1_to_{licenses};
ANALYZE TABLE licenses;
"""
POINTER = 12
SETTING = "skip-name-resolve"


class Anglers:
    """The services that run, without nginx."""

    def __init__(self, town: Town, *, resolves: bool, silent: bool) -> None:
        """Start them.

        resolves: whether MariaDB resolves the name of the address from which a connection comes.
        silent: whether the name server leaves queries for names of addresses unanswered.
        """
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        port, anglers, licenses = (
            town.take_ports(1)[0],
            rng.randrange(3_000, 9_000),
            rng.randrange(30_000, 60_000),
        )
        network = environment.host_address.rpartition(".")[0]
        self._start_names(f"{network}.53", [POINTER] if silent else [])
        file = environment.directory / "resolv.conf"
        options = f"timeout:{rng.choice((1, 2))} attempts:1"
        file.write_text(f"nameserver {network}.53\noptions {options}\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")
        self.mariadb = MariaDb(
            environment, rng, orders=5_000,
            settings={"bind-address": "0.0.0.0", "max_connections": 300, SETTING: int(not resolves)},
        )  # fmt: skip
        self.mariadb.run(TABLES.format(network=network, anglers=anglers, licenses=licenses))
        children = rng.choice((48, 56, 64))
        dsn = f"mysql:host={environment.host_address};port={self.mariadb.port};dbname=shop"
        variables = {
            "DATABASE_DSN": f'"{dsn}"',
            "ANGLERS": str(anglers),
            "ROUNDS": str(rng.randrange(300, 1_500)),
        }
        (environment.directory / "srv" / "anglers" / "county").mkdir(parents=True)
        settings = PhpSettings(pool="anglers", max_children=children, variables=variables)
        self.php = Php(environment, port, ("county/anglers.php",), settings)
        self.script = self.php.directory / "county" / "anglers.php"
        town.parameters |= {
            "anglers_port": port,
            "licenses": licenses,
            "children": children,
            "options": options,
        }

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, str(self.script))

    def look_up_names(self) -> None:
        """Start MariaDB with the settings of a new server, which look up names."""
        self.mariadb.restart(**{SETTING: 0})

    def release_page(self) -> None:
        """Put a page in place that does the same as before."""
        release = self.script.with_suffix(".new")
        release.write_text(self.script.read_text().replace("$answer", "$content"))
        release.replace(self.script)

    def hold_sessions(self, count: int) -> None:
        """Open sessions that do nothing."""
        for _ in range(count):
            self.mariadb.start_session("sleep 600")

    def _start_names(self, address: str, silent: list[int]) -> None:
        environment = self.environment
        environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        settings = environment.directory / "zone.json"
        settings.write_text(json.dumps({"silent": silent}))
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "coast" / "zone_server.py"), "--listen", f"{address}:53",
             "--address", environment.client_address, "--settings", str(settings)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hlun src {address}:53")), "a name server")
