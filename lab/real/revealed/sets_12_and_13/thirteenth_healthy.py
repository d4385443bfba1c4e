"""A host that is busy and healthy: volumes, a recorder, a container and a line that only look suspicious."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.towns.far_site import FarSite
from lab.real.services.towns.greenhouse_host import Greenhouses
from lab.real.services.towns.hotel_host import Hotel
from lab.real.services.towns.town import Town
from lab.real.services.towns.volumes import mount_small_disk
from lab.real.services.towns.warehouse_host import Warehouse
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

COPIES = """
head -c {kilobytes}k /dev/zero >{file}
while :; do curl -s -m 5 -o /dev/null --data-binary @{file} http://{address}/scans/copy; sleep {pause_s:.1f}; done
"""


@contextmanager
def _greenhouses_and_more(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Calls are packed within milliseconds, exports are small, packets for another site made smaller in time."""
    site = FarSite(environment, rng)
    mtu = rng.choice((1280, 1380, 1420))
    site.move_line(mtu)
    town = Town(environment, rng)
    copies = COPIES.format(
        kilobytes=rng.randrange(20, 90), file=environment.directory / "scan", address=site.address,
        pause_s=rng.uniform(0.5, 2),
    )  # fmt: skip
    environment.on_host(["sh", "-c", copies])
    cache = town.create_group(rng.choice(("cache", "sessions")))
    cache.file("memory", "memory.oom_control", "memory.oom.group").write_text("1")
    cache.limit_memory(rng.randrange(40, 90) << 20)
    port = town.take_ports(1)[0]
    environment.on_host(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port), "-m", "24"], cache)
    # Documents of former years, which no program may change.
    environment.host_sh("mkdir -p /srv/former; mount -t tmpfs -o ro,size=4m former /srv/former")
    volume, speed = "/srv/warehouse", rng.uniform(9, 14)
    exports = town.create_group("exports")
    with mount_small_disk(environment, volume, rng.randrange(300, 500), speed, (environment.app, exports)):
        greenhouses = Greenhouses(town)
        hotel = Hotel(town, rng.randrange(80, 200), rng.uniform(0.4, 0.8))
        hotel.start_recorder(rng.randrange(10, 60))
        warehouse = Warehouse(town, volume, exports)
        warehouse.start_exports(1, rng.uniform(5, 9))
        start_requests(
            environment, rng, warehouse.nginx.address, rng.uniform(5, 9), "/picks/{n}", "/shelves/{n}"
        )
        start_requests(
            environment, rng, hotel.caddy.address, rng.uniform(6, 12), "/rooms/{n}", "/pages/{n}.html",
            options=("--range", hotel.caddy.pages),
        )  # fmt: skip
        greenhouses.start_clients(rng.uniform(30, 45))
        yield town.build_live(rng.choice((greenhouses.influxdb.pid, greenhouses.nginx.pid)), mtu=mtu)


SCENARIOS = (
    Scenario(
        "busy-greenhouses", "healthy", "healthy", (),
        "InfluxDB, beanstalkd and Caddy with a real-time neighbor that is brief, a read-only mount and a smaller MTU.",
        _greenhouses_and_more,
        needs=(
            "influxd", "beanstalkd", "caddy", "nginx", "gunicorn", "memcached", "curl", "mkfs.ext4", "debugfs", "chrt",
            "setpriv",
        ),
        software=("influxdb", "beanstalkd", "caddy", "nginx", "gunicorn"),
    ),
)  # fmt: skip
