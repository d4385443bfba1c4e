"""The archive of a library: nginx, php-fpm, a PostgreSQL on a volume of its own, and clients."""

from __future__ import annotations

import random
import time
from pathlib import Path

from lab.application import DATA, LabApplication
from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.postgres import UNPRIVILEGED_UID, PostgresServer
from lab.real.services.web_neighbours import choose_scope, draw_ports, start_neighbours, start_requests
from lab.scenario import Live

# A job of the library: readings of its sensors, of which the last ones stay until a partner has fetched them.
READINGS = """
number=0
while :; do
    stay=$(cat "$1"); number=$((number + 1))
    head -c {megabytes}M /dev/urandom >"$0/readings-$number.bin"
    rm -f "$0/readings-$((number - stay)).bin"
    sleep {pause}
done
"""


class Library:
    """The archive that runs. `image` is the file beneath its volume; `parameters` collects what was chosen."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, volume_mb: int, settings: dict[str, object],
        orders: int, note_words: int = 2,
    ) -> None:  # fmt: skip
        """Create the volume; start PostgreSQL, php-fpm, nginx and neighbors.

        settings: lines of postgresql.conf. orders: how many documents; note_words: the size of each, in 32 bytes.
        """
        self.environment, self.rng = environment, rng
        self.port, php_port = draw_ports(rng, 2)
        self.application = LabApplication(environment, rng)
        self.image = self.application.disk(volume_mb)
        environment.host_sh(f"chown {UNPRIVILEGED_UID}:{UNPRIVILEGED_UID} {DATA}")
        children = rng.choice((16, 24, 32))
        self.postgres = PostgresServer(
            environment, rng, directory=f"{DATA}/main", settings={"max_connections": children + 30} | settings,
            orders=orders, note_words=note_words,
        )  # fmt: skip
        variables = {
            "DATABASE_DSN": f'"pgsql:host=127.0.0.1;port={self.postgres.port};dbname=postgres"',
            "DOCUMENTS": str(self.postgres.sizes["orders"]), "PRODUCTS": str(self.postgres.sizes["products"]),
            "CUSTOMERS": str(self.postgres.sizes["customers"]),
        }  # fmt: skip
        pool = PhpSettings(pool="archive", max_children=children, variables=variables)
        self.php = Php(environment, php_port, ("archive.php",), pool)
        location = build_fastcgi("/", self.php.address, str(self.php.directory / "archive.php"))
        self.nginx = Nginx(environment, self.port, NginxSettings(server_lines=location))
        self.healthy: dict[str, float] = {}
        self.parameters: dict[str, object] = {
            "port": self.port, "children": children, **self.postgres.sizes,
            "neighbours": start_neighbours(environment, rng),
        }  # fmt: skip

    def start_clients(self, rate: float, paths: list[str]) -> None:
        """Start clients, and wait until they have answers."""
        self.parameters |= {"rate": rate, "paths": paths}
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths,
            options=("--timeout-s", 4, "--range", 1_000_000),
        )  # fmt: skip
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")

    def measure_baseline(self, warm_s: float = 3.0) -> None:
        """Measure the healthy phase after a warm-up."""
        time.sleep(warm_s)
        self.healthy = self.load.baseline(4.0)

    def start_readings(self, stay: int, megabytes: int, pause_s: float) -> tuple[str, Path]:
        """Start the job, which keeps `stay` files in memory. Return its directory, and the file with `stay`."""
        directory = self.rng.choice(("/var/tmp/readings", "/run/readings", "/run/export"))
        self.environment.host_sh(f"mkdir {directory}")
        file = self.environment.directory / "stay"
        file.write_text(str(stay))
        words = READINGS.format(megabytes=megabytes, pause=pause_s)
        self.environment.on_host(["sh", "-c", words, directory, str(file)])
        return directory, file

    def count_requests(self) -> int:
        """Return how many requests the volume has completed: reads, writes and flushes."""
        device = self.application.loop_device()
        words = self.environment.host_sh(f"cat /sys/dev/block/{device}/stat").split()
        return sum(int(words[index]) for index in (0, 4, 15))

    def build_live(self, pid: int, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, pid),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, ACCESS_LOG,
            mark=self.load.mark,
        )  # fmt: skip
