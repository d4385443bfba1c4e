"""Everyday incidents of databases behind web backends: settings of a package, of a server and of a host."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.companies.leisure_host import Courses
from lab.real.services.companies.street_host import Street
from lab.real.services.hosts.office_host import Office
from lab.real.services.mariadb import MariaDb
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.storefront import Storefront, choose_paths
from lab.real.services.web_neighbours import PROGRAMS
from lab.scenario import Live, Scenario

COMPANY, BRANCH = "10.80.0.53", "10.80.0.54"
# What every host of the company has: only known packets of known connections come in.
FIREWALL = """
iptables -I INPUT -i mgmt0 -j ACCEPT; iptables -A INPUT -i lo -j ACCEPT
iptables -A INPUT -m conntrack --ctstate INVALID -j DROP; iptables -A INPUT -p tcp --dport 25 -j DROP
sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 net.netfilter.nf_conntrack_tcp_timeout_established=432000
"""


@contextmanager
def _courses_of_a_center(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether PostgreSQL may compile statements, as its package does by default."""
    street = Street(environment, rng)
    settings: dict[str, object] = {"max_connections": 100, "shared_buffers": "128MB", "jit": "off"}
    courses = Courses(street, street.ports[:2], settings)
    others = rng.randrange(14, 18)
    paths = ["/courses/{n}"] + [rng.choice(("/halls/{n}", "/rules/{n}")) for _ in range(others)]
    street.start_clients(courses.nginx.address, rng.uniform(38, 48), paths, warm_s=4.0)
    courses.postgres.change_settings(jit="on")
    time.sleep(6.0)
    yield street.build_live(rng.choice((courses.postgres.pid, courses.php.pid)))


class NetworkedMariaDb(MariaDb):
    """A MariaDB that listens on the network, as other hosts use it too."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, settings: dict[str, object]) -> None:
        """Start it with accounts for the network of the host."""
        super().__init__(environment, rng, settings={"bind-address": "0.0.0.0", **settings})
        self.run(
            "CREATE USER shop@'10.80.0.%' IDENTIFIED BY 'shop'; GRANT ALL ON shop.* TO shop@'10.80.0.%';",
            database="",
        )

    @property
    def dsn(self) -> str:
        """How PDO connects over the network."""
        return f"mysql:host={self.environment.host_address};port={self.port};dbname=shop"


def _start_names(environment: LabEnvironment, rng: random.Random) -> None:
    """Start the resolver of the host. The addresses of this network are kept by a branch that no longer answers."""
    for address, settings in ((COMPANY, {}), (BRANCH, {"share": 1.0, "code": -1})):
        environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        file = environment.directory / f"zone-{address}.json"
        file.write_text(json.dumps(settings))
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "name_server.py"), "--listen", f"{address}:53",
             "--address", environment.client_address, "--settings", str(file)]
        )  # fmt: skip
    environment.on_host(
        ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.1",
         "--bind-interfaces", "--pid-file=/run/dnsmasq.pid", "--user=root", f"--server={COMPANY}",
         f"--server=/80.10.in-addr.arpa/{BRANCH}"]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh("ss -Hlun src 127.0.0.1:53")), "dnsmasq")
    resolver = environment.directory / "resolv.conf"
    options = f"timeout:{rng.choice((1, 1, 2))} attempts:{rng.choice((1, 2))}"
    resolver.write_text(f"search shop.internal\nnameserver 127.0.0.1\noptions {options}\n")
    environment.host_sh(f"mount --bind {resolver} /etc/resolv.conf")


@contextmanager
def _settings_of_a_new_server(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether MariaDB looks up the names of its clients, which an upgrade of its settings decides."""
    storefront = Storefront(environment, rng)
    _start_names(environment, rng)
    mariadb = NetworkedMariaDb(environment, rng, {"skip-name-resolve": 1, "max_connections": 200})
    storefront.start_php(mariadb, children=rng.choice((16, 24, 32)))
    storefront.start_clients(rng.uniform(40, 60), choose_paths(rng), timeout_s=4.0)
    storefront.measure_baseline(4.0, warm_s=3.0)
    mariadb.restart(**{"skip-name-resolve": 0})
    time.sleep(6.0)
    yield storefront.build_live(rng.choice((mariadb.pid, 0)))


@contextmanager
def _archive_of_plans(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: for how long the firewall of the host remembers a connection on which nothing is sent."""
    pool = rng.randrange(40, 57)
    settings: dict[str, object] = {"max_connections": 400, "tcp_user_timeout": 8000}
    postgres = PostgresServer(environment, rng, settings=settings, client_side=True)
    waits_ms = rng.randrange(2000, 3000)
    variables = {
        "DATABASE": f"{postgres.dsn}?tcp_user_timeout={waits_ms}", "POOL": str(pool),
        "CUSTOMERS": str(postgres.sizes["customers"]),
    }  # fmt: skip
    office = Office(environment, rng, "stores/plans_app.py", variables, threads=rng.choice((24, 32)))
    environment.track_connections()
    environment.host_net.sh(FIREWALL)
    rate, others = rng.uniform(50, 65), rng.randrange(4, 7)
    paths = ["/plans/{n}"] + [rng.choice(("/forms/{n}", "/fees/{n}")) for _ in range(others)]
    office.start_clients(rate, paths, warm_s=5.0)
    # A connection is used again after this time at the least; the firewall forgets most of them before.
    again_s = pool * (others + 1) / rate
    quiet_s = round(again_s * rng.uniform(0.5, 0.65))
    environment.host_net.sh(f"sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established={quiet_s}")
    time.sleep(again_s + 4.0)
    yield office.build_live(office.app.pid, pool=pool, again_s=again_s, quiet_s=quiet_s, waits_ms=waits_ms)


SCENARIOS = (
    Scenario(
        "center-courses", "development", "settings-of-a-package", ("database-hot-sql", "cpu-exhausted"),
        "PostgreSQL compiles a statement over many parts of a table each time, as its default allows.",
        _courses_of_a_center, needs=(POSTGRES, "php-fpm8.2", "nginx"), seconds=10.0,
        software=("postgresql", "php-fpm", "nginx"), global_effect=("cpu",),
    ),
    Scenario(
        "garden-shop", "development", "settings-of-a-new-server", ("slow-name-resolution",),
        "MariaDB looks up the name of each client that connects, and the name server of the network does not answer.",
        _settings_of_a_new_server, needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "nginx", "dnsmasq"),
        seconds=10.0, software=("mariadb", "php-fpm", "nginx", "dnsmasq"),
    ),
    Scenario(
        "archive-plans", "development", "quiet-connections", ("firewall-drop",),
        "The firewall forgets connections to a database on which little is sent, and drops what comes on them later.",
        _archive_of_plans, needs=(POSTGRES, "gunicorn", "nginx", "iptables"), seconds=10.0,
        software=("iptables", "postgresql", "gunicorn", "nginx"),
    ),
)  # fmt: skip
