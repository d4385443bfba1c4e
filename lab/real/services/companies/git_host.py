"""Repositories of a company over HTTP: nginx, fcgiwrap and git, builds that look for changes, and branch offices."""

from __future__ import annotations

import random
import time

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.gateways.fcgiwrap import Fcgiwrap
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings
from lab.real.services.web_neighbours import choose_scope, draw_ports, start_neighbours, start_requests
from lab.scenario import Live

# A branch office behind a thin line copies the large repository again and again.
BRANCH = """
while :; do curl -s -m 600 --limit-rate {kilobytes}k -o /dev/null --data-binary @{request} \
-H 'Content-Type: application/x-git-upload-pack-request' http://{address}/{media}.git/git-upload-pack
sleep {pause_s}; done
"""


class GitHost:
    """The services that run. `parameters` collects what was chosen."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, children: int) -> None:
        """Start fcgiwrap, nginx and neighbors."""
        self.environment, self.rng = environment, rng
        (port,) = draw_ports(rng, 1)
        self.fcgiwrap = Fcgiwrap(environment, rng, children)
        self.nginx = Nginx(environment, port, NginxSettings(server_lines=self.fcgiwrap.build_location()))
        for number in range(self.fcgiwrap.repositories):
            self.nginx.add_file(f"readme/{number}", rng.randrange(1000, 9000))
        self.parameters: dict[str, object] = {
            "port": port, "children": children, "repositories": self.fcgiwrap.repositories,
            "neighbours": start_neighbours(environment, rng),
        }  # fmt: skip

    def start_branches(self, branches: int) -> None:
        """Start branch offices."""
        request = self.fcgiwrap.write_request()
        for _ in range(branches):
            words = BRANCH.format(
                kilobytes=self.rng.randrange(250, 500), request=request, address=self.nginx.address,
                media=self.fcgiwrap.media, pause_s=f"{self.rng.uniform(0.3, 1.2):.1f}",
            )  # fmt: skip
            self.environment.on_client(["sh", "-c", words])
        self.parameters |= {"branches": branches}

    def start_clients(self, rate: float) -> None:
        """Start builds and readers, and measure the healthy phase."""
        paths = ["/p{n}.git/info/refs?service=git-upload-pack"] * self.rng.randrange(2, 4) + ["/readme/{n}"]
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths,
            options=("--timeout-s", 4, "--range", self.fcgiwrap.repositories),
        )  # fmt: skip
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(3.0)
        self.parameters |= {"rate": rate, "healthy": self.load.baseline(4.0)}

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        pid = self.rng.choice((self.fcgiwrap.pid, self.nginx.pid))
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, pid), self.parameters | parameters,
            self.load.stats, ACCESS_LOG, mark=self.load.mark,
        )  # fmt: skip
