"""A host that is busy and healthy: casks, tickets, calls, fittings and sights of guilds: a twenty-fifth set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.guild.brewery import Brewery
from lab.real.services.guild.locksmith import Locksmith
from lab.real.services.guild.museum import Museum
from lab.real.services.guild.observatory import Observatory
from lab.real.services.guild.tailor import Tailor
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario

OLD_EXPORTS = """
mkdir -p /run/old-exports; mount -t tmpfs -o size={megabytes}m exports /run/old-exports
head -c 64m /dev/zero >/run/old-exports/exports.tar 2>/dev/null || :
"""
PACKING = 'while :; do head -c {kilobytes}k /dev/urandom | nice -n 19 gzip -9 | wc -c >"$0"; sleep {pause_s:.2f}; done'


@contextmanager
def _guild_before_a_fair(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """Accounts, containers, certificates and locks have little room, but enough; what is full or fails has no users."""
    town = Town(environment, rng)
    children = rng.randrange(9, 13)
    brewery = Brewery(town, children, children + 2)
    museum, locksmith = Museum(town), Locksmith(town, rng.uniform(5, 12))
    tailor, observatory = Tailor(town), Observatory(town, rng.randrange(16, 21))
    locations = brewery.build_location("/shop")
    for service, names in (
        (museum, ("visits", "galleries", "hours")),
        (locksmith, ("calls", "keys")),
        (tailor, ("fittings", "fabrics")),
        (observatory, ("sights", "domes")),
    ):
        for name in names:
            locations += service.build_location(f"/{name}/")
    nginx = start_front(
        town, locations, museum.upstream + locksmith.http_lines + tailor.upstream + observatory.upstream
    )
    environment.host_sh(OLD_EXPORTS.format(megabytes=rng.randrange(8, 24)))
    words = PACKING.format(kilobytes=rng.randrange(800, 1_600), pause_s=rng.uniform(0.4, 0.8))
    environment.on_host(["sh", "-c", words, str(environment.directory / "packing.state")])
    # A program of a partner has an address that no longer exists, and gets errors only.
    start_requests(environment, rng, nginx.address, rng.uniform(2, 4), "/former/{n}")
    paths = [
        *brewery.draw_paths(town, rng.randrange(0, 2), "/shop"), "/visits/{n}", "/galleries/{n}", "/calls/{n}",
        "/keys/{n}", "/fittings/{n}", "/fabrics/{n}", "/sights/{n}", "/domes/{n}",
    ]  # fmt: skip
    town.start_clients(nginx.address, rng.uniform(22, 32), paths, warm_s=8.0)
    pid = rng.choice((brewery.php.pid, museum.postgres.pid, locksmith.pid, tailor.pid, observatory.pid))
    yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-guild", "healthy", "healthy", (),
        "MariaDB, PostgreSQL, nginx with TLS, Java and Go near their limits; a full file system that no service uses.",
        _guild_before_a_fair,
        needs=(
            POSTGRES, "psql", "mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx", "gunicorn", "node",
            "java", "javac", GO,
        ),
        software=("mariadb", "postgresql", "nginx", "php-fpm", "gunicorn", "node", "java", "go"),
    ),
)  # fmt: skip
