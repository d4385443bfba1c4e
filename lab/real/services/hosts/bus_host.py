"""Routes of buses in a memcached, which screens at the stops read too; a planner on another host computes them."""

from __future__ import annotations

import random
import subprocess
import sys

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.office_host import Office
from lab.real.services.web_neighbours import PROGRAMS, ApiServer, draw_ports
from lab.scenario import Live


class BusCompany:
    """The company that runs. `limit` is the number of connections that its memcached accepts."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, screens: int) -> None:
        """Start memcached and `screens` screens."""
        self.environment, self.rng = environment, rng
        self.limit, self.routes = rng.randrange(150, 400), rng.randrange(60, 130)
        (cache_port,) = draw_ports(rng, 1)
        self.cache_address = f"{environment.host_address}:{cache_port}"
        self.more = rng.choice((("-o", "no_maxconns_fast"), ("-o", "no_maxconns_fast"), ()))
        self.memcached: subprocess.Popen[bytes] = environment.on_host(
            ["memcached", "-u", "nobody", "-l", environment.host_address, "-p", str(cache_port),
             "-m", "64", "-t", "2", "-c", str(self.limit), *self.more]
        )  # fmt: skip
        wait_for(
            lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{cache_port}").strip()), "memcached"
        )
        self.start_screens(screens)

    def start_application(self) -> None:
        """Start the planner and the pages of routes."""
        environment, rng = self.environment, self.rng
        (planner_port,) = draw_ports(rng, 1)
        planner = ApiServer(
            environment, environment.client_address, planner_port, client_side=True,
            delay_ms=rng.uniform(250, 450), work_us=150, answer_bytes=rng.randrange(2000, 6000),
        )  # fmt: skip
        self.office = Office(
            environment, rng, "stores/routes_app.py",
            {"CACHE": self.cache_address, "PLANNER_URL": f"http://{planner.address}", "CACHE_TIMEOUT_S": "0.4"},
            threads=rng.choice((24, 32)),
        )  # fmt: skip
        self.office.parameters |= {"limit": self.limit, "options": self.more, "routes": self.routes}

    def start_screens(self, screens: int) -> None:
        """Start screens, each with a connection of its own."""
        command = [
            sys.executable, "-B", str(PROGRAMS / "clients" / "board_screens.py"), "--to", self.cache_address,
            "--screens", str(screens), "--range", str(self.routes), "--pause-s", f"{self.rng.uniform(4, 8):.1f}",
            "--seed", str(self.rng.randrange(10_000)),
        ]  # fmt: skip
        self.environment.on_client(command)

    def start_clients(self, rate: float) -> None:
        """Start the application and its clients, and measure the healthy phase once all routes are known."""
        self.start_application()
        paths = ["/routes/{n}"] * self.rng.randrange(3, 6) + ["/stops/{n}"] * self.rng.randrange(1, 4)
        self.office.start_clients(rate, paths, warm_s=24.0, range_=self.routes)

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        return self.office.build_live(
            self.rng.choice((self.memcached.pid, self.office.app.pid)), **parameters
        )
