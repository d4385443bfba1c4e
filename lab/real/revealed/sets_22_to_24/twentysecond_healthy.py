"""A host that is busy and healthy: notices, prices, visitors, names and lists of a bazaar: a twenty-second set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.bazaar.bakery import Bakery
from lab.real.services.bazaar.cheese_shop import CheeseShop
from lab.real.services.bazaar.spice_merchant import SpiceMerchant
from lab.real.services.bazaar.watchmaker import Watchmaker
from lab.real.services.bazaar.yarn_shop import YarnShop
from lab.real.services.coast.front import start_front
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import VISITORS, start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _bazaar_before_a_feast(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """Few orders notify, tasks have their own pool, nginx knows visitors, few names are compared, lists are rare."""
    town = Town(environment, rng)
    bakery = Bakery(town, rng.uniform(6, 10))
    bakery.pass_on_loaves()
    watchmaker = Watchmaker(town, rng.randrange(56, 60))
    watchmaker.replace(rng.randrange(60, 64), f"-Dreaders={3 * watchmaker.threads}")
    merchant = SpiceMerchant(town, rng.randrange(8, 12))
    yarns, cheeses = YarnShop(town, rng.randrange(5, 8)), CheeseShop(town)
    locations = cheeses.build_location("/cheeses/") + cheeses.build_location("/regions/")
    for location in ("/loaves/", "/branches/", "/kinds/"):
        locations += bakery.build_location(location)
    for location in ("/blends/", "/spices/"):
        locations += merchant.build_location(location)
    network = f"{environment.host_address.rpartition('.')[0]}.0/24"
    limits = cheeses.build_limits(network) + bakery.upstream + merchant.upstream
    nginx = start_front(town, locations, limits)
    # A program on this host reads more at a time than an address may, and is refused.
    environment.load(
        "--to", nginx.address, "--visitors", 3 * cheeses.most, "--rate", rng.uniform(8, 14), "--path", "/cheeses/{n}",
        "--seed", rng.randrange(10_000), program=VISITORS, on_host=True,
    )  # fmt: skip
    start_requests(
        environment, rng, watchmaker.haproxy.address, rng.uniform(8, 14), "/repairs/{n}", "/watches/{n}"
    )
    start_requests(environment, rng, yarns.apache.address, rng.uniform(0.4, 0.8), *yarns.draw_paths(1))
    paths = ["/loaves/{n}"] * 2 + [
        "/branches/{n}",
        "/blends/{n}",
        "/spices/{n}",
        "/cheeses/{n}",
        "/regions/{n}",
    ]
    town.start_clients(cheeses.start_edge(nginx.address), rng.uniform(16, 24), paths, warm_s=8.0)
    pid = rng.choice((bakery.postgres.pid, watchmaker.pid, merchant.app.pid, yarns.php.pid, cheeses.pid))
    yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-bazaar", "healthy", "healthy", (),
        "PostgreSQL that notifies in time, Java with two pools, nginx that limits a program, Python, PHP and MariaDB.",
        _bazaar_before_a_feast,
        needs=(
            POSTGRES, "psql", "gunicorn", "nginx", "java", "javac", "haproxy", "node", "redis-server", "mariadbd",
            "mariadb-install-db", "mariadb", "php-fpm8.2", "apache2",
        ),
        software=("postgresql", "java", "nginx", "gunicorn", "php-fpm", "mariadb", "node", "haproxy"),
    ),
)  # fmt: skip
