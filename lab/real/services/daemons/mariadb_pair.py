"""A MariaDB of another host with what was booked there, and its replica on the host, for pages that read."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.postgres import DROP_ROOT, UNPRIVILEGED_UID

CLIENTS = Path(__file__).parents[2] / "programs" / "clients"
ACCOUNTS = """
CREATE USER web@'%' IDENTIFIED BY 'web'; GRANT ALL ON *.* TO web@'%';
CREATE USER copy@'%' IDENTIFIED BY 'copy'; GRANT REPLICATION SLAVE ON *.* TO copy@'%';
"""
FOLLOW = """
CHANGE MASTER TO master_host='{address}', master_port={port}, master_user='copy', master_password='copy',
    master_use_gtid=slave_pos, master_connect_retry=2;
START SLAVE;
"""
SCHEMA = """
CREATE DATABASE boats; USE boats;
CREATE TABLE tours (id INT PRIMARY KEY, name VARCHAR(64) NOT NULL, seats INT NOT NULL);
CREATE TABLE bookings (id BIGINT AUTO_INCREMENT PRIMARY KEY, tour_id INT NOT NULL, email VARCHAR(64) NOT NULL,
    KEY tour_id (tour_id));
CREATE TABLE boardings (tour_id INT NOT NULL, gate INT NOT NULL, billed INT NOT NULL, note VARCHAR(200) NOT NULL
    {key});
INSERT INTO tours SELECT seq, md5(seq), 1000 FROM seq_0_to_{tours};
INSERT INTO boardings SELECT seq, seq % 40, 0, repeat(md5(seq), {words}) FROM seq_1_to_{boardings};
"""


class MariaDbPair:
    """Two MariaDB that run. `replica` is the process on the host, `primary` the one on the clients' side."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, *, has_key: bool) -> None:
        """Start both, and fill the tables. has_key: whether the boardings have a primary key."""
        self.environment = environment
        self.base = environment.directory / "mysql"
        self.base.mkdir()
        os.chown(self.base, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        self.primary_port, self.port = rng.choice((3306, 3307)), rng.choice((3306, 3310))
        self.tours, self.boardings = rng.randrange(1_000, 5_000), rng.randrange(40_000, 70_000)
        self.primary = self._start("primary", environment.client_address, self.primary_port)
        self.replica = self._start("replica", "127.0.0.1", self.port)
        for name in ("primary", "replica"):
            self.run(name, f"SET sql_log_bin=0; {ACCOUNTS}")
        self.run("replica", FOLLOW.format(address=environment.client_address, port=self.primary_port))
        key = ", PRIMARY KEY (tour_id)" if has_key else ""
        self.run(
            "primary",
            SCHEMA.format(key=key, tours=self.tours, boardings=self.boardings, words=rng.randrange(2, 6)),
        )
        wait_for(lambda: self._count_boardings() == self.boardings, "the replica", 40.0)

    def run(self, name: str, script: str) -> str:
        """Return what the statements print."""
        words = ["mariadb", "--no-defaults", "-u", "root", "-S", f"{self.base}/{name}.sock", "-B", "-N"]
        done = subprocess.run(words, input=script, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(f"{script[:80]}: {done.stderr.strip()}")
        return done.stdout

    def start_billing(self, rows: int, pause_s: float) -> None:
        """Start the job of another host that bills `rows` boardings at a time in the primary."""
        self.environment.on_client(
            ["/usr/bin/python3", "-B", str(CLIENTS / "billing.py"),
             "--database", f"{self.environment.client_address}:{self.primary_port}", "--boardings", str(self.boardings),
             "--rows", str(rows), "--pause-s", f"{pause_s:.1f}"]
        )  # fmt: skip

    def _count_boardings(self) -> int:
        time.sleep(0.1)
        try:
            return int(self.run("replica", "SELECT count(*) FROM boats.boardings") or 0)
        except RuntimeError:
            return 0

    def _start(self, name: str, address: str, port: int) -> subprocess.Popen[bytes]:
        lines = {
            "datadir": f"{self.base}/{name}", "socket": f"{self.base}/{name}.sock", "port": port,
            "bind-address": address, "log-error": f"{self.base}/{name}.log", "pid-file": f"{self.base}/{name}.pid",
            "skip-name-resolve": 1, "innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M",
            "innodb_flush_log_at_trx_commit": 2, "performance_schema": "OFF", "max_connections": 200,
            "binlog_format": "ROW", "server_id": 2 if name == "replica" else 1, "sync_binlog": 0,
            **({"read_only": 1} if name == "replica" else {"log_bin": f"{self.base}/{name}/changes"}),
        }  # fmt: skip
        file = self.base / f"{name}.cnf"
        file.write_text("[mysqld]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items()))
        install = ("mariadb-install-db", f"--defaults-file={file}", "--skip-test-db",
                   "--auth-root-authentication-method=normal", f"--datadir={self.base}/{name}")  # fmt: skip
        self.environment.host_sh(f"cd /; {' '.join((*DROP_ROOT, *install))} >/dev/null 2>&1")
        start = self.environment.on_host if name == "replica" else self.environment.on_client
        server = start([*DROP_ROOT, "mariadbd", f"--defaults-file={file}"])
        wait_for(lambda: server.poll() is not None or self._is_ready(name), "MariaDB", 30.0)
        if server.poll() is not None:
            raise RuntimeError(f"MariaDB ended: {(self.base / f'{name}.log').read_text()[-800:]}")
        return server

    def _is_ready(self, name: str) -> bool:
        time.sleep(0.1)
        try:
            self.run(name, "SELECT 1")
        except RuntimeError:
            return False
        return True
