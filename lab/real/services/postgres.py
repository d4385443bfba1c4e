"""A PostgreSQL with the tables of a shop: its data directory, settings, start and statements."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import psycopg

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

UNPRIVILEGED_UID = 65534
DROP_ROOT = ("setpriv", f"--reuid={UNPRIVILEGED_UID}", f"--regid={UNPRIVILEGED_UID}", "--clear-groups", "--")
SCHEMA = """
CREATE TABLE products (id int PRIMARY KEY, sku text NOT NULL, name text NOT NULL, price numeric(10,2) NOT NULL);
CREATE TABLE stock (product_id int PRIMARY KEY, available int NOT NULL, reserved int NOT NULL, warehouse int NOT NULL);
CREATE TABLE orders (
    id bigserial PRIMARY KEY, customer_id int NOT NULL, product_id int NOT NULL, amount numeric(10,2) NOT NULL,
    status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), note text NOT NULL);
ALTER TABLE orders ALTER COLUMN note SET STORAGE PLAIN;
INSERT INTO products
    SELECT i, 'SKU-' || i, initcap(md5(i::text)), (i % 997) * 1.19 FROM generate_series(0, {products} - 1) i;
INSERT INTO stock SELECT i, 100000 + i, 0, i % {warehouses} FROM generate_series(0, {products} - 1) i;
INSERT INTO orders (customer_id, product_id, amount, status, created_at, note)
    SELECT (i::bigint * 7919) % {customers}, i % {products}, (i % 991) * 1.07, 'shipped',
           now() - i * interval '1 minute', repeat(md5(i::text), {note_words}) FROM generate_series(1, {orders}) i;
CREATE INDEX orders_customer_id_idx ON orders (customer_id);
CREATE ROLE web LOGIN; CREATE ROLE jobs LOGIN;
GRANT ALL ON ALL TABLES IN SCHEMA public TO web, jobs; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO web, jobs;
"""
BINARIES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/missing"))
POSTGRES = str(BINARIES / "postgres")


class PostgresServer:
    """A PostgreSQL that runs. `sizes` has the numbers of rows, `server` is the postmaster."""

    def __init__(
        self,
        environment: LabEnvironment,
        rng: random.Random,
        *,
        settings: dict[str, object] | None = None,
        directory: str = "",
        client_side: bool = False,
        group: Group | None = None,
        initdb_options: tuple[str, ...] = (),
        **sizes: int,
    ) -> None:
        """Create the data directory, start the server and fill the tables.

        Args:
            settings: lines of postgresql.conf.
            directory: a path of the host for the data, such as one on a disk of its own.
            client_side: run on another machine, the one of the clients.
            sizes: products, warehouses, customers, orders, note_words; `rng` chooses the missing ones.
        """
        self.environment, self.client_side, self._group = environment, client_side, group
        self.port = rng.choice((5432, 5432, 5433, 6432))
        self.base = environment.directory / "postgresql"
        self.base.mkdir()
        self.directory = directory or str(self.base / "main")
        self.sizes = {
            "products": rng.randrange(2_000, 9_000), "warehouses": rng.randrange(4, 9),
            "customers": rng.randrange(2_000, 6_000), "orders": rng.randrange(20_000, 60_000),
            "note_words": rng.randrange(1, 5),
        } | sizes  # fmt: skip
        self.address = environment.client_address if client_side else "127.0.0.1"
        os.chown(self.base, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        self._create_data_directory(initdb_options, settings or {})
        self.start()
        self.run(SCHEMA.format(**self.sizes))
        self.run("VACUUM ANALYZE")
        self.run("CHECKPOINT")

    @property
    def dsn(self) -> str:
        """How the shop connects over TCP."""
        return self.build_dsn()

    def build_dsn(self, user: str = "web", **settings: object) -> str:
        """Return how `user` connects over TCP, with `settings` for its sessions."""
        options = "%20".join(f"-c%20{name}%3D{value}" for name, value in settings.items())
        return f"postgresql://{user}@{self.address}:{self.port}/postgres{f'?options={options}' if options else ''}"

    @property
    def pid(self) -> int:
        """The postmaster."""
        return self.server.pid

    def start(self) -> None:
        """Start the postmaster and wait for an answer."""
        command = [*DROP_ROOT, POSTGRES, "-D", self.directory]
        if self.client_side:
            self.server: subprocess.Popen[bytes] = self.environment.on_client(command)
        else:
            self.server = self.environment.on_host(command, self._group)
        wait_for(lambda: self.server.poll() is not None or self._is_ready(), "PostgreSQL", 30.0)
        if self.server.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended: {self.read_log()[-800:]}")

    def run(self, script: str) -> None:
        """Run statements, each in a transaction of its own unless the script is one."""
        with self.connect() as database:
            database.execute(script)  # type: ignore[call-overload]

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection over the socket, which is a file and so reachable from outside of the host."""
        url = f"postgresql://shop@/postgres?host={self.base}&port={self.port}"
        return psycopg.connect(url, autocommit=True)

    def change_settings(self, **settings: object) -> None:
        """Change settings of the running server, as an edit of its configuration and a reload do."""
        for name, value in settings.items():
            self.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self.run("SELECT pg_reload_conf()")

    def start_session(self, script: str, user: str = "jobs") -> subprocess.Popen[bytes]:
        """Start a psql on the host that runs `script`, a shell line whose output are the statements."""
        psql = f"psql -q -h {self.address} -p {self.port} -U {user} postgres"
        return self.environment.on_host(["sh", "-c", f"{{ {script}; }} | {psql}"])

    def read_log(self) -> str:
        """Return the text of the server's log."""
        return "".join(path.read_text() for path in sorted((self.base / "log").glob("*.log")))

    def _create_data_directory(self, options: tuple[str, ...], settings: dict[str, object]) -> None:
        command = [str(BINARIES / "initdb"), "-D", self.directory, "-U", "shop", "-A", "trust", "--no-sync"]
        words = [*DROP_ROOT, *command, *options]
        lines = {
            "listen_addresses": self.address, "port": self.port, "unix_socket_directories": self.base,
            "logging_collector": "on", "log_directory": self.base / "log", "log_line_prefix": "%m [%p] %q%u@%d ",
            "jit": "off", "max_parallel_workers_per_gather": 0, "shared_buffers": "64MB",
        } | settings  # fmt: skip
        text = "".join(f"{name} = '{value}'\n" for name, value in lines.items())
        (self.base / "site.conf").write_text(text)
        script = f"{' '.join(words)} >/dev/null; cat {self.base}/site.conf >>{self.directory}/postgresql.conf"
        if self.client_side:
            script += f"; echo 'host all all {self.environment.host_address}/24 trust' >>{self.directory}/pg_hba.conf"
            subprocess.run(["sh", "-ec", script], check=True, capture_output=True, timeout=60, cwd="/")
        else:
            self.environment.host_sh(f"cd /; {script}")

    def _is_ready(self) -> bool:
        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True
