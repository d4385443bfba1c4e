"""Stops of trams, scores of choirs, and rounds of a dairy: a twenty-third set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.real.services.valley.choirs import Choirs
from lab.real.services.valley.dairy import Dairy
from lab.real.services.valley.trams import Trams
from lab.scenario import Live, Scenario


@contextmanager
def _stops_of_trams(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many addresses the list of the firewall has, each of them a rule."""
    town = Town(environment, rng)
    listed, stops = rng.randrange(12, 17), rng.randrange(3, 5)
    trams = Trams(town, listed)
    trams.load_list(rng.randrange(300, 900))
    # A request of a client is six packets, and each answer of the Redis is a further packet.
    rate = rng.uniform(1_350, 1_550) / (6 + listed * stops / (stops + 1))
    town.start_clients(trams.haproxy.address, rate, ["/stops/{n}"] * stops + ["/lines/{n}"])
    entries = rng.randrange(20_000, 26_000)
    trams.load_list(entries)
    # How long a packet takes for an entry depends on the machine.
    busy = trams.measure_packets(3.0)
    trams.load_list(min(60_000, round(entries * rng.uniform(0.68, 0.76) / busy)))
    time.sleep(6.0)
    yield town.build_live(trams.service.pid, trams.access_log)


@contextmanager
def _scores_of_choirs(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how much memory the index of the search takes, in the container that also has the files."""
    town = Town(environment, rng)
    index_mb, files_mb = rng.randrange(50, 90), rng.randrange(170, 230)
    iops = rng.randrange(26, 34)
    choirs = Choirs(town, iops, files_mb, index_mb, rng.uniform(1.1, 1.16))
    others = rng.randrange(1, 3)
    paths = ["/scores/{n}.pdf"] * 4 + ["/search/{n}"] * others
    rate = rng.uniform(30, 38) * (4 + others) / 4
    town.start_clients(choirs.nginx.address, rate, paths, range_=choirs.scores)
    choirs.change_index(index_mb + round(files_mb * rng.uniform(0.92, 0.98)))
    choirs.load_edition()
    time.sleep(8.0)
    yield town.build_group_live(choirs.nginx.pid, choirs.pod)


@contextmanager
def _rounds_of_a_dairy(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how long the provider takes for a snapshot, during which an agent keeps the volume frozen."""
    town = Town(environment, rng)
    dairy = Dairy(town, rng.randrange(800, 1_400))
    nginx = start_front(town, dairy.build_location("/"))
    others = rng.randrange(2, 4)
    paths = ["/deliveries/{n}"] * 2 + rng.sample(["/rounds/{n}", "/prices/{n}", "/rounds/{n}"], others)
    with dairy.save_volume(rng.uniform(5.0, 7.0), rng.uniform(40, 120)) as provider:
        town.start_clients(nginx.address, rng.uniform(22, 32), paths, warm_s=6.0)
        answer_ms = rng.uniform(5_000, 6_500)
        provider.write_settings(delay_ms=answer_ms)
        time.sleep(9.0)
        yield town.build_live(rng.choice((dairy.mariadb.pid, dairy.php.pid)), answer_ms=round(answer_ms))


SCENARIOS = (
    Scenario(
        "tram-stops", "development", "stops-of-trams", ("firewall-rules-many", "netrx-softirq-saturation"),
        "A list of addresses is a rule of the firewall each; every answer of a Redis goes through all of them.",
        _stops_of_trams, needs=(GO, "haproxy", "redis-server", "iptables"), seconds=10.0, software=("go", "haproxy"),
        global_effect=("cpu",),
    ),
    Scenario(
        "choir-scores", "development", "scores-of-choirs", ("memcg-page-cache-thrashing",),
        "A larger index of a search takes the memory of its container, in which files of nginx were cached.",
        _scores_of_choirs, needs=("nginx", "mkfs.ext4"), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "dairy-rounds", "development", "rounds-of-a-dairy",
        ("filesystem-frozen", "hanging-file-system", "dstate-pileup"),
        "An agent keeps the volume of MariaDB frozen for as long as a provider takes to make a snapshot of it.",
        _rounds_of_a_dairy,
        needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx", "mkfs.ext4", "fsfreeze", "curl"), seconds=15.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
)  # fmt: skip
