"""A replica of a database that shows changes late, and the service that reads what it wrote."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.application import LabApplication
from lab.environment import LabEnvironment, build_python_command
from lab.load import wait_for
from lab.real.services.postgres import BINARIES, DROP_ROOT, POSTGRES, PostgresServer
from lab.scenario import Live, Scenario


class Replica:
    """A hot standby on the host, of a primary on another machine, for long reports as well."""

    def __init__(self, environment: LabEnvironment, primary: PostgresServer, port: int) -> None:
        self.environment, self.port = environment, port
        self.base = primary.base / "copy"
        hba = f"host replication all {environment.host_address}/24 trust"
        subprocess.run(
            ["sh", "-ec", f"echo '{hba}' >>{primary.directory}/pg_hba.conf"], check=True, timeout=60
        )
        primary.run("SELECT pg_reload_conf()")
        copy = [str(BINARIES / "pg_basebackup"), "-h", str(primary.base), "-p", str(primary.port), "-U", "shop",
                "-c", "fast", "-D", str(self.base)]  # fmt: skip
        subprocess.run([*DROP_ROOT, *copy], check=True, capture_output=True, timeout=120, cwd="/")
        lines = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": self.base,
            "log_directory": self.base / "log", "max_standby_streaming_delay": -1,
            "primary_conninfo": f"host={primary.address} port={primary.port} user=shop",
        }  # fmt: skip
        with (self.base / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in lines.items())
        (self.base / "standby.signal").touch()
        self.server = environment.on_host([*DROP_ROOT, POSTGRES, "-D", str(self.base)])
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "the standby", 30.0)

    @property
    def dsn(self) -> str:
        """How programs of the host connect."""
        return f"postgresql://web@127.0.0.1:{self.port}/postgres"

    def start_query(self, statement: str) -> subprocess.Popen[bytes]:
        """Start a program that runs `statement`."""
        return self.environment.on_host(["psql", "-q", self.dsn, "-c", statement, "-o", "/dev/null"])

    def _is_listening(self) -> bool:
        return bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}").strip())


@contextmanager
def _long_report(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a report on the standby whose rows the primary removes; replay waits for its end."""
    application = LabApplication(environment, rng)
    primary = PostgresServer(environment, rng, client_side=True)
    replica = Replica(environment, primary, rng.choice((5434, 5442, 6543)))
    products = primary.sizes["products"]
    application.serve(
        build_python_command(
            "web/receipts.py", "--port", application.port, "--primary", primary.dsn, "--replica", replica.dsn,
            "--products", products, "--threads", rng.randrange(24, 40),
        )
    )  # fmt: skip
    vacuum = f"while :; do psql -q '{primary.build_dsn('shop')}' -c 'VACUUM stock'; sleep 2; done"
    environment.on_client(["sh", "-c", vacuum])
    rate = rng.uniform(8.0, 16.0)
    application.clients(rate, timeout_s=4.0)
    application.baseline(4.0)
    pause_ms = rng.randrange(4, 12)
    report = partial(
        replica.start_query, f"SELECT s.*, pg_sleep({pause_ms / 1000}) FROM stock s, generate_series(1, 40)"
    )
    report()
    yield application.live(rate=rate, products=products, pause_ms=pause_ms, access_log="")


SCENARIOS = (
    Scenario(
        "report-on-standby", "fault", "slow-dependency", ("replication-lag",),
        "A report on a standby holds up the replay of changes; a service waits there for what it has written.",
        _long_report, needs=(POSTGRES, "setpriv", "psql"), seconds=20.0, software=("postgresql",),
    ),
)  # fmt: skip
