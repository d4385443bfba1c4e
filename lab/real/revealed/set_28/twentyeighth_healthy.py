"""A host that is busy and healthy: costumes, labels, tires, tenancies and hampers of a borough: a twenty-eighth set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.borough.bottler import Bottler
from lab.real.services.borough.costumes import CostumeHirer
from lab.real.services.borough.hampers import HamperShop
from lab.real.services.borough.landlord import Landlord
from lab.real.services.borough.tires import TireDealer
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario

# dash reads a list that is not a regular file byte by byte; the list is short.
LISTING = """
while :; do sort "$0" | while read -r line; do last=$line; done; echo "$last" >"$0.last"; sleep {pause_s:.2f}; done
"""
# A copy of a calendar ends after each run and is started again, as its author has planned it.
COPY = 'while :; do sh -c "sleep {run_s:.2f}; cp $0 $0.copy; exit {code}"; sleep 0.5; done'


@contextmanager
def _borough_before_a_fair(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """Short locks of a table, a slow press, a patient check, a former server of a courier: all is well."""
    town = Town(environment, rng)
    hirer = CostumeHirer(town, "MyISAM", rng.uniform(0.03, 0.05), rng.uniform(2.0, 4.0))
    bottler, dealer, landlord, shop = Bottler(town), TireDealer(town), Landlord(town), HamperShop(town)
    dealer.start()
    locations = hirer.build_location("/desk") + shop.build_locations()
    for service, names in (
        (bottler, "labels|sheets|bottles"),
        (dealer, "stocks|sizes|tires"),
        (landlord, "papers|tenants"),
    ):
        locations += service.build_location(f"~ ^/({names})/")
    # A server of the courier that is no longer there, which nginx tries now and again before the other one.
    former = f"{shop.addresses[1]}:{shop.courier_port} max_fails=1 fail_timeout={rng.randrange(2, 5)}s"
    nginx = start_front(
        town, locations, bottler.upstream + dealer.upstream + landlord.upstream + shop.build_upstreams(former)
    )
    calendar = environment.directory / "calendar.txt"
    calendar.write_text("".join(f"{day % 28:02} fair {day}\n" for day in range(rng.randrange(300, 900))))
    environment.on_host(["sh", "-c", LISTING.format(pause_s=rng.uniform(1, 2)), str(calendar)])
    words = COPY.format(run_s=rng.uniform(1, 3), code=rng.choice((0, 0, 3)))
    environment.on_host(["sh", "-c", words, str(calendar)])
    paths = [
        *hirer.draw_paths(town, rng.randrange(0, 2), "/desk"), *["/labels/{n}"] * 3, "/sheets/{n}", "/bottles/{n}",
        "/stocks/{n}", "/sizes/{n}", "/tires/{n}", "/papers/{n}", "/tenants/{n}", "/deliveries/{n}", "/parcels/{n}",
        "/hampers/{n}",
    ]  # fmt: skip
    town.start_clients(nginx.address, rng.uniform(14, 20), paths, warm_s=8.0)
    pid = rng.choice((hirer.php.pid, hirer.mariadb.pid, bottler.app.pid, dealer.pid, nginx.pid))
    yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-borough", "healthy", "healthy", (),
        "Short locks of tables, slow jobs in time, a patient check, a server that refuses and is not needed.",
        _borough_before_a_fair,
        needs=(
            "mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx", "beanstalkd", "gunicorn", "dnsmasq",
            "java", "javac", "curl", GO,
        ),
        software=("mariadb", "php-fpm", "beanstalkd", "gunicorn", "go", "java", "dnsmasq", "nginx"),
    ),
)  # fmt: skip
