"""An HAProxy on the host: one frontend, one backend, and restarts with other settings."""

from __future__ import annotations

import dataclasses
import subprocess
from dataclasses import dataclass

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

CONFIGURATION = """
global
    maxconn {global_maxconn}
    nbthread {threads}
    stats socket /run/haproxy/admin.sock mode 660 level admin
    pidfile /run/haproxy/haproxy.pid
    {global_lines}
defaults
    mode http
    option http-keep-alive
    timeout connect 3s
    timeout client {client_timeout}
    timeout server 30s
    timeout queue {queue_timeout}
frontend {frontend}
    bind {address}:{port} backlog {backlog}
    {frontend_maxconn}
    {frontend_lines}
    default_backend {backend}
backend {backend}
    balance {balance}
    {backend_lines}
{servers}
{more_lines}
"""


@dataclass(frozen=True, slots=True)
class HaproxySettings:
    """What a scenario may set.

    maxconn: of the frontend; 0 leaves it to the global one. server_words: of every server, such as "maxconn 20".
    more_lines: further sections.
    """

    frontend: str = "www"
    backend: str = "app"
    servers: tuple[str, ...] = ()
    server_words: str = ""
    global_maxconn: int = 8_000
    maxconn: int = 0
    threads: int = 2
    backlog: int = 1024
    balance: str = "leastconn"
    client_timeout: str = "30s"
    queue_timeout: str = "10s"
    global_lines: str = ""
    frontend_lines: str = ""
    backend_lines: str = ""
    more_lines: str = ""


class Haproxy:
    """An HAProxy that runs. `server` is its process."""

    def __init__(
        self, environment: LabEnvironment, port: int, settings: HaproxySettings, *, group: Group | None = None
    ) -> None:
        """Start HAProxy and wait until it listens."""
        self.environment, self.port, self.settings, self._group = environment, port, settings, group
        environment.host_sh("mkdir -p /run/haproxy")
        self.start()

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def start(self) -> None:
        """Start HAProxy, and wait until it listens."""
        values = dataclasses.asdict(self.settings)
        words, maxconn = values.pop("server_words"), values.pop("maxconn")
        values["servers"] = "\n".join(
            f"    server {self.settings.backend}{number} {server} {words}"
            for number, server in enumerate(self.settings.servers, 1)
        )
        configuration = self.environment.directory / "haproxy.cfg"
        configuration.write_text(
            CONFIGURATION.format(
                **values, address=self.environment.host_address, port=self.port,
                frontend_maxconn=f"maxconn {maxconn}" if maxconn else "",
            )
        )  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["haproxy", "-db", "-f", str(configuration)], self._group
        )
        wait_for(
            lambda: self.server.poll() is not None or self._is_listening(), f"HAProxy on port {self.port}"
        )
        if self.server.poll() is not None:
            raise RuntimeError(
                f"HAProxy ended: {(self.environment.directory / 'programs.log').read_text()[-800:]}"
            )

    def stop(self) -> None:
        """End HAProxy at once."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "HAProxy to end")

    def restart(self, **changes: object) -> None:
        """Start again, with these settings changed."""
        self.stop()
        self.settings = dataclasses.replace(self.settings, **changes)  # type: ignore[arg-type]
        self.start()

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
