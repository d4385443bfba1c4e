"""Jobs behind web services: printers behind a queue, and an import of prices: a sixteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.valley.concert_hall import ConcertHall
from lab.real.services.valley.nursery import Nursery
from lab.scenario import Live, Scenario


@contextmanager
def _tickets_of_a_hall(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an order for a row that the hall does not have."""
    town = Town(environment, rng)
    hall = ConcertHall(town, rng.randrange(3, 6), rng.uniform(1.0, 2.0))
    tickets, others = rng.randrange(2, 4), rng.randrange(4, 7)
    paths = [hall.choose_path(town) for _ in range(tickets)]
    paths += [rng.choice(("/concerts/{n}", "/seats/{n}")) for _ in range(others)]
    rate = rng.uniform(9, 13) * len(paths) / tickets
    town.start_clients(hall.haproxy.address, rate, paths, warm_s=3.0)
    hall.order_ticket(f"/tickets/{rng.randrange(1_000)}?row=0")
    time.sleep(6.0)
    pid = rng.choice((hall.desk.pid, hall.queue.pid))
    yield town.build_live(pid, hall.access_log)


@contextmanager
def _prices_of_a_grower(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how often the import of prices is due."""
    town = Town(environment, rng)
    nursery = Nursery(
        town, kinds=rng.randrange(18, 24), plants_of_a_kind=rng.randrange(27_000, 31_000), every_s=21_600.0
    )
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=nursery.upstream, server_lines=nursery.build_location("/")),
    )  # fmt: skip
    list_s = nursery.fill_cache(nginx.address)
    every_s = rng.uniform(8, 11)
    plants, others = rng.randrange(3, 6), rng.randrange(2, 4)
    paths = ["/plants/{n}"] * plants + [rng.choice(("/orders/{n}", "/terms/{n}")) for _ in range(others)]
    used = rng.uniform(1.3, 1.45)
    lists_per_s = next(
        (rate for rate in range(30, 80) if nursery.count_misses(rate, every_s) * list_s > used), 80
    )
    town.start_clients(nginx.address, lists_per_s * len(paths) / plants, paths, warm_s=4.0)
    nursery.schedule_import(every_s)
    time.sleep(every_s + 2.0)
    pid = rng.choice((nursery.app.pid, nursery.mariadb.pid))
    yield town.build_live(pid, every_s=round(every_s, 1), list_ms=round(list_s * 1000), used=round(used, 2))


SCENARIOS = (
    Scenario(
        "concert-tickets", "development", "tickets-of-a-hall", ("crash-loop",),
        "An order ends each printer that takes it; beanstalkd hands it to the next, and printers start all the time.",
        _tickets_of_a_hall, needs=(GO, "beanstalkd", "haproxy", "curl"), seconds=10.0,
        software=("go", "beanstalkd", "haproxy"),
    ),
    Scenario(
        "nursery-prices", "development", "prices-of-a-grower", ("scheduled-job", "database-hot-sql"),
        "An import is due every few seconds instead of hours, and empties memcached; MariaDB works all lists out.",
        _prices_of_a_grower, needs=("mariadbd", "mariadb-install-db", "gunicorn", "memcached", "nginx", "curl"),
        seconds=10.0, software=("memcached", "mariadb", "gunicorn", "nginx"),
    ),
)  # fmt: skip
