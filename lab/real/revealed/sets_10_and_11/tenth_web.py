"""Everyday incidents of web applications: guests of a shop and mails of a site: a tenth set."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.companies.street_host import Parts, Street, write_settings
from lab.real.services.hosts.catalog_host import CatalogHost
from lab.real.services.web_neighbours import PROGRAMS, draw_ports, start_visitors
from lab.scenario import Live, Scenario


@contextmanager
def _guests_of_the_parts_shop(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether other guests read the lists of the shop, each of them with an address that is new."""
    street = Street(environment, rng)
    shop = Parts(street)
    paths = ["/parts/{n}"] * rng.randrange(4, 7) + ["/garage/{n}"] * rng.randrange(3, 6) + ["/list/{n}"]
    street.start_clients(
        shop.nginx.address, rng.uniform(45, 65), paths, range_=rng.randrange(60, 120), warm_s=6.0
    )
    guests, word = rng.randrange(50, 90), rng.choice(("color", "year", "maker", "sort"))
    start_visitors(
        environment, rng, shop.nginx.address, guests, guests * 4.0, f"/list/{{n}}?{word}=a", f"/list/{{n}}?{word}=b",
        options=("--new-connections", "--timeout-s", 30, "--range", 100_000_000),
    )  # fmt: skip
    time.sleep(5.0)
    yield street.build_live(rng.choice((shop.php.pid, shop.nginx.pid)), guests=guests)


@contextmanager
def _mails_of_the_workshop(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how long the relay of the company thinks about a mail."""
    file, port = environment.directory / "relay.json", draw_ports(rng, 1)[0]
    command = rng.choice(("rcpt", "data", "ehlo"))
    write_settings(file, json.dumps({"rcpt": 0.01, "data": 0.02}))
    relay = f"{environment.client_address}:{port}"
    environment.on_client(
        [sys.executable, "-B", str(PROGRAMS / "relays" / "mail_relay.py"), "--listen", relay, "--settings", str(file)]
    )  # fmt: skip
    wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the relay")
    workers = rng.randrange(4, 8)
    host = CatalogHost(
        environment, rng, workers=workers, application="stores/enquiry_app.py", proxied=True, variables={"RELAY": relay}
    )  # fmt: skip
    rate, others = rng.uniform(42, 60), rng.randrange(9, 14)
    host.start_clients(
        rate, ("/enquiries/{n}", *(rng.choice(("/services/{n}", "/prices/{n}")) for _ in range(others)))
    )
    time.sleep(3.0)
    host.measure_baseline(4.0)
    # More mails are on their way at a time than there are workers.
    seconds = workers * (others + 1) / rate * rng.uniform(1.1, 1.6)
    write_settings(file, json.dumps({"rcpt": 0.01, "data": 0.02, command: seconds}))
    time.sleep(6.0)
    yield host.build_live(command=command, seconds=round(seconds, 2))


SCENARIOS = (
    Scenario(
        "parts-guests", "development", "guests-of-a-shop", ("worker-pool-exhausted", "cpu-exhausted"),
        "Crawlers walk through lists that no cache has; all children of php-fpm and all CPUs build lists for them.",
        _guests_of_the_parts_shop, needs=("nginx", "php-fpm8.2", "mariadbd", "mariadb-install-db"), seconds=10.0,
        software=("php-fpm", "nginx", "mariadb"), global_effect=("cpu",),
    ),
    Scenario(
        "workshop-enquiries", "development", "mails-of-a-site", ("slow-dependency", "worker-pool-exhausted"),
        "A site sends mails within its requests; the relay takes its time, and all pages wait for a worker.",
        _mails_of_the_workshop, needs=("nginx", "gunicorn"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
