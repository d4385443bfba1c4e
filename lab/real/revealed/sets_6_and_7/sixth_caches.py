"""Stores of one kind of data in memory, and the services in front of them: a sixth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.bus_host import BusCompany
from lab.real.services.hosts.office_host import Office
from lab.real.services.redis import Redis
from lab.real.services.web_neighbours import draw_ports
from lab.scenario import Live, Scenario

# A directory whose blocks are not what they were: nothing reads them until a job does.
SPOIL = """
mkdir {folder}; i=0; while [ $i -lt {files} ]; do : >"{folder}/{year}-$i.pdf"; i=$((i + 1)); done
sync; device=$(findmnt -no SOURCE {data}); umount {data}
for block in $(debugfs -R "blocks /{name}" {image} 2>/dev/null); do
dd if=/dev/urandom of={image} bs={block_bytes} seek=$block count=1 conv=notrunc,fsync status=none; done
loop=$(losetup --find --show --direct-io=on {image})
mount -o noatime,errors=remount-ro $loop {data} || {{ losetup -d $loop; exit 1; }}; losetup -d $loop
"""
TIDY = "while :; do find {folder} -name '*.pdf' -mtime +{days} -delete >/dev/null 2>&1; sleep {pause_s}; done"


@contextmanager
def _tidy_receipts(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a job that tidies a directory, which the disk has lost."""
    application = LabApplication(environment, rng)
    image = application.disk(rng.randrange(150, 300), options="noatime,errors=remount-ro")
    name = rng.choice(("receipts", "invoices", "scans", "letters"))
    folder = f"{DATA}/{name}"
    block_bytes = int(environment.host_sh(f"stat -f -c %S {DATA}"))
    environment.host_sh(
        SPOIL.format(
            folder=folder, files=rng.randrange(300, 900), year=rng.randrange(2021, 2026), data=DATA, name=name,
            image=image, block_bytes=block_bytes,
        )
    )  # fmt: skip
    environment.host_sh(f"mkdir {DATA}/redis")
    (port,) = draw_ports(rng, 1)
    seconds, changes = rng.choice(((5, 1), (6, 10), (10, 20)))
    redis = Redis(environment, port, "--save", f"{seconds} {changes}", "--dir", f"{DATA}/redis")
    items = rng.randrange(3_000, 9_000)
    redis.populate(items, "item", rng.randrange(300, 1500))
    office = Office(
        environment, rng, "stores/baskets_app.py", {"REDIS": redis.address, "ITEMS": str(items)},
        threads=rng.choice((8, 12, 16)),
    )  # fmt: skip
    baskets = rng.randrange(2, 4)
    paths = ["/baskets/{n}"] * baskets + ["/items/{n}"] * rng.randrange(4, 7) + ["/slots/{n}"]
    office.start_clients(rng.uniform(50, 85), paths, warm_s=8.0)
    words = TIDY.format(folder=folder, days=rng.choice((30, 90, 365)), pause_s=rng.randrange(5, 20))
    environment.on_host(["sh", "-c", words])
    wait_for(lambda: "rdb_last_bgsave_status:err" in redis.run("INFO", "persistence"), "Redis", 40.0)
    time.sleep(3.0)
    yield office.build_live(rng.choice((redis.pid, office.app.pid)), items=items, save=(seconds, changes))


@contextmanager
def _screens_at_stops(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many screens at stops read from the memcached, each with a connection that it keeps."""
    few = rng.randrange(20, 60)
    company = BusCompany(environment, rng, few)
    company.start_clients(rng.uniform(45, 75))
    more = company.limit - few + rng.randrange(10, 40)
    company.start_screens(more)
    time.sleep(12.0)
    yield company.build_live(few=few, more=more)


SCENARIOS = (
    Scenario(
        "grocer-receipts", "development", "tidied-receipts", ("filesystem-read-only",),
        "A job reads a damaged directory, the file system goes read-only, and Redis that cannot save takes no writes.",
        _tidy_receipts, needs=("redis-server", "nginx", "gunicorn", "mkfs.ext4", "debugfs"), seconds=10.0,
        software=("redis", "gunicorn", "nginx"), global_effect=("disk",),
    ),
    Scenario(
        "bus-screens", "development", "more-screens", ("connection-limit",),
        "Screens hold all connections of memcached; the pages get none and wait for the planner instead.",
        _screens_at_stops, needs=("memcached", "nginx", "gunicorn"), seconds=10.0,
        software=("memcached", "gunicorn", "nginx"),
    ),
)  # fmt: skip
