"""A php-fpm on the host: one pool, and the PHP files that it runs."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

PROGRAMS = Path(__file__).parents[1] / "programs"
CONFIGURATION = """
[global]
pid = /run/php/php-fpm.pid
error_log = /run/php/php-fpm.log
daemonize = no
[{pool}]
user = www-data
group = www-data
listen = 127.0.0.1:{port}
listen.backlog = {backlog}
pm = {manager}
pm.max_children = {max_children}
pm.start_servers = {start_servers}
pm.min_spare_servers = {start_servers}
pm.max_spare_servers = {max_spare_servers}
pm.max_requests = {max_requests}
pm.status_path = /fpm-status
clear_env = no
{environment_lines}
{pool_lines}
"""


@dataclass(frozen=True, slots=True)
class PhpSettings:
    """What a scenario may set.

    variables: environment variables of the PHP files. options: lines of php.ini, such as "opcache.enable=0".
    """

    pool: str = "www"
    manager: str = "static"
    max_children: int = 8
    start_servers: int = 2
    max_spare_servers: int = 4
    max_requests: int = 0
    backlog: int = 511
    pool_lines: str = ""
    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


class Php:
    """A php-fpm that runs on 127.0.0.1:port. `directory` holds the PHP files, `server` is the master process."""

    def __init__(
        self,
        environment: LabEnvironment,
        port: int,
        files: tuple[str, ...] = ("shop.php",),
        settings: PhpSettings | None = None,
        *,
        group: Group | None = None,
    ) -> None:
        """Install `files` of lab/real/programs, start php-fpm and wait until it listens."""
        self.environment, self.port, self.settings = environment, port, settings or PhpSettings()
        self.directory = environment.directory / "srv" / self.settings.pool
        self.directory.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(PROGRAMS / file, self.directory / file)
        self._group = group
        environment.host_sh("install -d -o www-data /run/php")
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The master process."""
        return self.server.pid

    def start(self) -> None:
        """Start the master, and wait until it listens."""
        values = {item.name: getattr(self.settings, item.name) for item in dataclasses.fields(self.settings)}
        variables = values.pop("variables")
        lines = "\n".join(f"env[{name}] = {value}" for name, value in variables.items())
        configuration = self.environment.directory / f"php-fpm-{self.settings.pool}.conf"
        configuration.write_text(CONFIGURATION.format(**values, port=self.port, environment_lines=lines))
        command = [
            "php-fpm8.2",
            "--nodaemonize",
            "--allow-to-run-as-root",
            "--fpm-config",
            str(configuration),
            *(word for line in self.settings.options for word in ("-d", line)),
        ]
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command, self._group)
        wait_for(
            lambda: self.server.poll() is not None or self._is_listening(), f"php-fpm on port {self.port}"
        )
        if self.server.poll() is not None:
            raise RuntimeError(
                f"php-fpm ended: {self.environment.host_sh('tail -c 800 /run/php/php-fpm.log')}"
            )

    def stop(self) -> None:
        """End php-fpm and its workers."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "php-fpm to end")

    def restart(self, **changes: object) -> None:
        """Start again, with these settings changed."""
        self.stop()
        self.settings = dataclasses.replace(self.settings, **changes)  # type: ignore[arg-type]
        self.start()

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
