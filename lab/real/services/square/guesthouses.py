"""Guesthouses: gunicorn behind nginx and a standby of PostgreSQL on this host; the primary is on another one."""

from __future__ import annotations

import os
import subprocess
import time

import psycopg

from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import BINARIES, DROP_ROOT, POSTGRES, UNPRIVILEGED_UID, PostgresServer
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE stays (id bigserial PRIMARY KEY, house int NOT NULL, guest int NOT NULL, nights int NOT NULL);
CREATE INDEX stays_house_idx ON stays (house, id);
INSERT INTO stays (house, guest, nights) SELECT i % {houses}, i, 1 + i % 9 FROM generate_series(1, {stays}) i;
CREATE TABLE occupancy (house int NOT NULL, day int NOT NULL, guests int NOT NULL);
GRANT ALL ON stays, stays_id_seq, occupancy TO web, jobs;
"""
SUMS = """
while :; do echo "BEGIN; TRUNCATE occupancy; INSERT INTO occupancy SELECT house, id % 60, sum(nights) FROM stays
WHERE id % 5 = 0 GROUP BY 1, 2; COMMIT;"; sleep {pause_s:.1f}; done | psql -q -h {address} -p {port} -U jobs postgres
"""
BOARD = """
while :; do echo "SELECT house, sum(guests) FROM occupancy GROUP BY 1 ORDER BY 2 DESC LIMIT 9;"; sleep {pause_s:.1f}
done"""
PRINTS = """echo "BEGIN; DECLARE pages NO SCROLL CURSOR FOR SELECT * FROM occupancy ORDER BY house, day;"
while :; do echo "FETCH {rows} FROM pages;"; sleep {pause_s:.1f}; done"""


class Guesthouses:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        self.town, port = town, town.take_ports(1)[0]
        houses = rng.randrange(300, 700)
        settings: dict[str, object] = {
            "wal_level": "replica", "max_wal_senders": 5, "max_standby_streaming_delay": rng.choice(("-1", "15min")),
            "max_standby_archive_delay": "15min",
        }  # fmt: skip
        self.primary = PostgresServer(self.environment, rng, settings=settings, client_side=True)
        self.primary.run(TABLES.format(houses=houses, stays=rng.randrange(30_000, 60_000)))
        self.copy_port = self.primary.port + 10
        self._copy_primary()
        words = SUMS.format(pause_s=rng.uniform(2, 4), address=self.primary.address, port=self.primary.port)
        self.environment.on_client(["sh", "-c", words])
        # A board in the office lists houses, from the standby.
        self._start_session(BOARD.format(pause_s=rng.uniform(0.8, 2)))
        self.app = Gunicorn(
            self.environment, port, "square/stays_app.py", address="127.0.0.1", workers=3, threads=rng.choice((12, 16)),
            variables={
                "PRIMARY_URL": self.primary.dsn,
                "STANDBY_URL": f"postgresql://web@127.0.0.1:{self.copy_port}/postgres",
                "WAIT_S": f"{rng.uniform(1.2, 1.8):.2f}", "HOUSES": str(houses),
                "ROUNDS": str(rng.randrange(400, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("guesthouses", (f"127.0.0.1:{port}",))
        town.parameters |= {"stays": port, "houses": houses, "delay": settings["max_standby_streaming_delay"]}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "guesthouses")

    def print_pages(self) -> None:
        """Start to print the occupancy of all houses, page by page."""
        rng = self.town.rng
        self._start_session(PRINTS.format(rows=rng.randrange(5, 30), pause_s=rng.uniform(0.4, 1.2)))

    def _copy_primary(self) -> None:
        self.base = self.environment.directory / "standby"
        self.base.mkdir()
        os.chown(self.base, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        network = f"{self.environment.host_address.rpartition('.')[0]}.0/24"
        with open(f"{self.primary.directory}/pg_hba.conf", "a") as file:  # noqa: PTH123
            file.write(f"host all,replication all {network} trust\n")
        self.primary.run("SELECT pg_reload_conf()")
        time.sleep(1.0)
        words = (*DROP_ROOT, str(BINARIES / "pg_basebackup"), "-h", self.primary.address, "-p", str(self.primary.port),
                 "-U", "shop", "-D", f"{self.base}/main", "-R", "-X", "stream", "-c", "fast", "--no-sync")  # fmt: skip
        self.environment.host_sh(f"cd /; {' '.join(words)}")
        lines = {
            "cluster_name": "near", "listen_addresses": "127.0.0.1", "port": self.copy_port, "hot_standby": "on",
            "unix_socket_directories": self.base, "log_directory": self.base / "log",
        }  # fmt: skip
        options = [word for name, value in lines.items() for word in ("-c", f"{name}={value}")]
        command = [*DROP_ROOT, POSTGRES, "-D", f"{self.base}/main", *options]
        self.copy: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(lambda: self.copy.poll() is not None or self._is_ready(), "the standby", 30.0)
        if self.copy.poll() is not None:
            raise RuntimeError("the standby ended")

    def _is_ready(self) -> bool:
        url = f"postgresql://shop@/postgres?host={self.base}&port={self.copy_port}"
        try:
            with psycopg.connect(url, autocommit=True) as database:
                database.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _start_session(self, script: str) -> None:
        psql = f"psql -q -h 127.0.0.1 -p {self.copy_port} -U jobs postgres"
        self.environment.on_host(["sh", "-c", f"{{ {script}; }} | {psql} >/dev/null"])
