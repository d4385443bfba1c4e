"""A nursery for plants: gunicorn behind nginx, MariaDB, a memcached for lists, and a job that imports prices."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path

from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.mariadb import MariaDb
from lab.real.services.memcached import start_memcached
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

TABLE = """
CREATE TABLE plants (id INT PRIMARY KEY, kind INT NOT NULL, size INT NOT NULL, coldest INT NOT NULL,
    cents INT NOT NULL, name VARCHAR(60) NOT NULL, KEY kind (kind, coldest, size, cents));
INSERT INTO plants SELECT seq, seq % {kinds}, (seq DIV {kinds}) % 40, (seq DIV ({kinds} * 40)) % {zones},
    100 + seq % 9000, concat('plant ', md5(seq)) FROM seq_0_to_{plants};
ANALYZE TABLE plants;
"""
WARM = "curl -s -m 60 -o /dev/null 'http://{address}/plants/[{first}-{last}]'"
PYTHON = "/usr/bin/python3 -B"


class Nursery:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(
        self, town: Town, *, kinds: int, plants_of_a_kind: int, every_s: float, forget: str = "all"
    ) -> None:
        """Start them.

        Args:
            every_s: how long after a start of the import the next is due.
            forget: which lists an import removes from memcached, "all" or those that "changed".
        """
        rng, self.environment = town.rng, town.environment
        app_port, cache_port = town.take_ports(2)
        self.kinds, self.zones = kinds, rng.randrange(30, 38)
        plants = kinds * plants_of_a_kind
        self.mariadb = MariaDb(
            self.environment, rng,
            settings={"max_connections": 200, "innodb_buffer_pool_size": "192M", "innodb_flush_log_at_trx_commit": 2},
        )  # fmt: skip
        self.mariadb.run(TABLE.format(kinds=kinds, zones=self.zones, plants=plants - 1))
        start_memcached(self.environment, cache_port)
        cache = f"127.0.0.1:{cache_port}"
        self.app = Gunicorn(
            self.environment, app_port, "valley/nursery_app.py", address="127.0.0.1", workers=3, threads=8,
            variables={
                "MARIADB_PORT": str(self.mariadb.port), "MEMCACHED": cache, "KINDS": str(kinds),
                "ZONES": str(self.zones), "CUSTOMERS": str(self.mariadb.sizes["customers"]),
                "KEPT_S": "86400", "ROUNDS": str(rng.randrange(400, 1_200)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("nursery", (f"127.0.0.1:{app_port}",))
        self.directory = self.environment.directory / "srv" / "nursery-jobs"
        self.directory.mkdir(parents=True)
        for name in ("beat.py", "import_prices.py"):
            shutil.copyfile(PROGRAMS / "valley" / name, self.directory / name)
        settings = {
            "port": self.mariadb.port, "cache": cache, "plants": plants, "changed": rng.randrange(200, 900),
            "kinds": kinds, "zones": self.zones, "forget": forget,
        }  # fmt: skip
        (self.directory / "grower.json").write_text(json.dumps(settings))
        self.schedule_import(every_s)
        self.beat = self.environment.on_host(
            [*PYTHON.split(), f"{self.directory}/beat.py", f"{self.directory}/beat.conf"]
        )
        town.parameters |= {
            "kinds": kinds,
            "zones": self.zones,
            "plants": plants,
            "changed": settings["changed"],
        }

    @property
    def lists(self) -> int:
        """How many lists there are."""
        return self.kinds * self.zones

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "nursery")

    def schedule_import(self, every_s: float) -> None:
        """Let the import start every so many seconds."""
        file = self.directory / "beat.new"
        job = f"{PYTHON} {self.directory}/import_prices.py {self.directory}/grower.json"
        file.write_text(f"{every_s:.1f} {job}\n")
        file.replace(self.directory / "beat.conf")

    def fill_cache(self, address: str) -> float:
        """Read each list once, in two parts at a time. Returns the seconds of a CPU that MariaDB took for a list."""
        before, half = self._read_cpu_s(), self.lists // 2
        readers = [
            self.environment.on_host(["sh", "-c", WARM.format(address=address, first=first, last=last)])
            for first, last in ((0, half), (half + 1, self.lists - 1))
        ]
        wait_for(lambda: all(reader.poll() is not None for reader in readers), "the lists", 90.0)
        return (self._read_cpu_s() - before) / self.lists

    def count_misses(self, lists_per_s: float, every_s: float) -> float:
        """Return how many lists a second are not in memcached, at so many a second and an import every so often."""
        requested = lists_per_s * every_s / self.lists
        return lists_per_s * (1 - math.exp(-requested)) / requested

    def _read_cpu_s(self) -> float:
        user, system = Path(f"/proc/{self.mariadb.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
