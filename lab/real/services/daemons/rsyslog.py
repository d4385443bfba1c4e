"""An rsyslog on the host that takes lines from a local socket, keeps them, and passes them on to a log host."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

SOCKET = "/run/systemd/journal/dev-log"
HOST = """
global(workDirectory="{directory}")
main_queue(queue.type="LinkedList" queue.size="{queue_size}")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{socket}" createPath="on")
*.* action(type="omfile" file="{directory}/messages")
*.* action(type="omfwd" target="{target}" port="{port}" protocol="tcp" {action_words})
"""
CENTRAL = """
module(load="imtcp")
input(type="imtcp" address="{target}" port="{port}")
*.* action(type="omfile" file="{directory}/hosts")
"""


class Rsyslog:
    """The rsyslog of the host and, on another machine, that of the log host."""

    def __init__(
        self, environment: LabEnvironment, port: int, *, queue_size: int, action_words: str = ""
    ) -> None:
        """Start both. queue_size: lines of the main queue. action_words: parameters of the action that passes on."""
        self.environment, self.port = environment, port
        self.directory = environment.directory / "log"
        self.directory.mkdir()
        values = {
            "directory": self.directory, "socket": SOCKET, "target": environment.client_address, "port": port,
            "queue_size": queue_size, "action_words": action_words,
        }  # fmt: skip
        (environment.directory / "loghost.conf").write_text(CENTRAL.format(**values))
        self.central = environment.on_client(self._build_command("loghost"))
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the log host")
        (environment.directory / "rsyslog.conf").write_text(HOST.format(**values))
        self.server: subprocess.Popen[bytes] = environment.on_host(self._build_command("rsyslog"))
        wait_for(lambda: environment.host.path(SOCKET).exists(), "rsyslog")

    @property
    def pid(self) -> int:
        """The process on the host."""
        return self.server.pid

    def _build_command(self, name: str) -> list[str]:
        base = self.environment.directory / name
        return ["rsyslogd", "-n", "-f", f"{base}.conf", "-i", f"{base}.pid"]
