"""A MariaDB with the tables of a shop: its data directory, settings, start and statements."""

from __future__ import annotations

import os
import random
import subprocess
import time

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.postgres import DROP_ROOT, UNPRIVILEGED_UID

SCHEMA = """
CREATE DATABASE shop; USE shop;
CREATE USER shop@'127.0.0.1' IDENTIFIED BY 'shop'; GRANT ALL ON shop.* TO shop@'127.0.0.1';
CREATE TABLE products (id INT PRIMARY KEY, sku VARCHAR(20) NOT NULL, name VARCHAR(64) NOT NULL, price DECIMAL(10,2));
CREATE TABLE stock (product_id INT PRIMARY KEY, available INT NOT NULL, reserved INT NOT NULL);
CREATE TABLE orders (
    id BIGINT AUTO_INCREMENT PRIMARY KEY, customer_id INT NOT NULL, product_id INT NOT NULL, amount DECIMAL(10,2),
    status VARCHAR(16) NOT NULL, created_at DATETIME NOT NULL DEFAULT now(), note TEXT NOT NULL,
    KEY customer_id (customer_id));
INSERT INTO products SELECT seq, concat('SKU-', seq), md5(seq), (seq % 997) * 1.19 FROM seq_0_to_{products};
INSERT INTO stock SELECT seq, 100000 + seq, 0 FROM seq_0_to_{products};
INSERT INTO orders (customer_id, product_id, amount, status, note)
    SELECT (seq * 7919) % {customers}, seq % {products}, (seq % 991) * 1.07, 'shipped', repeat(md5(seq), {note_words})
    FROM seq_1_to_{orders};
"""


class MariaDb:
    """A MariaDB that runs. `sizes` has the numbers of rows, `server` is its process."""

    def __init__(
        self,
        environment: LabEnvironment,
        rng: random.Random,
        *,
        settings: dict[str, object] | None = None,
        directory: str = "",
        group: Group | None = None,
        **sizes: int,
    ) -> None:
        """Create the data directory, start the server and fill the tables. `settings` are lines of my.cnf."""
        self.environment, self._group = environment, group
        self.port = rng.choice((3306, 3306, 3307, 3310))
        self.base = environment.directory / "mysql"
        self.base.mkdir()
        self.directory = directory or str(self.base / "data")
        self.sizes = {
            "products": rng.randrange(2_000, 9_000), "customers": rng.randrange(2_000, 6_000),
            "orders": rng.randrange(20_000, 60_000), "note_words": rng.randrange(1, 5),
        } | sizes  # fmt: skip
        os.chown(self.base, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        self.socket = f"{self.base}/mysqld.sock"
        lines = {
            "datadir": self.directory, "socket": self.socket, "port": self.port, "bind-address": "127.0.0.1",
            "log-error": f"{self.base}/error.log", "pid-file": f"{self.base}/mysqld.pid", "skip-name-resolve": 1,
            "innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M", "performance_schema": "OFF",
        } | (settings or {})  # fmt: skip
        self.settings: dict[str, object] = dict(lines)
        self.configuration = self.base / "my.cnf"
        self.write_configuration()
        install = ("mariadb-install-db", f"--defaults-file={self.configuration}", "--skip-test-db",
                   "--auth-root-authentication-method=normal", f"--datadir={self.directory}")  # fmt: skip
        environment.host_sh(f"cd /; {' '.join((*DROP_ROOT, *install))} >/dev/null 2>&1")
        self.start()
        self.run(SCHEMA.format(**self.sizes), database="")

    @property
    def dsn(self) -> str:
        """How PDO connects over TCP."""
        return f"mysql:host=127.0.0.1;port={self.port};dbname=shop"

    @property
    def pid(self) -> int:
        """The server's process."""
        return self.server.pid

    def write_configuration(self) -> None:
        """Write my.cnf from the settings."""
        lines = "".join(f"{name} = {value}\n" for name, value in self.settings.items())
        self.configuration.write_text(f"[mysqld]\n{lines}")

    def restart(self, **changes: object) -> None:
        """Start again, with these settings changed."""
        self.server.terminate()
        self.server.wait(timeout=60)
        self.settings |= changes
        self.write_configuration()
        self.start()

    def start(self) -> None:
        """Start the server and wait for an answer."""
        command = [*DROP_ROOT, "mariadbd", f"--defaults-file={self.configuration}"]
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command, self._group)
        wait_for(lambda: self.server.poll() is not None or self._is_ready(), "MariaDB", 30.0)
        if self.server.poll() is not None:
            raise RuntimeError(f"MariaDB ended: {(self.base / 'error.log').read_text()[-800:]}")

    def run(self, script: str, database: str = "shop") -> str:
        """Return what the statements print."""
        words = [*self.build_client(), "-B", "-N", *([database] if database else [])]
        done = subprocess.run(words, input=script, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(f"{script[:80]}: {done.stderr.strip()}")
        return done.stdout

    def build_client(self) -> list[str]:
        """Return the command of a client over the socket, which works from outside of the host too."""
        return ["mariadb", "--no-defaults", "-u", "root", "-S", self.socket]

    def start_session(self, script: str) -> subprocess.Popen[bytes]:
        """Start a client on the host that runs `script`, a shell line whose output are the statements."""
        client = f"mariadb --no-defaults -n -u shop -pshop -h 127.0.0.1 -P {self.port} shop"
        return self.environment.on_host(["sh", "-c", f"{{ {script}; }} | {client} >/dev/null"])

    def _is_ready(self) -> bool:
        time.sleep(0.1)
        try:
            self.run("SELECT 1", database="")
        except RuntimeError:
            return False
        return True
