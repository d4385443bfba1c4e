"""Everyday incidents of stores: receipts in MariaDB and seats in Redis: a fourteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.trades.cinema import Cinema
from lab.real.services.trades.florist import Florist
from lab.scenario import Live, Scenario


@contextmanager
def _receipts_of_a_florist(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release, which gets the signature of a receipt before or within the transaction."""
    town = Town(environment, rng)
    signature_ms = rng.uniform(95, 125)
    before, after = rng.randrange(46, 52), rng.randrange(52, 55)
    florist = Florist(town, signature_ms, before)
    nginx = Nginx(environment, town.take_ports(1)[0], NginxSettings(server_lines=florist.location))
    # Each of two shops sells more than it can have receipts signed at a time.
    sales, others = rng.randrange(3, 5), rng.randrange(3, 5)
    rate = rng.uniform(1.4, 1.7) * 2 * 1000 / signature_ms * (sales + others) / sales
    paths = ["/receipts/{n}"] * sales + [
        rng.choice(("/bouquets/{n}", "/customers/{n}")) for _ in range(others)
    ]
    town.start_clients(nginx.address, rate, paths, warm_s=4.0)
    florist.replace(after)
    time.sleep(8.0)
    pid = rng.choice((florist.mariadb.pid, florist.php.pid))
    yield town.build_live(pid, releases=[before, after])


@contextmanager
def _seats_of_a_cinema(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release, which closes its connection to Redis on all ways or not on all."""
    town = Town(environment, rng)
    before, after = rng.randrange(4, 8), rng.randrange(8, 11)
    clients = rng.randrange(110, 180)
    cinema = Cinema(town, clients, rng.randrange(10, 40), before)
    settings = HaproxySettings(
        frontend=rng.choice(("www", "cinema")),
        backend="seats",
        servers=(cinema.address,),
        server_words="check inter 5s",
    )
    haproxy = Haproxy(environment, town.take_ports(1)[0], settings)
    seats, others = rng.randrange(2, 4), rng.randrange(3, 6)
    paths = ["/seats/{n}"] * seats + [
        rng.choice(("/films/{n}", "/films/{n}", "/halls/{n}")) for _ in range(others)
    ]
    town.start_clients(haproxy.address, rng.uniform(45, 60), paths, warm_s=4.0)
    cinema.replace(after)
    wait_for(lambda: cinema.count_connections() > clients - 2, "connections of seats", 90.0)
    time.sleep(4.0)
    pid = rng.choice((cinema.redis.pid, cinema.server.pid))
    yield town.build_live(pid, cinema.access_log, releases=[before, after])


SCENARIOS = (
    Scenario(
        "florist-receipts", "development", "receipts-of-a-florist", ("database-lock-wait", "idle-in-transaction"),
        "A release asks a tax office within the transaction that numbers receipts; others wait for the row of a shop.",
        _receipts_of_a_florist, needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "cinema-seats", "development", "seats-of-a-cinema", ("connection-limit", "fd-leak-close-wait"),
        "A release of a Node service leaves connections to Redis open, which accepts no more of them.",
        _seats_of_a_cinema, needs=("redis-server", "node", "haproxy"), seconds=10.0,
        software=("redis", "node", "haproxy"),
    ),
)  # fmt: skip
