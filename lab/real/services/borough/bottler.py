"""A bottler: gunicorn behind nginx, a beanstalkd, and printers that take labels and sheets from it."""

from __future__ import annotations

import sys

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.beanstalkd import Beanstalkd
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer


class Bottler:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        port, queue_port, codes_port, press_port = town.take_ports(4)
        spool = self.environment.directory / "spool"
        self.environment.host_sh(f"install -d -o www-data {spool}")
        self.queue = Beanstalkd(self.environment, queue_port, str(self.environment.directory / "jobs"))
        partners = [
            ApiServer(
                self.environment, self.environment.client_address, partner_port, client_side=True,
                delay_ms=delay_ms, work_us=rng.uniform(50, 150), answer_bytes=rng.randrange(300, 1_500),
            )
            for partner_port, delay_ms in ((codes_port, rng.uniform(8, 20)), (press_port, rng.uniform(2_400, 2_900)))
        ]  # fmt: skip
        self.printers = [
            self.environment.on_host(
                [sys.executable, "-B", str(PROGRAMS / "borough" / "printer.py"), "--queue", self.queue.address,
                 "--codes", partners[0].address, "--press", partners[1].address, "--spool", str(spool)]
            )
            for _ in range(rng.choice((8, 9)))
        ]  # fmt: skip
        self.app = Gunicorn(
            self.environment, port, "borough/labels_app.py", address="127.0.0.1", workers=2,
            threads=rng.choice((28, 32)),
            variables={
                "QUEUE": self.queue.address, "SPOOL": str(spool), "RUN_S": str(rng.choice((60, 90, 120))),
                "ROUNDS": str(rng.randrange(300, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("labels", (f"127.0.0.1:{port}",))
        town.parameters |= {"labels": port, "queue": queue_port, "printers": len(self.printers)}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "labels")

    @staticmethod
    def draw_paths(town: Town) -> list[str]:
        """Return what sellers ask for: many labels, one sheet, and bottles."""
        labels, bottles = town.rng.randrange(5, 8), town.rng.randrange(1, 4)
        return ["/labels/{n}"] * labels + ["/sheets/{n}"] + ["/bottles/{n}"] * bottles
