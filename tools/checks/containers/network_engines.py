"""PostgreSQL, Valkey and an S3 server that listen on loopback with passwords, as the containers use them."""

from __future__ import annotations

import secrets
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from culprit.launcher.engines import Postgres, valkey
from culprit.launcher.install import requirements
from culprit.launcher.supervision import child_processes

READY_S = 60.0
BUCKET = "culprit"
STOP_SIGNALS = ((int(signal.SIGTERM), 10.0),)


class NetworkPostgres(Postgres):
    """The embedded PostgreSQL, which also accepts a user with a password on a port of loopback."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, durable=False)
        self.port = find_port()
        self.password = secrets.token_hex(16)
        self.environment["PGPORT"] = str(self.port)  # psql looks for the socket of this port

    @property
    def network_url(self) -> str:
        """The URL with user, password and port."""
        return f"postgresql://team:{self.password}@127.0.0.1:{self.port}/team"

    def prepare(self) -> None:
        """Allow users with a password over TCP, after the access of the embedded server is written."""
        super().prepare()
        with (self.data / "pg_hba.conf").open("a", encoding="utf-8") as file:
            file.write("host all all 127.0.0.1/32 scram-sha-256\n")

    def spawn(self) -> None:
        """Start the server on its port and its socket."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.sockets),
            "unix_socket_permissions": "0700",
            "max_connections": "200",
            "fsync": "off",
        }
        command = [str(self.tree / "bin/postgres"), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log_path.open("ab") as log:
            self.child = child_processes.start_child(
                command, log=log, env=self.environment, cwd=self.data, death_signal=signal.SIGINT,
                user=self.ids,
            )  # fmt: skip

    def create_team_database(self) -> None:
        """Create the user and the database of `network_url`. Raises EngineError."""
        self.run_query(f"CREATE ROLE team LOGIN PASSWORD '{self.password}'")
        self.run_query("CREATE DATABASE team OWNER team")


def find_port() -> int:
    """Return a free port of loopback."""
    port = requirements.find_free_port("127.0.0.1", 0)
    assert port is not None
    return port


@contextmanager
def run_server(
    command: Sequence[str], port: int, log: Path, env: dict[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the end of the block, once it accepts connections. Raises RuntimeError."""
    with log.open("ab") as output:
        child = child_processes.start_child(list(command), log=output, env=env)
    try:
        deadline = time.monotonic() + READY_S
        while True:
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text('utf-8')[-1000:]}")
            time.sleep(0.05)
        yield
    finally:
        child_processes.stop_child(child, STOP_SIGNALS)


@contextmanager
def run_valkey(place: Path) -> Iterator[str]:
    """Run Valkey with a password; yield its URL."""
    port, password = find_port(), secrets.token_hex(16)
    options = ["--port", str(port), "--bind", "127.0.0.1", "--requirepass", password, "--appendonly", "yes"]
    policy = ["--maxmemory-policy", "noeviction", "--dir", str(place), "--save", ""]
    with run_server([str(valkey.find_server()), *options, *policy], port, place / "valkey.log"):
        yield f"redis://:{password}@127.0.0.1:{port}/0"


@contextmanager
def run_versitygw(program: Path, place: Path) -> Iterator[dict[str, str]]:
    """Run the S3 server of docker-compose.yml with a bucket; yield the settings S3_*."""
    port, secret = find_port(), secrets.token_hex(16)
    (place / "store" / BUCKET).mkdir(parents=True)
    (place / "store" / BUCKET).chmod(0o700)
    keys = {"ROOT_ACCESS_KEY": "culprit", "ROOT_SECRET_KEY": secret}
    command = [
        str(program),
        "--port",
        f"127.0.0.1:{port}",
        "--health",
        "/health",
        "posix",
        str(place / "store"),
    ]
    with run_server(command, port, place / "versitygw.log", {"PATH": "/usr/bin:/bin", **keys}):
        _await_health(f"http://127.0.0.1:{port}/health")
        yield {
            "S3_ENDPOINT": f"http://127.0.0.1:{port}",
            "S3_BUCKET": BUCKET,
            "S3_REGION": "us-east-1",
            "S3_ACCESS_KEY_ID": "culprit",
            "S3_SECRET_ACCESS_KEY": secret,
        }


def _await_health(url: str) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - an address of loopback
            return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
