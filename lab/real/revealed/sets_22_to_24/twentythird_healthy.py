"""A host that is busy and healthy: a set of addresses, snapshots, an index that grows, and an office's names."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.nginx import NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.valley.choirs import Choirs
from lab.real.services.valley.dairy import Dairy
from lab.real.services.valley.farms import Farms
from lab.real.services.valley.trams import Trams
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _hills_at_noon(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Sets are looked up at once, snapshots are quick, the container has room, and names are known nearby."""
    town = Town(environment, rng)
    trams = Trams(town, rng.randrange(8, 12))
    trams.load_list(rng.randrange(300, 900))
    trams.load_set(rng.randrange(20_000, 40_000))
    farms = Farms(town, rng.uniform(220, 380))
    dairy = Dairy(town, rng.randrange(800, 1_400))
    lines = NginxSettings(
        http_lines=farms.upstream,
        server_lines=farms.build_location("~ ^/(arrivals|boxes|farms)/") + dairy.build_location("/"),
    )
    index_mb, files_mb = rng.randrange(50, 90), rng.randrange(80, 120)
    choirs = Choirs(town, 0, files_mb, index_mb, rng.uniform(1.5, 1.7), others=lines)
    start_requests(environment, rng, trams.haproxy.address, rng.uniform(18, 26), "/stops/{n}", "/lines/{n}")
    paths = [
        "/deliveries/{n}",
        "/rounds/{n}",
        "/arrivals/{n}",
        "/boxes/{n}",
        "/search/{n}",
        "/scores/{n}.pdf",
    ]
    with dairy.save_volume(rng.uniform(5.0, 7.0), rng.uniform(40, 120)):
        town.start_clients(choirs.nginx.address, rng.uniform(24, 34), paths, warm_s=5.0, range_=choirs.scores)
        choirs.change_index(index_mb + rng.randrange(12, 20))
        choirs.load_edition()
        time.sleep(5.0)
        pid = rng.choice(
            (choirs.nginx.pid, trams.service.pid, farms.service.pid, dairy.mariadb.pid, dairy.php.pid)
        )
        yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-hills", "healthy", "healthy", (),
        "Go with a firewall that has a large set, MariaDB with quick snapshots, nginx with a container that has room.",
        _hills_at_noon,
        needs=(
            GO, "haproxy", "redis-server", "iptables", "nft", "mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx",
            "mkfs.ext4", "fsfreeze", "curl",
        ),
        software=("go", "haproxy", "mariadb", "php-fpm", "nginx"),
    ),
)  # fmt: skip
