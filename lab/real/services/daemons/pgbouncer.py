"""A PgBouncer on the host, between services and the PostgreSQL of the same host."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.postgres import DROP_ROOT, UNPRIVILEGED_UID, PostgresServer

CONFIGURATION = """
[databases]
postgres = host={postgres.address} port={postgres.port} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {directory}/userlist.txt
logfile = {directory}/pgbouncer.log
pidfile = {directory}/pgbouncer.pid
admin_users = jobs
ignore_startup_parameters = extra_float_digits
"""


class PgBouncer:
    """A PgBouncer that runs. `settings` are lines of its configuration, such as pool_mode."""

    def __init__(
        self, environment: LabEnvironment, port: int, postgres: PostgresServer, **settings: object
    ) -> None:
        """Start PgBouncer and wait until it listens."""
        self.environment, self.port, self.postgres, self.settings = environment, port, postgres, settings
        self.directory = postgres.base / "pgbouncer"
        environment.host_sh(f"install -d -o {UNPRIVILEGED_UID} {self.directory}")
        (self.directory / "userlist.txt").write_text('"web" ""\n"jobs" ""\n')
        self.start()

    @property
    def dsn(self) -> str:
        """How services connect."""
        return f"postgresql://web@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def start(self) -> None:
        """Start PgBouncer, and wait until it listens."""
        text = CONFIGURATION.format(postgres=self.postgres, port=self.port, directory=self.directory)
        text += "".join(f"{name} = {value}\n" for name, value in self.settings.items())
        (self.directory / "pgbouncer.ini").write_text(text)
        command = [*DROP_ROOT, "pgbouncer", str(self.directory / "pgbouncer.ini")]
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "PgBouncer")
        if self.server.poll() is not None:
            raise RuntimeError(f"PgBouncer ended: {(self.directory / 'pgbouncer.log').read_text()[-800:]}")

    def restart(self, **changes: object) -> None:
        """Start again, with these settings changed."""
        self.server.kill()
        self.server.wait()
        (self.directory / "pgbouncer.pid").unlink(missing_ok=True)
        wait_for(lambda: not self._is_listening(), "PgBouncer to end")
        self.settings = self.settings | changes
        self.start()

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
