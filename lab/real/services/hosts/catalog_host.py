"""A web host of production: the catalog behind nginx, services next to it, and its clients."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.memcached import start_memcached
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.scenario import Live

PROGRAMS = Path(__file__).parents[2] / "programs"
PAGES = ("/products/{n}", "/search/{n}", "/prices/{n}")
AGENT = 'while :; do cat /proc/stat /proc/meminfo /proc/net/dev | cksum >"$0"; sleep 1; done'
WARNINGS = (
    "WARN session cookie without SameSite attribute, will be required in release 9",
    "WARN deprecated option cache_compat is ignored",
    "WARN clock of peer differs by 0.4 s",
)


class CatalogHost:
    """The catalog of gunicorn, behind nginx or alone, with neighbors and clients. Numbers come from `rng`."""

    def __init__(
        self,
        environment: LabEnvironment,
        rng: random.Random,
        *,
        workers: int = 3,
        threads: int = 1,
        variables: Mapping[str, str] | None = None,
        application: str = "catalog_app.py",
        options: tuple[str, ...] = (),
        limits: tuple[str, ...] = (),
        group: Group | None = None,
        proxied: bool | None = None,
        server_lines: str = "",
    ) -> None:
        """Start the software. `proxied`: whether nginx is in front; None lets `rng` choose."""
        self.environment, self.rng = environment, rng
        self.port = rng.randrange(7000, 9900)
        self.proxied = rng.random() < 0.6 if proxied is None else proxied
        self.parameters: dict[str, object] = {"port": self.port, "workers": workers, "threads": threads}
        self.healthy: dict[str, float] = {}
        inner = self.port + 1 if self.proxied else self.port
        self.gunicorn = Gunicorn(
            environment, inner, application, workers=workers, threads=threads, variables=variables,
            options=options, limits=limits, group=group, address="127.0.0.1" if self.proxied else "",
            access_log=not self.proxied and application == "catalog_app.py",
        )  # fmt: skip
        self.nginx: Nginx | None = None
        self.access_log = self.gunicorn.log
        if self.proxied:
            settings = NginxSettings(
                http_lines=build_upstream("catalog", (f"127.0.0.1:{inner}",)),
                server_lines=build_proxy("/", "catalog") + server_lines,
            )
            self.nginx = Nginx(environment, self.port, settings, group=group)
            self.access_log = self.nginx.access_log
        self.parameters["background"] = start_background(environment, rng)

    def start_clients(
        self,
        rate: float,
        paths: tuple[str, ...] = PAGES,
        numbers: int = 10_000,
        sources: tuple[str, ...] = (),
    ) -> None:
        """Start the clients, from any of the addresses `sources`.

        A path may be listed more than once to make it more frequent; {n} is below `numbers`.
        """
        self.parameters |= {"rate": rate, "paths": list(paths)}
        self.load: Load = self.environment.load(
            "--to", f"{self.environment.host_address}:{self.port}", "--rate", rate, "--range", numbers,
            *(word for path in paths for word in ("--path", path)),
            *(word for source in sources for word in ("--source", source)), "--seed", self.rng.randrange(10_000),
            program="web/web_clients.py",
        )  # fmt: skip

    def measure_baseline(self, seconds: float = 3.0) -> None:
        """Let the software warm up, then measure the healthy phase."""
        wait_for(lambda: self.load.stats()["ok"] > 20, "answers to clients")
        before = read_cpu_times()
        self.healthy = self.load.baseline(seconds)
        busy, total = (after - then for after, then in zip(read_cpu_times(), before, strict=True))
        self.parameters["cpu_pct"] = round(100 * busy / total)

    def build_live(
        self,
        repair: Callable[[], None] | None = None,
        inject: Callable[[], None] | None = None,
        **parameters: object,
    ) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, self.gunicorn.pid),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, self.access_log, repair,
            self.load.mark, inject,
        )  # fmt: skip


def write_pictures(environment: LabEnvironment, directory: str, files: int, kilobytes: int) -> None:
    """Write pictures p0, p1, ... that compress as badly as pictures do, and leave none in the page cache."""
    inside = environment.host.path(directory)
    inside.mkdir(parents=True)
    for number in range(files):
        (inside / f"p{number}").write_bytes(os.urandom(kilobytes * 1024))
    environment.host_sh(
        f"sync -f {directory}; for f in {directory}/*; do dd if=$f iflag=nocache count=0 status=none; done"
    )


def read_cpu_times() -> tuple[int, int]:
    """Return the busy time and the whole time of all CPUs since boot, in clock ticks."""
    times = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(times) - times[3] - times[4], sum(times)


def choose_scope(environment: LabEnvironment, rng: random.Random, pid: int) -> dict[str, str]:
    """Return the whole host in two of three rounds, else the process or its group."""
    if rng.random() < 2 / 3:
        return {}
    return rng.choice([{"pid": str(pid)}, {"cgroup": environment.app.path}])


def choose_pages(rng: random.Random, *, total: int = 8) -> tuple[str, ...]:
    """Return a mix of the catalog's pages."""
    return (*PAGES, *(rng.choice(PAGES) for _ in range(total - len(PAGES))))


def start_background(environment: LabEnvironment, rng: random.Random) -> list[str]:
    """Start healthy services that have nothing to do with the catalog. Returns their names."""
    names = rng.sample(("redis", "memcached", "agent", "idle connections", "log"), rng.randrange(2, 5))
    directory = environment.directory / "background"
    directory.mkdir(exist_ok=True)
    if "redis" in names or "idle connections" in names:
        port = rng.randrange(6300, 6500)
        environment.on_host(
            ["redis-server", "--port", str(port), "--bind", environment.host_address, "--protected-mode", "no",
             "--save", "", "--dir", str(directory)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "redis")
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "clients" / "cache_clients.py"),
             "--to", f"{environment.host_address}:{port}", "--rate", str(rng.randrange(20, 120)),
             "--idle", str(rng.randrange(150, 600) if "idle connections" in names else 0)]
        )  # fmt: skip
    if "memcached" in names:
        start_memcached(environment)
    if "agent" in names:
        environment.on_host(["sh", "-c", AGENT, str(directory / "agent.state")])
    if "log" in names:
        log = directory / "audit.log"
        words = f'while :; do echo "$(date -Is) {rng.choice(WARNINGS)}" >>"$0"; sleep {rng.choice((1, 2, 5))}; done'
        environment.on_host(["sh", "-c", words, str(log)])
        environment.on_host(["sh", "-c", 'sleep 1; exec tail -q -F "$0" >/dev/null', str(log)])
    return sorted(names)
