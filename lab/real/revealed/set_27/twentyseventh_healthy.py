"""A host that is busy and healthy: rides, lists, loans, parcels and appointments of a parish: a twenty-seventh set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.parish.instrument_lender import InstrumentLender
from lab.real.services.parish.salons import Salons
from lab.real.services.parish.seed_dealer import SeedDealer
from lab.real.services.parish.surveyor import Surveyor
from lab.real.services.parish.taxi import TaxiCompany
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

# A second memcached that keeps little and evicts all the time, for a program that can do without it.
TRIALS = """
memcached -u daemon -l 127.0.0.1 -p {port} -m 2 & sleep 1
while :; do {{ for n in 1 2 3 4 5 6 7 8; do
printf 'set trial:%s:%s 0 0 60000 noreply\\r\\n%060000d\\r\\n' "$(date +%s%N)" $n 0; done; printf 'quit\\r\\n'
}} >"$0.txt"; timeout 3 bash -c 'cat "$0.txt" >/dev/tcp/127.0.0.1/{port}' "$0"; sleep {pause_s:.2f}; done
"""


@contextmanager
def _parish_before_a_feast(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """A firewall that drops what a scan opens, a cache that evicts, a long report, a compressing proxy: all is well."""
    town = Town(environment, rng)
    taxis = TaxiCompany(town, rng.randrange(60_000, 90_000), rng.uniform(3, 5))
    dealer, salons, surveyor = SeedDealer(town), Salons(town), Surveyor(town)
    lender = InstrumentLender(town, rng.uniform(40, 60))
    locations = taxis.build_location("/desk")
    for service, names in (
        (dealer, ("lists", "varieties", "sowing")),
        (salons, ("appointments", "salons", "hours")),
        (surveyor, ("parcels", "owners")),
        (lender, ("instruments", "loans")),
    ):
        for name in names:
            locations += service.build_location(f"/{name}/")
    nginx = start_front(
        town,
        locations,
        dealer.upstream + salons.upstream + lender.upstream + surveyor.build_lines(rng.randrange(3, 6)),
    )
    edge = surveyor.start_edge(nginx.address)
    salons.start_firewall(nginx.port, rng.randrange(300, 600), 200)
    lender.start_office(rng.uniform(0.6, 1.2))
    trials, scanned = town.take_ports(2)
    words = TRIALS.format(port=trials, pause_s=rng.uniform(0.6, 1.2))
    environment.on_host(["sh", "-c", words, str(environment.directory / "trials")])
    # A scanner of a partner tries a port that the firewall drops, and paths that no longer exist.
    environment.host_net.sh(f"iptables -A INPUT -i eth0 -p tcp --dport {scanned} -j DROP")
    start_requests(environment, rng, f"{environment.host_address}:{scanned}", rng.uniform(1, 3), "/status")
    start_requests(environment, rng, nginx.address, rng.uniform(2, 4), "/former/{n}")
    paths = [
        *taxis.draw_paths(town, rng.randrange(0, 2), "/desk"), "/lists/{n}", "/varieties/{n}", "/sowing/{n}",
        "/appointments/{n}", "/salons/{n}", "/instruments/{n}", "/loans/{n}", "/parcels/{n}", "/owners/{n}",
    ]  # fmt: skip
    town.start_clients(edge, rng.uniform(16, 24), paths, warm_s=8.0)
    pid = rng.choice((taxis.php.pid, dealer.postgres.pid, salons.pid, surveyor.pid, lender.pid, nginx.pid))
    yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-parish", "healthy", "healthy", (),
        "A firewall drops a scan, a small memcached evicts, a job reads for long, nginx compresses; all is well.",
        _parish_before_a_feast,
        needs=(
            POSTGRES, "psql", "mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx", "gunicorn", "node",
            "java", "javac", "memcached", "haproxy", "iptables", "curl", "bash", GO,
        ),
        software=("mariadb", "postgresql", "memcached", "nginx", "php-fpm", "gunicorn", "node", "java", "go"),
    ),
)  # fmt: skip
