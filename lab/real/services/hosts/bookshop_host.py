"""Suggestions of a bookshop, which numpy works out, with its neighbors and clients."""

from __future__ import annotations

import random

from lab.environment import LabEnvironment
from lab.real.services.hosts.office_host import Office


class Bookshop:
    """The shop that runs. `office` is its application, `sizes` the numbers of its matrices."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start the application, whose matrix products run in one thread."""
        self.rng = rng
        self.sizes = {
            "SHELVES": rng.randrange(8, 13), "TITLES": rng.randrange(1200, 1800),
            "TASTES": rng.choice((96, 128)), "READERS": rng.choice((80, 100, 120)),
        }  # fmt: skip
        variables = {name: str(number) for name, number in self.sizes.items()}
        variables |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": rng.choice(("active", "passive"))}
        self.office = Office(environment, rng, "stores/similar_app.py", variables, threads=rng.choice((3, 4)))

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        paths = ["/similar/{n}"] * self.rng.randrange(3, 5) + ["/titles/{n}"] * self.rng.randrange(1, 3)
        self.office.start_clients(rate, paths)
