"""What hosts of a town have in common: neighbors, clients that also send, and what scenarios hand out."""

from __future__ import annotations

import dataclasses
import random
import time

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.companies.street_host import Street
from lab.real.services.nginx import ACCESS_LOG
from lab.real.services.web_neighbours import PROGRAMS, draw_ports
from lab.scenario import Live


class Town(Street):
    """The host. `parameters` collects what was chosen."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start the neighbors."""
        super().__init__(environment, rng)
        self.host = environment.app.path.rpartition("/")[0]
        self._free_ports = draw_ports(rng, 12)

    def take_ports(self, count: int) -> list[int]:
        """Return ports that no other service of the host has."""
        taken, self._free_ports = self._free_ports[:count], self._free_ports[count:]
        return taken

    def create_group(self, name: str) -> Group:
        """Return a group next to that of the applications, as a container has one."""
        return Group(f"{self.host}/{name}", self.environment.host_sh).create()

    def start_senders(
        self, to: str, rate: float, requests: list[str], line: str, *, warm_s: float = 3.0, range_: int = 1000
    ) -> None:
        """Start clients that read and send, and measure the healthy phase after a warm-up.

        requests: those of senders.py. line: what bodies consist of.
        """
        words = [word for request in requests for word in ("--request", request)]
        self.load = self.environment.load(
            "--to", to, "--rate", rate, "--timeout-s", 4, "--range", range_, "--line", line,
            "--seed", self.rng.randrange(10_000), *words, program=str(PROGRAMS / "towns" / "senders.py"),
        )  # fmt: skip
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.parameters |= {"rate": rate, "requests": requests, "healthy": self.load.baseline(4.0)}

    def build_group_live(
        self, pid: int, group: Group, access_log: str = ACCESS_LOG, **parameters: object
    ) -> Live:
        """Return what the scenario hands out; who names a group names this one."""
        live = self.build_live(pid, access_log, **parameters)
        if "cgroup" in live.scope:
            live = dataclasses.replace(live, scope={"cgroup": group.path})
        return live
