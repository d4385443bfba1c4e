"""Volumes beneath a database of measurements and beneath a queue: a thirteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.towns.greenhouse_host import Greenhouses
from lab.real.services.towns.town import Town
from lab.real.services.towns.volumes import mount_small_disk, read_mount_options
from lab.real.services.towns.warehouse_host import Warehouse
from lab.scenario import Live, Scenario


@contextmanager
def _readings_of_greenhouses(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether a job reads the old exports, of which a directory was overwritten long ago."""
    greenhouses = Greenhouses(Town(environment, rng))
    greenhouses.start_clients(rng.uniform(40, 60))
    environment.host_sh(f"ls {greenhouses.old} 2>&1 | tail -1")
    wait_for(
        lambda: "ro" in read_mount_options(environment, greenhouses.volume).replace("_", ",").split(","),
        "the kernel",
    )
    time.sleep(3.0)
    pid = rng.choice((greenhouses.influxdb.pid, greenhouses.nginx.pid))
    yield greenhouses.town.build_live(pid)


@contextmanager
def _picks_of_a_warehouse(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether another container writes its exports to the disk of the queue."""
    volume, speed = f"/srv/{rng.choice(('data', 'volume1', 'warehouse'))}", rng.uniform(7, 11)
    town = Town(environment, rng)
    exports = town.create_group(rng.choice(("exports", "reporting", "analytics")))
    with mount_small_disk(environment, volume, rng.randrange(600, 900), speed, (environment.app, exports)):
        warehouse = Warehouse(town, volume, exports)
        warehouse.start_clients(rng.uniform(35, 50))
        megabytes = rng.randrange(14, 24)
        warehouse.start_exports(megabytes, rng.uniform(2.5, 5))
        time.sleep(10.0)
        pid = rng.choice((warehouse.queue.pid, warehouse.app.pid))
        yield town.build_live(pid, megabytes=megabytes, mb_per_s=round(speed, 1))


SCENARIOS = (
    Scenario(
        "greenhouse-readings", "development", "readings-of-greenhouses", ("filesystem-read-only",),
        "ext4 reads a directory that was overwritten and makes the volume read-only; InfluxDB can write no value.",
        _readings_of_greenhouses, needs=("influxd", "nginx", "curl", "mkfs.ext4", "debugfs", "setpriv"), seconds=10.0,
        software=("influxdb", "nginx"),
    ),
    Scenario(
        "warehouse-picks", "development", "picks-of-a-warehouse", ("journal-stall", "disk-saturation"),
        "Commits of the journal take along what a neighbor writes; each job that beanstalkd confirms waits for one.",
        _picks_of_a_warehouse, needs=("beanstalkd", "gunicorn", "nginx", "mkfs.ext4"), seconds=10.0,
        software=("beanstalkd", "gunicorn", "nginx"),
    ),
)  # fmt: skip
