"""A shop on the host in front of a database: the application, its clients, and what scenarios hand out."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.postgres import PostgresServer
from lab.real.services.unrelated import choose_scope, start_unrelated
from lab.scenario import Live

PROGRAMS = Path(__file__).parents[1] / "programs"
LOG = "/run/storefront/access.log"
READS = ("/products/{n}", "/orders/{n}")
WRITES = ("/checkout/{n}",)


def choose_paths(
    rng: random.Random, *, reads: tuple[str, ...] = READS, writes: tuple[str, ...] = WRITES
) -> list[str]:
    """Return a mix of ten paths: two to four of them write, the others read."""
    count = rng.randrange(2, 5) if writes else 0
    mixed = [rng.choice(writes) for _ in range(count)]
    mixed += [*reads, *(rng.choice(reads) for _ in range(10 - count - len(reads)))]
    return mixed


class Storefront:
    """The shop, in Python or PHP, and its clients. `parameters` collects what was chosen."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        self.environment, self.rng = environment, rng
        self.port = rng.randrange(7000, 9900)
        self.parameters: dict[str, object] = {"port": self.port}
        self.healthy: dict[str, float] = {}
        self.access_log = LOG

    def start_python(
        self, postgres: PostgresServer, *, threads: int = 16, connection: str = "thread", dsn: str = "",
        options: tuple[object, ...] = (),
    ) -> None:  # fmt: skip
        """Start the Python shop; `connection` states whether a thread or a request has its own."""
        sizes = [word for name in ("products", "customers", "orders", "note_words")
                 for word in (f"--{name.replace('_', '-')}", str(postgres.sizes[name]))]  # fmt: skip
        self.parameters |= {"threads": threads, "connection": connection, **postgres.sizes}
        self._postgres, self._python = postgres, {"threads": threads, "connection": connection, "dsn": dsn}
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            [sys.executable, "-B", str(PROGRAMS / "storefront.py"), "--port", str(self.port), "--threads", str(threads),
             "--connection", connection, "--database", dsn or postgres.dsn, "--log", LOG, *sizes, *map(str, options)]
        )  # fmt: skip
        wait_for(
            lambda: f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}"),
            "the shop",
        )

    def release_python(self, *options: object) -> None:
        """Start the Python shop again with these options, as a release does."""
        self.environment.stop(self.server)
        self.start_python(self._postgres, **self._python, options=options)

    def start_php(self, mariadb: MariaDb, *, children: int = 12, persistent: bool = False) -> None:
        """Start nginx and php-fpm, with a connection to the database per request or per child."""
        self.parameters |= {"children": children, "persistent": persistent, **mariadb.sizes}
        variables = {"DATABASE_DSN": f'"{mariadb.dsn}"', "DATABASE_PERSISTENT": str(int(persistent))}
        variables |= {name.upper(): str(number) for name, number in mariadb.sizes.items()}
        settings = PhpSettings(pool="storefront", max_children=children, variables=variables)
        php = Php(self.environment, self.port + 1, ("storefront.php",), settings)
        lines = build_fastcgi("/", php.address, str(php.directory / "storefront.php"))
        Nginx(self.environment, self.port, NginxSettings(server_lines=lines))
        self.server, self.access_log = php.server, ACCESS_LOG

    def start_clients(
        self, rate: float, paths: list[str], *, timeout_s: float = 3.0, range_: int = 100_000
    ) -> None:
        """Start unrelated services, then clients; a path may be listed more than once to make it more frequent."""
        self.parameters |= {
            "background": start_unrelated(self.environment, self.rng),
            "rate": rate,
            "paths": paths,
        }
        self.load: Load = self.environment.load(
            "--to", f"{self.environment.host_address}:{self.port}", "--rate", rate, "--timeout-s", timeout_s,
            "--range", range_, *(word for path in paths for word in ("--path", path)),
            "--seed", self.rng.randrange(10_000), program="web/web_clients.py",
        )  # fmt: skip

    def measure_baseline(self, seconds: float = 3.0, *, warm_s: float = 0.0) -> None:
        """Let the software warm up, then measure the healthy phase."""
        wait_for(lambda: self.load.stats()["ok"] > 30, "answers to clients")
        if warm_s:
            self.load.baseline(warm_s)
        self.healthy = self.load.baseline(seconds)

    def build_live(
        self,
        pid: int = 0,
        repair: Callable[[], None] | None = None,
        group: Group | None = None,
        inject: Callable[[], None] | None = None,
        **parameters: object,
    ) -> Live:
        """Return what the scenario hands out, and count from here on.

        `pid` may be named in place of the shop, and `group` in place of the group of the applications.
        """
        self.load.mark()
        scope = choose_scope(self.rng, pid or self.server.pid, group or self.environment.app)
        return Live(
            self.environment.host, scope, {**self.parameters, **parameters, "healthy": self.healthy},
            self.load.stats, self.access_log, repair, self.load.mark, inject,
        )  # fmt: skip
