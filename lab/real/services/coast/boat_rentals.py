"""Boats for rent: a Java service in a container, next to containers of the same customer that make reports."""

from __future__ import annotations

import random
import time

from lab.cgroups import Group
from lab.load import wait_for
from lab.real.services.java import build_classes
from lab.real.services.quarter.practice_host import read_cpu_s
from lab.real.services.towns.town import Town

REPORT = """
while :; do sort -t, -k{column} -g {data} | awk -F, '{{ sums[$2] += $3 }} END {{ for (k in sums) print k, sums[k] }}' \
    >{data}.{number}; sleep {pause_s:.1f}; done
"""


class BoatRentals:
    """The service that runs. `pod` is its container, `customer` the group of all containers of the customer."""

    def __init__(self, town: Town) -> None:
        """Start it."""
        self.town, rng, self.environment = town, town.rng, town.environment
        name = rng.choice(("customer-7", "tenants", "rentals.slice"))
        self.customer = town.create_group(name)
        self.pod = Group(
            f"{self.customer.path}/{rng.choice(('boats', 'web'))}", self.environment.host_sh
        ).create()
        self.office = Group(f"{self.customer.path}/office", self.environment.host_sh).create()
        self.port = town.take_ports(1)[0]
        self.access_log = str(self.environment.directory / "rentals.log")
        classes = build_classes(self.environment, "coast/Rentals.java")
        days, threads = rng.randrange(1_200, 1_500), rng.choice((16, 24, 32))
        self.server = self.environment.on_host(
            ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dsun.net.httpserver.nodelay=true",
             f"-Dthreads={threads}", f"-Ddays={days}", "-cp", str(classes), "Rentals",
             self.environment.host_address, str(self.port), "-", self.access_log], self.pod,
        )  # fmt: skip
        listing = f"ss -Hltn sport = :{self.port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the boats", 40.0)
        town.parameters |= {"rentals": self.port, "days": days, "threads": threads, "customer": name}

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    def measure_cpus(self, seconds: float) -> float:
        """Return how many CPUs the service uses."""
        before = read_cpu_s(self.pod)
        time.sleep(seconds)
        return (read_cpu_s(self.pod) - before) / seconds

    def make_reports(self, count: int, rows: int, pause_s: float) -> None:
        """Make so many reports at a time, again and again, in the office of the customer."""
        rng = self.town.rng
        draw = random.Random(rng.randrange(1_000))
        data = self.environment.directory / "bookings.csv"
        lines = (f"{n},{draw.randrange(400)},{draw.uniform(20, 900):.2f}\n" for n in range(rows))
        data.write_text("".join(lines))
        for number in range(count):
            script = REPORT.format(column=rng.choice((2, 3)), data=data, number=number, pause_s=pause_s)
            self.environment.on_host(["sh", "-c", script], self.office)
        self.town.parameters |= {"reports": count, "rows": rows}
