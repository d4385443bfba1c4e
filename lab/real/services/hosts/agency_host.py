"""A travel agency: pages that ask an airline through a Squid, and tills of branches that keep tunnels through it."""

from __future__ import annotations

import random
import sys

from lab.environment import LabEnvironment
from lab.real.services.daemons.squid import Squid
from lab.real.services.hosts.office_host import Office
from lab.real.services.web_neighbours import PROGRAMS, ApiServer, draw_ports
from lab.scenario import Live


class Agency:
    """The agency that runs. `office` is its application."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start the airline, Squid and the application."""
        self.environment, self.rng = environment, rng
        airline_port, self.till_port = draw_ports(rng, 2)
        airline = ApiServer(
            environment, environment.client_address, airline_port, client_side=True,
            delay_ms=rng.uniform(15, 40), work_us=150, answer_bytes=rng.randrange(1000, 6000),
        )  # fmt: skip
        self.squid = Squid(
            environment, rng.choice((3128, 3128, 8080)), rng.choice((512, 640, 768)),
            keeps_connections=rng.random() < 0.5,
        )  # fmt: skip
        variables = {
            "PROXY": f"http://127.0.0.1:{self.squid.port}", "AIRLINE": f"http://{airline.address}",
            "TIMEOUT_S": f"{rng.uniform(0.8, 2.5):.1f}",
        }  # fmt: skip
        self.office = Office(
            environment, rng, "stores/flights_app.py", variables, threads=rng.choice((16, 24))
        )

    def start_tills(self, tills: int, *, serves: bool = False) -> None:
        """Start tills on other hosts; `serves`: with their head office."""
        self.environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "clients" / "branch_tills.py"),
             "--proxy", f"{self.environment.host_address}:{self.squid.port}",
             "--office", f"{self.environment.client_address}:{self.till_port}", "--tills", str(tills),
             "--pause-s", f"{self.rng.uniform(4, 9):.1f}", "--seed", str(self.rng.randrange(10_000)),
             *(("--serves",) if serves else ())]
        )  # fmt: skip

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        paths = ["/seats/{n}"] * self.rng.randrange(2, 5) + ["/airports/{n}"] * self.rng.randrange(2, 4)
        self.office.start_clients(rate, paths)

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        pid = self.rng.choice((self.squid.pid, self.office.app.pid))
        return self.office.build_live(pid, descriptors=self.squid.descriptors, **parameters)
