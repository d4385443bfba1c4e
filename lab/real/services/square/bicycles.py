"""Bicycles for hire: gunicorn behind nginx and a MariaDB, next to programs that prepare maps."""

from __future__ import annotations

import os
import random
from pathlib import Path

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town

MAPS = """
while :; do sort -t, -k{column} -g {data} | gzip -{level} | cksum >{data}.{number}; sleep {pause_s:.2f}; done
"""


class Bicycles:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        self.town, port = town, town.take_ports(1)[0]
        self.mariadb = MariaDb(
            self.environment, rng, orders=rng.randrange(50_000, 70_000), note_words=2,
            settings={"innodb_buffer_pool_size": "128M", "max_connections": 120},
        )  # fmt: skip
        customers, group = self.mariadb.sizes["customers"], rng.randrange(300, 420)
        self.app = Gunicorn(
            self.environment, port, "square/bicycles_app.py", address="127.0.0.1", workers=3,
            threads=rng.choice((8, 10)),
            variables={
                "MARIADB_PORT": str(self.mariadb.port), "CUSTOMERS": str(customers), "GROUP": str(group),
                "PRODUCTS": str(self.mariadb.sizes["products"]), "ROUNDS": str(rng.randrange(300, 900)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("bicycles", (f"127.0.0.1:{port}",))
        town.parameters |= {"bicycles": port, "customers": customers, "group": group}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "bicycles")

    def measure_hire(self, count: int) -> float:
        """Return the seconds of a CPU that MariaDB takes for a sum of hires."""
        address = f"127.0.0.1:{self.app.port}/hires"
        self.environment.host_sh(f"curl -s -m 30 -o /dev/null 'http://{address}/[1-{count}]'")
        before = self._read_cpu_s()
        self.environment.host_sh(f"curl -s -m 30 -o /dev/null 'http://{address}/[100-{99 + count}]'")
        return (self._read_cpu_s() - before) / count

    def _read_cpu_s(self) -> float:
        user, system = Path(f"/proc/{self.mariadb.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def prepare_maps(self, count: int, rows: int, pause_s: float, nice: int = 0) -> None:
        """Prepare so many maps at a time, again and again, with this nice value."""
        rng = self.town.rng
        draw = random.Random(rng.randrange(1_000))
        data = self.environment.directory / "paths.csv"
        lines = (f"{n},{draw.uniform(45, 50):.5f},{draw.uniform(5, 15):.5f}\n" for n in range(rows))
        data.write_text("".join(lines))
        for number in range(count):
            script = MAPS.format(
                column=rng.choice((2, 3)), data=data, number=number, level=rng.choice((6, 9)), pause_s=pause_s
            )
            self.environment.on_host(["nice", "-n", str(nice), "sh", "-c", script])
        self.town.parameters |= {"maps": count, "rows": rows}

    def start_database_as(self, nice: int) -> None:
        """Give MariaDB this nice value, as if it had been started with it."""
        for thread in Path(f"/proc/{self.mariadb.pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), nice)
        self.town.parameters["nice"] = nice
