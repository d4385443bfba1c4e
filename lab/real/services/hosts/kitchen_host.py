"""Orders of a kitchen: an application hands them to a RabbitMQ on a volume of its own, and kitchens take them."""

from __future__ import annotations

import os
import random
import time

from lab.application import DATA, LabApplication
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.daemons.rabbitmq import RabbitMq
from lab.real.services.hosts.office_host import Office
from lab.real.services.web_neighbours import PROGRAMS
from lab.scenario import Live

MIB = 1 << 20


class Kitchen:
    """The services that run. `office` is the application."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start RabbitMQ, the kitchens and the application."""
        self.environment, self.rng = environment, rng
        LabApplication(environment, rng).disk(rng.randrange(700, 1300))
        self.data = f"{DATA}/{rng.choice(('rabbitmq', 'broker', 'queues'))}"
        environment.host_sh(f"mkdir {self.data}")
        self.rabbitmq = RabbitMq(environment, rng, rng.choice((5672, 5672, 5673)), self.data)
        queue = rng.choice(("kitchen", "dishes", "tickets"))
        for _ in range(rng.randrange(2, 4)):
            environment.on_host(
                ["/usr/bin/python3", "-B", str(PROGRAMS / "clients" / "kitchen_printer.py"),
                 "--port", str(self.rabbitmq.port), "--queue", queue, "--work-ms", f"{rng.uniform(2, 6):.1f}"]
            )  # fmt: skip
        time.sleep(1.5)
        variables = {
            "BROKER_PORT": str(self.rabbitmq.port),
            "QUEUE": queue,
            "TIMEOUT_S": f"{rng.uniform(0.6, 2):.1f}",
        }
        self.office = Office(
            environment, rng, "stores/kitchen_app.py", variables, threads=rng.choice((12, 16, 24))
        )

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        rng = self.rng
        paths = ["/orders/{n}"] * rng.randrange(2, 4) + ["/menu/{n}"] * rng.randrange(2, 4)
        self.office.start_clients(rate, [*paths, "/hours/{n}"], warm_s=5.0)

    def count_free_mb(self) -> int:
        """Return what programs may still write to the volume."""
        figures = os.statvfs(f"/proc/{self.environment.host.process.pid}/root{DATA}")
        return figures.f_bavail * figures.f_frsize // MIB

    def copy_archive(self, megabytes: int) -> None:
        """Let a job leave a copy of this size on the volume."""
        name = self.rng.choice(("archive", "weekly", "sales"))
        words = f"mkdir -p {DATA}/copies; head -c {megabytes}M /dev/zero >{DATA}/copies/{name}.tar; sync -f {DATA}"
        job = self.environment.on_host(["sh", "-c", words])
        wait_for(lambda: job.poll() is not None, "the copy", 60.0)

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        pid = self.rng.choice((self.rabbitmq.pid, self.office.app.pid))
        return self.office.build_live(pid, **parameters)
