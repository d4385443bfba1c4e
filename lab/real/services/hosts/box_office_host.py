"""A box office in PHP behind nginx, its tables in PostgreSQL, a standby on another host, and its clients."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from typing import Any

import psycopg

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.postgres import BINARIES, DROP_ROOT, POSTGRES, UNPRIVILEGED_UID, PostgresServer
from lab.real.services.web_neighbours import choose_scope, draw_ports, start_neighbours, start_requests
from lab.scenario import Live


class SecondDatabase:
    """A standby of the database on the clients' side, from a base backup. `name` is what the primary knows it by."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, postgres: PostgresServer) -> None:
        """Copy the primary, and start to stream from it."""
        self.environment, self.postgres = environment, postgres
        self.name = rng.choice(("db2", "replica_b", "pg_west"))
        self.port = postgres.port
        self.base = environment.directory / "copy"
        self.base.mkdir()
        os.chown(self.base, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        network = f"{environment.host_address.rpartition('.')[0]}.0/24"
        environment.host_sh(
            f"echo 'host all,replication all {network} trust' >>{postgres.directory}/pg_hba.conf"
        )
        postgres.run("SELECT pg_reload_conf()")
        time.sleep(1.0)
        words = (*DROP_ROOT, str(BINARIES / "pg_basebackup"), "-h", environment.host_address, "-p", str(postgres.port),
                 "-U", "shop", "-D", f"{self.base}/main", "-R", "-X", "stream", "-c", "fast", "--no-sync")  # fmt: skip
        environment.client_net.sh(f"cd /; {' '.join(words)}")
        self.start()

    def start(self) -> None:
        """Start it, and wait until the primary sends to it."""
        settings = {
            "cluster_name": self.name, "listen_addresses": self.environment.client_address,
            "unix_socket_directories": self.base, "log_directory": self.base / "log", "hot_standby": "on",
        }  # fmt: skip
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.server = self.environment.on_client([*DROP_ROOT, POSTGRES, "-D", f"{self.base}/main", *words])
        wait_for(lambda: self.server.poll() is not None or self._is_streaming(), "the standby", 30.0)
        if self.server.poll() is not None:
            raise RuntimeError("the standby ended")

    def shut_down(self) -> None:
        """End it as for maintenance: sessions are closed, files are written."""
        self.server.send_signal(signal.SIGINT)
        self.server.wait(timeout=20)

    def run(self, statement: str) -> None:
        """Run a statement on the standby."""
        url = f"postgresql://shop@/postgres?host={self.base}&port={self.port}"
        with psycopg.connect(url, autocommit=True) as database:
            database.execute(statement)  # type: ignore[call-overload]

    def _is_streaming(self) -> bool:
        with self.postgres.connect() as database:
            statement = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
            row: Any = database.execute(statement).fetchone()
            return bool(row[0])


class BoxOffice:
    """The box office that runs. `parameters` collects what was chosen."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, children: int, outbox: bool = False,
        settings: dict[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Start PostgreSQL, php-fpm, nginx and neighbors. settings: lines of postgresql.conf."""
        self.environment, self.rng = environment, rng
        self.port, php_port = draw_ports(rng, 2)
        lines = {
            "listen_addresses": f"127.0.0.1, {environment.host_address}",
            "max_connections": children + 60,
        }
        self.postgres = PostgresServer(environment, rng, settings=lines | (settings or {}))
        if outbox:
            self.postgres.run(
                "CREATE TABLE outbox (id bigserial PRIMARY KEY, booking int NOT NULL, kind text NOT NULL, body text);"
                "GRANT ALL ON outbox, outbox_id_seq TO web, jobs"
            )
        variables = {
            "DATABASE_DSN": f'"pgsql:host=127.0.0.1;port={self.postgres.port};dbname=postgres"',
            "PRODUCTS": str(self.postgres.sizes["products"]), "CUSTOMERS": str(self.postgres.sizes["customers"]),
        }  # fmt: skip
        pool = PhpSettings(pool="boxoffice", max_children=children, variables=variables)
        self.php = Php(environment, php_port, ("bookings.php",), pool)
        lines_of_server = build_fastcgi("/", self.php.address, str(self.php.directory / "bookings.php"))
        self.nginx = Nginx(environment, self.port, NginxSettings(server_lines=lines_of_server))
        self.healthy: dict[str, float] = {}
        self.parameters: dict[str, object] = {
            "port": self.port, "children": children, **self.postgres.sizes,
            "neighbours": start_neighbours(environment, rng),
        }  # fmt: skip

    def start_clients(
        self, rate: float, paths: list[str], *, warm_s: float = 3.0, timeout_s: float = 4.0
    ) -> None:
        """Start clients, and measure the healthy phase after a warm-up."""
        self.parameters |= {"rate": rate, "paths": paths}
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths, options=("--timeout-s", timeout_s)
        )
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.healthy = self.load.baseline(4.0)

    def start_session(self, statement: str) -> subprocess.Popen[bytes]:
        """Start a session of a job that runs one statement, whose rows no one reads."""
        return self.postgres.start_session(f"echo '\\o /dev/null'; echo \"{statement};\"")

    def build_live(self, pid: int, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, pid),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, ACCESS_LOG,
            mark=self.load.mark,
        )  # fmt: skip
