"""A cooperative of farmers: pages from a PostgreSQL that works in parallel, and jobs with files in memory."""

from __future__ import annotations

import dataclasses
import random

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.office_host import Office
from lab.real.services.postgres import PostgresServer
from lab.scenario import Live

SHARED = "/dev/shm"


class Harvest:
    """The services that run. `office` is the application, `group` the container of the database."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Give the host 64 MB or more for shared memory, start PostgreSQL and the application."""
        self.environment, self.rng = environment, rng
        self.shared_mb = rng.choice((64, 64, 96))
        environment.host_sh(f"mount -t tmpfs -o mode=1777,size={self.shared_mb}m shm {SHARED}")
        host = environment.app.path.rpartition("/")[0]
        self.group = Group(f"{host}/{rng.choice(('db', 'postgres', 'coop-db'))}").create()
        threads = rng.choice((12, 16))
        settings = {
            "max_parallel_workers_per_gather": 2, "max_parallel_workers": 8, "max_worker_processes": 12,
            "parallel_setup_cost": 10, "parallel_tuple_cost": 0.01, "min_parallel_table_scan_size": "1MB",
            "max_connections": threads * 2 + 30,
        }  # fmt: skip
        self.postgres = PostgresServer(
            environment, rng, settings=settings, orders=rng.randrange(30_000, 50_000), group=self.group
        )
        variables = {"DATABASE": self.postgres.dsn, "CUSTOMERS": str(self.postgres.sizes["customers"])}
        self.office = Office(environment, rng, "stores/harvest_app.py", variables, threads=threads)

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        rng = self.rng
        paths = (
            ["/yields/{n}"] + ["/fields/{n}"] * rng.randrange(3, 5) + ["/weather/{n}"] * rng.randrange(2, 4)
        )
        self.office.start_clients(rate, paths)

    def prepare_maps(self, megabytes: int) -> None:
        """Let a job place maps of this size in shared memory; it takes no more than there is."""
        name = self.rng.choice(("tiles", "maps", "raster"))
        job = self.environment.on_host(["sh", "-c", f"head -c {megabytes}M /dev/zero >{SHARED}/{name}.bin"])
        wait_for(lambda: job.poll() is not None, "the maps")

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        pid = self.rng.choice((self.postgres.pid, self.office.app.pid))
        live = self.office.build_live(pid, shared_mb=self.shared_mb, **self.postgres.sizes, **parameters)
        if "cgroup" in live.scope:
            live = dataclasses.replace(live, scope={"cgroup": self.group.path})
        return live
