"""A host of a small company: neighbors, an application of the scenario, its clients, and what scenarios hand out."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.web_neighbours import (
    PROGRAMS,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live

CACHE = "    fastcgi_cache_path {directory}/pages keys_zone=pages:4m max_size=200m;\n"
CACHED = "fastcgi_cache pages; fastcgi_cache_key $request_uri; fastcgi_cache_valid 200 {seconds}s;"


class Street:
    """The host. `parameters` collects what was chosen."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Start the neighbors."""
        self.environment, self.rng = environment, rng
        self.ports = draw_ports(rng, 4)
        self.parameters: dict[str, object] = {"neighbours": start_neighbours(environment, rng)}
        self.load: Load

    def start_clients(
        self, to: str, rate: float, paths: list[str], *, warm_s: float = 3.0, timeout_s: float = 4.0,
        range_: int = 100_000,
    ) -> None:  # fmt: skip
        """Start clients, and measure the healthy phase after a warm-up."""
        options = ("--timeout-s", timeout_s, "--range", range_)
        self.load = start_requests(self.environment, self.rng, to, rate, *paths, options=options)
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.parameters |= {"rate": rate, "paths": paths, "healthy": self.load.baseline(4.0)}

    def build_live(
        self, pid: int, access_log: str = ACCESS_LOG, more: Callable[[], dict[str, float]] | None = None,
        **parameters: object,
    ) -> Live:  # fmt: skip
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        scope = choose_scope(self.environment, self.rng, pid)
        return Live(
            self.environment.host, scope, self.parameters | parameters,
            lambda: self.load.stats() | (more() if more else {}), access_log, mark=self.load.mark,
        )  # fmt: skip


class Parts:
    """The shop of spare parts: nginx that keeps pages, php-fpm and MariaDB."""

    def __init__(self, street: Street) -> None:
        rng, environment = street.rng, street.environment
        self.street, port, php_port = street, *street.ports[:2]
        products, shelf = rng.randrange(30_000, 60_000), rng.randrange(4_000, 6_000)
        self.mariadb = MariaDb(environment, rng, products=products, orders=rng.randrange(2_000, 9_000))
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"',
            "PRODUCTS": str(products),
            "SHELF": str(shelf),
        }
        children = rng.choice((8, 10, 12))
        self.php = Php(
            environment, php_port, ("parts.php",),
            PhpSettings(pool="parts", max_children=children, variables=variables),
        )  # fmt: skip
        script = str(self.php.directory / "parts.php")
        cached = CACHED.format(seconds=rng.choice((60, 120, 300)))
        lines = NginxSettings(
            http_lines=CACHE.format(directory=environment.directory / "nginx"),
            server_lines=build_fastcgi("/", self.php.address, script, cached)
            + build_fastcgi("/garage/", self.php.address, script),
        )
        self.nginx = Nginx(environment, port, lines)
        street.parameters |= {"port": port, "products": products, "shelf": shelf, "children": children}


class ReadingLists:
    """The reading lists of a library, in Node."""

    def __init__(self, street: Street, heap_mb: int) -> None:
        """Choose the records of a list. heap_mb: the limit of the heap."""
        self.street, self.heap_mb, self.port = street, heap_mb, street.ports[2]
        self.records = street.rng.randrange(120, 200)
        self.server: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{self.street.environment.host_address}:{self.port}"

    def start(self, kept: int) -> int:
        """Start the server, in place of the one that runs, with room for `kept` lists. Return its pid."""
        environment = self.street.environment
        if self.server:
            environment.stop(self.server)
        command = ["node", f"--max-old-space-size={self.heap_mb}", str(PROGRAMS / "reading_lists.js"),
                   environment.host_address, str(self.port), str(kept), str(self.records)]  # fmt: skip
        self.server = environment.on_host(command)
        wait_for(
            lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{self.port}")), "reading lists", 40.0
        )
        return self.server.pid

    def count_lists(self, megabytes: float) -> int:
        """Return how many lists take this much of the heap."""
        return int(megabytes * 1024 / (0.268 * self.records))


def create_pod(environment: LabEnvironment, name: str) -> Group:
    """Return a group next to that of the applications, as a container has one."""
    return Group(f"{environment.app.path.rpartition('/')[0]}/{name}").create()


def create_log(environment: LabEnvironment) -> str:
    """Return the path of a log that the web user may write."""
    directory = environment.directory / "deliveries-log"
    environment.host_sh(f"install -d -o www-data {directory}")
    return f"{directory}/deliveries.log"


def write_settings(file: Path, text: str) -> None:
    """Replace a file of settings at once."""
    temporary = file.with_suffix(".new")
    temporary.write_text(text)
    temporary.replace(file)
