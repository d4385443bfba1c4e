"""A small web application behind nginx with its neighbors and clients, in front of a store of the scenario."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import choose_scope, draw_ports, start_neighbours, start_requests
from lab.scenario import Live


class Office:
    """The application that runs. `parameters` collects what was chosen."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, application: str, variables: Mapping[str, str],
        *, threads: int,
    ) -> None:  # fmt: skip
        """Start the neighbors, gunicorn with two workers of `threads` threads, and nginx."""
        self.environment, self.rng = environment, rng
        port, app_port = draw_ports(rng, 2)
        name = Path(application).stem.partition("_")[0]
        self.parameters: dict[str, object] = {"port": port, "neighbours": start_neighbours(environment, rng)}
        self.app = Gunicorn(
            environment, app_port, application, address="127.0.0.1", workers=2, threads=threads, variables=variables
        )  # fmt: skip
        lines = NginxSettings(
            http_lines=build_upstream(name, (f"127.0.0.1:{app_port}",)), server_lines=build_proxy("/", name)
        )
        self.nginx = Nginx(environment, port, lines)

    def start_clients(
        self, rate: float, paths: list[str], *, warm_s: float = 3.0, range_: int = 100_000
    ) -> None:
        """Start clients, and measure the healthy phase after a warm-up."""
        options = ("--timeout-s", 4, "--range", range_)
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths, options=options
        )
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.parameters |= {"rate": rate, "paths": paths, "healthy": self.load.baseline(4.0)}

    def build_live(self, pid: int, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        scope = choose_scope(self.environment, self.rng, pid)
        return Live(
            self.environment.host,
            scope,
            self.parameters | parameters,
            self.load.stats,
            ACCESS_LOG,
            mark=self.load.mark,
        )
