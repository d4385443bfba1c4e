"""A Caddy on the host, in a container of its own: files, and what it passes on to an application."""

from __future__ import annotations

import random
import subprocess

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

CADDYFILE = """
{{
    admin off
    auto_https off
}}
http://{address}:{port} {{
    bind {address}
    log {{
        output file /run/caddy/access.log
    }}
    encode gzip
    handle /rooms/* {{
        reverse_proxy {upstream}
    }}
    handle {{
        root * {root}
        file_server
    }}
}}
"""


class Caddy:
    """A Caddy that runs. `server` is its process, `pages` the number of its pages /pages/0.html, ..."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, port: int, upstream: str, group: Group
    ) -> None:
        """Write the pages, start Caddy and wait until it listens."""
        self.environment, self.port = environment, port
        directory = environment.directory / "caddy"
        root = directory / "www"
        (root / "pages").mkdir(parents=True)
        self.pages = rng.randrange(30, 90)
        for number in range(self.pages):
            text = f"<h1>Room {number}</h1>" + "<p>View of the sea, with breakfast.</p>" * rng.randrange(
                20, 400
            )
            (root / "pages" / f"{number}.html").write_text(text)
        file = directory / "Caddyfile"
        file.write_text(
            CADDYFILE.format(address=environment.host_address, port=port, upstream=upstream, root=root)
        )
        environment.host_sh("mkdir -p /run/caddy")
        words = ["env", f"HOME={directory}", f"XDG_DATA_HOME={directory}", f"XDG_CONFIG_HOME={directory}"]
        self.server: subprocess.Popen[bytes] = environment.on_host(
            [*words, "caddy", "run", "--config", str(file), "--adapter", "caddyfile"], group
        )
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "Caddy", 30.0)

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid
