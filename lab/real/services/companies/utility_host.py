"""A utility: customers enter readings, which a mosquitto keeps with the last values of all meters."""

from __future__ import annotations

import random

from lab.environment import LabEnvironment
from lab.real.services.gateways.mosquitto import Mosquitto
from lab.real.services.hosts.office_host import Office
from lab.scenario import Live


class Utility:
    """The services that run. `office` is the application of customers."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, meters: int) -> None:
        """Start mosquitto, which saves occasionally, the meters and the application."""
        self.environment, self.rng, self.meters = environment, rng, meters
        self.mosquitto = Mosquitto(
            environment, rng, rng.choice((1883, 1883, 1884)), f"autosave_interval {rng.choice((900, 1800))}"
        )
        self.mosquitto.start_meters(meters, rng.uniform(4, 9))
        variables = {
            "BROKER": f"127.0.0.1:{self.mosquitto.port}", "TIMEOUT_S": f"{rng.uniform(1.5, 3):.1f}",
        }  # fmt: skip
        self.office = Office(
            environment, rng, "stores/meters_app.py", variables, threads=rng.choice((16, 24))
        )

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        paths = ["/readings/{n}"] * self.rng.randrange(2, 4) + ["/tariffs/{n}"] * self.rng.randrange(2, 4)
        self.office.start_clients(rate, paths)

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        pid = self.rng.choice((self.mosquitto.pid, self.office.app.pid))
        return self.office.build_live(pid, meters=self.meters, **parameters)
