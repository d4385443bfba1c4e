"""A lighttpd on the host, with static files."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

CONFIGURATION = """
server.modules = ( "mod_accesslog" )
server.document-root = "{root}"
server.bind = "{address}"
server.port = {port}
server.errorlog = "/run/lighttpd/error.log"
server.max-keep-alive-idle = {idle_s}
accesslog.filename = "/run/lighttpd/access.log"
mimetype.assign = ( ".css" => "text/css", ".html" => "text/html", "" => "application/octet-stream" )
"""


class Lighttpd:
    """A lighttpd that runs. `root` is the directory of its files."""

    def __init__(
        self, environment: LabEnvironment, port: int, files: dict[str, bytes], idle_s: int = 5
    ) -> None:
        """Write the files, start lighttpd and wait until it listens."""
        self.environment, self.port = environment, port
        self.root = environment.directory / "htdocs"
        for name, content in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(content)
        environment.host_sh("mkdir -p /run/lighttpd")
        configuration = environment.directory / "lighttpd.conf"
        configuration.write_text(
            CONFIGURATION.format(root=self.root, address=environment.host_address, port=port, idle_s=idle_s)
        )
        self.server: subprocess.Popen[bytes] = environment.on_host(
            ["lighttpd", "-D", "-f", str(configuration)]
        )
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "lighttpd")

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid
