"""A volume, a line and a firewall beneath the services of small shops: a fifteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.quarter.marina_host import Furniture, Pharmacy, Volume
from lab.real.services.storefront import Storefront
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario

TABLE_LIMIT = "/proc/sys/net/netfilter/nf_conntrack_max"


@contextmanager
def _berths_of_a_marina(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many requests a second the volume of MariaDB does."""
    storefront = Storefront(environment, rng)
    volume = Volume(environment, rng, rng.randrange(2_500, 4_000))
    mariadb = volume.start_mariadb(rng)
    storefront.start_php(mariadb, children=rng.choice((10, 12, 16)), persistent=True)
    paths = (
        ["/orders/{n}"] * rng.randrange(4, 6) + ["/products/{n}"] * rng.randrange(3, 5) + ["/checkout/{n}"]
    )
    storefront.start_clients(rng.uniform(35, 45), paths, timeout_s=4.0)
    storefront.measure_baseline(4.0, warm_s=4.0)
    before = volume.count_reads()
    time.sleep(5.0)
    needed = (volume.count_reads() - before) / 5
    iops = max(10, round(needed * rng.uniform(0.7, 0.8)))
    volume.change_speed(iops)
    time.sleep(6.0)
    yield storefront.build_live(rng.choice((mariadb.pid, 0)), needed=round(needed), iops=iops)


@contextmanager
def _pictures_of_furniture(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether copies for a photo studio are held to a rate."""
    town = Town(environment, rng)
    furniture = Furniture(town, rng.randrange(45, 70))
    copies = rng.randrange(8, 13)
    furniture.start_copies(copies, rng.randrange(40, 60))
    paths = ["/pictures/{n}.jpg"]
    town.start_clients(furniture.nginx.address, furniture.draw_rate(), paths, range_=furniture.pictures)
    furniture.stop_copies()
    furniture.start_copies(copies)
    time.sleep(5.0)
    yield town.build_live(furniture.nginx.pid, copies=copies)


@contextmanager
def _visits_of_tills(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many connections the kernel remembers."""
    town = Town(environment, rng)
    remembered_s = rng.choice((20, 25, 30))
    pharmacy = Pharmacy(town, remembered_s=remembered_s)
    paths = ["/stock/{n}"] * rng.randrange(2, 4) + ["/prices/{n}"]
    # Until as many connections are forgotten as are added.
    town.start_clients(pharmacy.haproxy.address, rng.uniform(55, 75), paths, warm_s=remembered_s + 2.0)
    most = round(pharmacy.count_connections() * rng.uniform(0.6, 0.75))
    environment.cleanup.set_global(TABLE_LIMIT, str(most))
    time.sleep(remembered_s / 2)
    yield town.build_live(pharmacy.haproxy.pid, "", most=most)


SCENARIOS = (
    Scenario(
        "marina-berths", "development", "berths-of-a-marina", ("disk-saturation", "volume-rate-limit"),
        "The volume of MariaDB does fewer requests a second than before; statements wait for it.",
        _berths_of_a_marina, needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx", "mkfs.ext4"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "furniture-pictures", "development", "pictures-of-furniture", ("link-saturated", "qdisc-drop"),
        "Copies of albums fill the line of the host; pictures that nginx sends wait in its queue and are sent again.",
        _pictures_of_furniture, needs=("nginx", "curl", "tc"), seconds=10.0, software=("nginx", "curl"),
    ),
    Scenario(
        "pharmacy-stock", "development", "visits-of-tills", ("conntrack-table-full",),
        "The kernel may remember fewer connections than the firewall of the host has; new ones of tills are dropped.",
        _visits_of_tills, needs=("haproxy", "iptables"), seconds=10.0, software=("haproxy", "iptables"),
        global_effect=("conntrack",),
    ),
)  # fmt: skip
