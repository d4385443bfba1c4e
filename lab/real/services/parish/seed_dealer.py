"""A seed dealer: gunicorn behind nginx, a PostgreSQL with prices, and a memcached that keeps price lists."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.towns.town import Town

MEGABYTE = 1 << 20
TABLES = """
CREATE TABLE varieties (id serial PRIMARY KEY, list int NOT NULL, name text NOT NULL, notes text NOT NULL);
CREATE TABLE prices (variety int NOT NULL, week int NOT NULL, cents int NOT NULL);
GRANT ALL ON varieties, prices TO web, jobs;
"""
IMPORT = """
INSERT INTO varieties (list, name, notes)
    SELECT l, initcap(left(md5(i::text || l), 14)), left(repeat(md5((i * 7)::text), 8), {notes})
    FROM generate_series({first}, {last}) i, generate_series(0, {lists} - 1) l ORDER BY i, l;
INSERT INTO prices SELECT v.id, w, 90 + (v.id * 7 + w * 13) % 900
    FROM varieties v, generate_series(1, {weeks}) w WHERE v.id > {known} ORDER BY v.id;
"""
INDEX = "CREATE INDEX prices_variety_idx ON prices (variety)"
EMPTY = """
timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; printf "flush_all\\r\\n" >&3; head -n 1 <&3' >/dev/null
"""
LENGTH = "SELECT sum(length(name) + length(notes) + 21 + length(id::text)) FROM varieties WHERE list = 0"


class SeedDealer:
    """The services that run. `upstream` is what nginx needs for them, `list_bytes` about the size of a price list."""

    def __init__(self, town: Town) -> None:
        """Start them, with price lists of nearly a megabyte."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, self.cache_port = town.take_ports(2)
        self.lists, self.weeks, self.notes = (
            rng.randrange(3, 6),
            rng.randrange(26, 40),
            rng.randrange(90, 130),
        )
        self.varieties = 0
        self.postgres = PostgresServer(
            self.environment, rng, orders=5_000, settings={"work_mem": "64MB", "shared_buffers": "128MB"}
        )
        self.postgres.run(TABLES)
        self.import_varieties(1_000)
        rows = int(rng.uniform(0.84, 0.9) * MEGABYTE / (self.measure_list() / 1_000))
        self.import_varieties(rows - 1_000)
        self.postgres.run(INDEX)
        self.postgres.run("VACUUM ANALYZE varieties")
        self.postgres.run("VACUUM ANALYZE prices")
        self.memcached: subprocess.Popen[bytes] = self.environment.on_host(
            [
                "memcached",
                "-u",
                "daemon",
                "-l",
                "127.0.0.1",
                "-p",
                str(self.cache_port),
                "-m",
                rng.choice(("64", "128")),
            ]
        )
        listing = f"ss -Hltn sport = :{self.cache_port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "memcached")
        self.app = Gunicorn(
            self.environment, port, "parish/varieties_app.py", address="127.0.0.1", workers=rng.choice((2, 3)),
            threads=rng.choice((6, 8)),
            variables={
                "DATABASE_URL": self.postgres.dsn, "CACHE": f"127.0.0.1:{self.cache_port}", "LISTS": str(self.lists),
                "VARIETIES": str(rows), "KEEP_S": str(rng.choice((900, 1_800, 3_600))),
                "ROUNDS": str(rng.randrange(300, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("seeds", (f"127.0.0.1:{port}",))
        town.parameters |= {
            "seeds": port,
            "cache": self.cache_port,
            "varieties": rows,
            "list_bytes": self.measure_list(),
        }

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "seeds")

    def import_varieties(self, rows: int) -> None:
        """Add so many varieties, with their prices, to each list."""
        words = IMPORT.format(
            notes=self.notes, first=self.varieties + 1, last=self.varieties + rows, lists=self.lists,
            weeks=self.weeks, known=self.varieties * self.lists,
        )  # fmt: skip
        self.postgres.run(words)
        self.varieties += rows

    def empty_cache(self) -> None:
        """Let memcached forget all lists, as an import does."""
        self.environment.host_sh(EMPTY.format(port=self.cache_port))

    def measure_list(self) -> int:
        """Return how many bytes a list has as JSON, within a percent."""
        with self.postgres.connect() as database:
            return int(database.execute(LENGTH).fetchone()[0])  # type: ignore[index]

    def measure_miss(self, count: int) -> float:
        """Return how many seconds of a CPU a list takes that memcached does not have."""
        before = self._read_cpu_s()
        for number in range(count):
            self.empty_cache()
            self.environment.host_sh(
                f"curl -s -m 30 -o /dev/null http://127.0.0.1:{self.app.port}/lists/{number}"
            )
        return (self._read_cpu_s() - before) / count

    def _read_cpu_s(self) -> float:
        listing = subprocess.run(
            ["pgrep", "-P", f"{self.postgres.pid},{self.app.pid}"],
            capture_output=True,
            text=True,
            check=False,
        )
        files = [
            file for pid in listing.stdout.split() for file in Path(f"/proc/{pid}/task").glob("*/schedstat")
        ]
        return sum(int(file.read_text().split()[0]) for file in files) / 1e9
