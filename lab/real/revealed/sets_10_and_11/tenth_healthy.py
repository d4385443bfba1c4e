"""A host that is busy and healthy: guests within bounds, lists in memory, and a container with a shipper of logs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.companies.street_host import Parts, ReadingLists, Street, create_log, create_pod
from lab.real.services.daemons.log_shipper import LogShipper
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _parts_and_lists(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Guests come one after the other, the heap has room, and a container stays below its CPU limit."""
    street = Street(environment, rng)
    shop = Parts(street)
    lists = ReadingLists(street, rng.choice((192, 224, 256)))
    kept = lists.count_lists(lists.heap_mb * rng.uniform(0.3, 0.45))
    lists.start(kept)
    pod, port = create_pod(environment, rng.choice(("deliveries", "courier", "routes"))), street.ports[3]
    cpus = rng.uniform(0.7, 0.9)
    pod.limit_cpu(cpus)
    file = create_log(environment)
    Gunicorn(
        environment, port, "stores/deliveries_app.py", workers=2, threads=4, group=pod,
        variables={"LOG": file, "LEVEL": "INFO", "STOPS": str(rng.randrange(380, 520))},
    )  # fmt: skip
    LogShipper(environment, port + 1, file, masks=rng.randrange(3, 6), group=pod)
    start_requests(environment, rng, lists.address, rng.uniform(8, 15), "/lists/{n}", "/hours/{n}")
    deliveries = f"{environment.host_address}:{port}"
    start_requests(environment, rng, deliveries, rng.uniform(8, 15), "/routes/{n}", "/parcels/{n}")
    guests = rng.uniform(1.5, 3.0)
    start_requests(
        environment, rng, shop.nginx.address, guests, "/list/{n}?color=a", "/list/{n}?page=2&color=b",
        options=("--timeout-s", 30, "--range", 100_000_000),
    )  # fmt: skip
    paths = ["/parts/{n}"] * rng.randrange(4, 7) + ["/garage/{n}"] * rng.randrange(3, 6) + ["/list/{n}"]
    street.start_clients(
        shop.nginx.address, rng.uniform(45, 65), paths, range_=rng.randrange(60, 120), warm_s=6.0
    )
    time.sleep(3.0)
    pid = rng.choice((shop.php.pid, shop.nginx.pid))
    yield street.build_live(pid, guests=guests, heap_mb=lists.heap_mb, kept=kept, cpus=round(cpus, 2))


SCENARIOS = (
    Scenario(
        "busy-parts", "healthy", "healthy", (),
        "A PHP shop that polite crawlers visit, a Node server with room in its heap, a container below its CPU limit.",
        _parts_and_lists,
        needs=("nginx", "php-fpm8.2", "mariadbd", "mariadb-install-db", "node", "rsyslogd", "gunicorn"),
        software=("php-fpm", "nginx", "mariadb", "node", "gunicorn", "rsyslog"),
    ),
)  # fmt: skip
