"""A print shop: gunicorn behind nginx, and phones that send pictures over a mobile network."""

from __future__ import annotations

import sys

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

PATHS = ("/papers/{n}", "/prices/{n}")


class PrintShop:
    """The application that runs. `upstream` is what nginx needs for it."""

    def __init__(self, town: Town, workers: int) -> None:
        """Start it."""
        self.town, self.workers = town, workers
        port = town.take_ports(1)[0]
        rounds = str(town.rng.randrange(600, 2_000))
        self.app = Gunicorn(
            town.environment, port, "trades/prints_app.py", address="127.0.0.1", workers=workers,
            variables={"ROUNDS": rounds},
        )  # fmt: skip
        self.upstream = build_upstream("prints", (f"127.0.0.1:{port}",))
        self.body_mb = town.rng.choice((20, 30, 50))
        town.parameters |= {"workers": workers, "rounds": rounds}

    def build_location(self, location: str, lines: str = "") -> str:
        """Return a location of nginx, with these directives."""
        return build_proxy(location, "prints", lines=f"client_max_body_size {self.body_mb}m; {lines}")

    def start_phones(self, to: str, phones: int) -> None:
        """Start phones, which send pictures to nginx."""
        rng = self.town.rng
        least, slowest = rng.randrange(60, 90), rng.uniform(10, 14)
        words = [
            "--phones", phones, "--kilobytes", least, least + rng.randrange(60, 90),
            "--pace", slowest, slowest + rng.uniform(6, 10), "--pause-s", rng.uniform(1.0, 2.0),
            "--seed", rng.randrange(10_000),
        ]  # fmt: skip
        program = str(PROGRAMS / "trades" / "phones.py")
        self.town.environment.on_client([sys.executable, "-B", program, "--to", to, *map(str, words)])
        self.town.parameters |= {"phones": phones}
