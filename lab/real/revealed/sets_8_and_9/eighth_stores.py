"""What keeps orders and bookings: a RabbitMQ on a volume, and a MariaDB that follows another."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.daemons.mariadb_pair import MariaDbPair
from lab.real.services.hosts.kitchen_host import Kitchen
from lab.real.services.hosts.office_host import Office
from lab.scenario import Live, Scenario


@contextmanager
def _kept_copies(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a copy that a job leaves on the volume of the RabbitMQ."""
    kitchen = Kitchen(environment, rng)
    kitchen.start_clients(rng.uniform(45, 70))
    megabytes = kitchen.count_free_mb() - rng.randrange(12, 38)
    kitchen.copy_archive(megabytes)
    time.sleep(14.0)
    yield kitchen.build_live(copy_mb=megabytes)


@contextmanager
def _billed_boardings(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a job of another host that bills boardings in the primary."""
    pair = MariaDbPair(environment, rng, has_key=False)
    office = start_boats(environment, rng, pair)
    office.start_clients(rng.uniform(45, 65), choose_boat_paths(rng))
    rows, pause_s = rng.randrange(400, 1200), rng.uniform(0.8, 1.5)
    pair.start_billing(rows, pause_s)
    time.sleep(10.0)
    yield office.build_live(
        rng.choice((pair.replica.pid, office.app.pid)), rows=rows, pause_s=pause_s, boardings=pair.boardings
    )


def start_boats(environment: LabEnvironment, rng: random.Random, pair: MariaDbPair) -> Office:
    """Start the application of the tours by boat."""
    variables = {
        "PRIMARY": f"{environment.client_address}:{pair.primary_port}", "REPLICA": f"127.0.0.1:{pair.port}",
        "TOURS": str(pair.tours), "TIMEOUT_S": f"{rng.uniform(0.8, 1.5):.1f}",
    }  # fmt: skip
    return Office(environment, rng, "stores/boats_app.py", variables, threads=rng.choice((24, 32)))


def choose_boat_paths(rng: random.Random) -> list[str]:
    """Return a mix of bookings and of pages that read."""
    return ["/bookings/{n}"] * rng.randrange(1, 3) + ["/tours/{n}"] * rng.randrange(3, 6)


SCENARIOS = (
    Scenario(
        "kitchen-orders", "development", "kept-copies", ("disk-full",),
        "A copy leaves less of the volume free than RabbitMQ wants; it takes no more orders until there is room.",
        _kept_copies, needs=("rabbitmqctl", "epmd", "gunicorn", "nginx", "mkfs.ext4"), seconds=10.0,
        software=("rabbitmq", "gunicorn", "nginx"),
    ),
    Scenario(
        "boat-tours", "development", "billed-boardings", ("missing-index", "replication-lag"),
        "A MariaDB replica scans a table without a key for each row that was changed, and falls behind the bookings.",
        _billed_boardings, needs=("mariadbd", "gunicorn", "nginx"), seconds=10.0,
        software=("mariadb", "gunicorn", "nginx"),
    ),
)  # fmt: skip
