"""A Squid on the host, through which its services reach other companies."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

CONFIGURATION = """
http_port {address}:{port}
http_port 127.0.0.1:{port}
acl all_methods method GET CONNECT
http_access allow all_methods
cache deny all
cache_mem 16 MB
access_log none
cache_log {directory}/cache.log
pid_filename {directory}/squid.pid
coredump_dir {directory}
max_filedescriptors {descriptors}
visible_hostname proxy
hosts_file {directory}/hosts
netdb_filename none
pinger_enable off
shutdown_lifetime 1 seconds
forwarded_for delete
server_persistent_connections {kept}
"""


class Squid:
    """A Squid that runs on the host's address and 127.0.0.1. `server` is its process."""

    def __init__(
        self, environment: LabEnvironment, port: int, descriptors: int, *, keeps_connections: bool
    ) -> None:
        """Start Squid with this limit of descriptors, and wait until it listens."""
        self.environment, self.port, self.descriptors = environment, port, descriptors
        self.directory = environment.directory / "squid"
        environment.host_sh(f"install -d -o proxy {self.directory}")
        (self.directory / "hosts").write_text(
            f"{environment.host_address} proxy\n{environment.client_address} airline\n127.0.0.1 localhost\n"
        )
        file = self.directory / "squid.conf"
        file.write_text(
            CONFIGURATION.format(
                address=environment.host_address, port=port, directory=self.directory, descriptors=descriptors,
                kept="on" if keeps_connections else "off",
            )
        )  # fmt: skip
        self.server: subprocess.Popen[bytes] = environment.on_host(["squid", "-N", "-f", str(file)])
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "Squid", 20.0)
        if self.server.poll() is not None:
            raise RuntimeError(f"Squid ended: {(environment.directory / 'programs.log').read_text()[-800:]}")

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def _is_listening(self) -> bool:
        return bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}").strip())
