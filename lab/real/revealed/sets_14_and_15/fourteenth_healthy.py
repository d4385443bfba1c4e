"""A host that is busy and healthy: short transactions, slow phones, clients of Redis, a certificate that ends soon."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town
from lab.real.services.trades.cinema import Cinema
from lab.real.services.trades.ferry_line import connect_second_protocol
from lab.real.services.trades.florist import Florist
from lab.real.services.trades.insurer import Tariffs
from lab.real.services.trades.print_shop import PATHS, PrintShop
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

TARIFFS = """
while :; do
curl -s -m 5 -o /dev/null --cacert {file} --resolve {name}:{port}:{address} https://{name}:{port}/tariffs/$(date +%S)
sleep {pause_s:.1f}; done
"""


@contextmanager
def _florist_and_more(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Receipts are signed before their transaction, pictures are taken as a whole, and limits are not reached."""
    town = Town(environment, rng)
    connect_second_protocol(town, f"2001:db8:{rng.randrange(0x100, 0xFFF):x}")
    florist = Florist(town, rng.uniform(60, 90), rng.randrange(46, 52))
    shop = PrintShop(town, rng.randrange(4, 7))
    clients = rng.randrange(110, 180)
    screens = round(clients * rng.uniform(0.5, 0.65))
    cinema = Cinema(town, clients, screens, rng.randrange(4, 8), address=environment.host_address)
    rest_days = rng.uniform(15, 25)
    tariffs = Tariffs(town, rest_days)
    loop = TARIFFS.format(
        file=tariffs.authority.file, name=tariffs.name, port=tariffs.address.rpartition(":")[2],
        address=environment.host_address, pause_s=rng.uniform(0.4, 1.0),
    )  # fmt: skip
    environment.on_host(["sh", "-c", loop])
    locations = "".join(shop.build_location(path) for path in ("/pictures/", "/papers/", "/prices/"))
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=shop.upstream, server_lines=locations + florist.location),
    )  # fmt: skip
    shop.start_phones(nginx.address, shop.workers * 2 + rng.randrange(4))
    start_requests(environment, rng, nginx.address, rng.uniform(5, 9), *PATHS)
    start_requests(
        environment, rng, cinema.address, rng.uniform(6, 12), "/seats/{n}", "/films/{n}", "/halls/{n}"
    )
    paths = ["/receipts/{n}"] * rng.randrange(1, 3) + ["/bouquets/{n}"] * 2 + ["/customers/{n}"] * 2
    town.start_clients(nginx.address, rng.uniform(20, 30), paths, warm_s=6.0)
    time.sleep(3.0)
    pid = rng.choice((florist.mariadb.pid, florist.php.pid, shop.app.pid, cinema.server.pid))
    yield town.build_live(pid, screens=screens, rest_days=round(rest_days, 1))


SCENARIOS = (
    Scenario(
        "busy-florist", "healthy", "healthy", (),
        "Signatures before transactions, pictures that nginx takes as a whole, Redis and a certificate within limits.",
        _florist_and_more,
        needs=(
            "mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx", "gunicorn", "redis-server", "node", "haproxy",
            "curl",
        ),
        software=("mariadb", "php-fpm", "nginx", "gunicorn", "redis", "node", "haproxy"),
    ),
)  # fmt: skip
