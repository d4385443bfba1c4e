"""A host that is busy and healthy: limits, a volume, a line and a firewall that only look suspicious."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA
from lab.environment import LabEnvironment
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.quarter.marina_host import Furniture, Pharmacy, Volume
from lab.real.services.quarter.practice_host import PATH, Practice
from lab.real.services.storefront import Storefront, choose_paths
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

PACK = """
head -c {megabytes}M /dev/urandom >{file}
while :; do sha1sum {file} >{file}.sum; sleep {pause_s:.1f}; done
"""
COUNT = "while :; do i=0; while [ $i -lt {steps} ]; do i=$((i + 1)); done; sleep {pause_s:.1f}; done"


@contextmanager
def _practice_and_more(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Jobs reach the limits of their containers, copies are held to a rate, the firewall remembers enough."""
    town = Town(environment, rng)
    archive = town.create_group(rng.choice(("archive", "backup")))
    archive.limit_memory(rng.randrange(24, 40) << 20)
    file = environment.directory / "former.tar"
    pack = PACK.format(megabytes=rng.randrange(30, 60), file=file, pause_s=rng.uniform(4, 7))
    environment.on_host(["sh", "-c", pack], archive)
    ledger = town.create_group(rng.choice(("ledger", "sums")))
    ledger.limit_cpu(rng.uniform(0.08, 0.15))
    count = COUNT.format(steps=rng.randrange(40_000, 90_000), pause_s=rng.uniform(2, 4))
    environment.on_host(["sh", "-c", count], ledger)
    storefront = Storefront(environment, rng)
    Volume(environment, rng, rng.randrange(2_500, 4_000))
    # Data on a volume with a known speed, which is enough.
    postgres = PostgresServer(environment, rng, directory=f"{DATA}/main")
    storefront.start_python(postgres)
    pharmacy = Pharmacy(town, remembered_s=rng.choice((60, 120)))
    furniture = Furniture(town, rng.randrange(80, 120))
    furniture.start_copies(rng.randrange(3, 6), rng.randrange(80, 160))
    practice = Practice(town, rng.uniform(1.2, 1.6))
    town.parameters |= storefront.parameters
    marina = f"{environment.host_address}:{storefront.port}"
    start_requests(environment, rng, marina, rng.uniform(5, 9), *choose_paths(rng))
    start_requests(
        environment, rng, pharmacy.haproxy.address, rng.uniform(7, 12), "/stock/{n}", "/prices/{n}"
    )
    start_requests(
        environment, rng, furniture.nginx.address, rng.uniform(6, 10), "/pictures/{n}.jpg",
        options=("--range", furniture.pictures),
    )  # fmt: skip
    town.start_clients(practice.apache.address, rng.uniform(9, 13), [PATH], warm_s=5.0)
    pid = rng.choice((postgres.pid, practice.php.pid, furniture.nginx.pid))
    yield town.build_group_live(pid, practice.pod, "")


SCENARIOS = (
    Scenario(
        "busy-practice", "healthy", "healthy", (),
        "php-fpm, PostgreSQL, nginx and HAProxy with jobs at the limits of their containers and copies at a rate.",
        _practice_and_more,
        needs=("apache2", "php-fpm8.2", POSTGRES, "nginx", "haproxy", "iptables", "curl", "mkfs.ext4", "tc"),
        software=("php-fpm", "apache", "postgresql", "nginx", "haproxy"),
    ),
)  # fmt: skip
