"""A site's host: a Python application behind nginx or alone, other services next to it, a volume, and clients."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.memcached import start_memcached
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.scenario import Live

PROGRAMS = Path(__file__).parents[2] / "programs"
CATALOG_PAGES = ("/products/{n}", "/search/{n}", "/prices/{n}")
MAGAZINE_PAGES = ("/articles/{n}", "/topics/{n}")
WORDS = (
    "harbor",
    "market",
    "summer",
    "council",
    "bridge",
    "festival",
    "museum",
    "library",
    "railway",
    "garden",
)
WARNINGS = (
    "WARN option legacy_tokens will be removed in the next major release",
    "WARN certificate of partner expires in 41 days",
    "WARN retrying: temporary failure of smtp greeting",
    "WARN locale de_AT not found, using de_DE",
)
METRICS = 'while :; do cat /proc/loadavg /proc/vmstat /proc/net/snmp | gzip -1 >"$0"; sleep {pause}; done'
AUDIT = 'while :; do echo "$(date -Is) {line}" >>"$0"; sleep {pause}; done'


class SiteHost:
    """An application of gunicorn with its neighbors and clients. What varies comes from `rng`."""

    def __init__(
        self,
        environment: LabEnvironment,
        rng: random.Random,
        application: str = "catalog_app.py",
        *,
        workers: int = 3,
        threads: int = 1,
        variables: Mapping[str, str] | None = None,
        group: Group | None = None,
        proxied: bool | None = None,
    ) -> None:
        """Start the software. `proxied`: whether nginx is in front; None lets `rng` choose."""
        self.environment, self.rng, self.group = environment, rng, group or environment.app
        self.port = rng.randrange(7000, 9900)
        self.proxied = rng.random() < 0.6 if proxied is None else proxied
        inner = self.port + 1 if self.proxied else self.port
        has_log = not self.proxied and application == "catalog_app.py"
        self.gunicorn = Gunicorn(
            environment, inner, application, workers=workers, threads=threads, variables=variables, group=group,
            access_log=has_log, address="127.0.0.1" if self.proxied else "",
        )  # fmt: skip
        self.nginx: Nginx | None = None
        self.access_log = self.gunicorn.log
        if self.proxied:
            settings = NginxSettings(
                http_lines=build_upstream("site", (f"127.0.0.1:{inner}",)),
                server_lines=build_proxy("/", "site"),
            )
            self.nginx = Nginx(environment, self.port, settings, group=group)
            self.access_log = self.nginx.access_log
        self.parameters: dict[str, object] = {
            "port": self.port, "workers": workers, "threads": threads, "proxied": self.proxied,
            "neighbors": start_neighbors(environment, rng),
        }  # fmt: skip

    def start_clients(self, rate: float, paths: tuple[str, ...], timeout_s: float = 3.0) -> None:
        """Start the clients; a path may be listed more than once to make it more frequent."""
        self.parameters |= {"rate": rate, "paths": list(paths)}
        self.load = start_web_clients(self.environment, self.rng, self.port, rate, paths, timeout_s)

    def measure_baseline(self, seconds: float = 3.0) -> None:
        """Let the software warm up, then measure the healthy phase."""
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        before = _read_cpu_ticks()
        self.parameters["healthy"] = self.load.baseline(seconds)
        busy, total = (now - then for now, then in zip(_read_cpu_ticks(), before, strict=True))
        self.parameters["healthy_cpu_pct"] = round(100 * busy / total)

    def build_live(self, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        scope = choose_scope(self.rng, self.gunicorn.pid, self.group)
        return Live(
            self.environment.host, scope, {**self.parameters, **parameters}, self.load.stats, self.access_log,
            mark=self.load.mark,
        )  # fmt: skip


def start_magazine(
    environment: LabEnvironment,
    rng: random.Random,
    variables: Mapping[str, str],
    *,
    workers: int = 0,
    threads: int = 1,
) -> SiteHost:
    """Start the articles application with its content."""
    directory = environment.directory / "content"
    directory.mkdir()
    for index in range(400):
        text = " ".join(rng.choices(WORDS, k=rng.randrange(40, 120)))
        (directory / f"fragment-{index:03}.html").write_text(f"<p>{text}</p>\n")
    return SiteHost(
        environment, rng, "articles_app.py", workers=workers or rng.randrange(3, 6), threads=threads,
        variables={"CONTENT_DIRECTORY": str(directory), **variables},
    )  # fmt: skip


def start_web_clients(
    environment: LabEnvironment,
    rng: random.Random,
    port: int,
    rate: float,
    paths: tuple[str, ...],
    timeout_s: float = 3.0,
) -> Load:
    """Start clients of the host's web server."""
    return environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--timeout-s", timeout_s,
        *(word for path in paths for word in ("--path", path)), "--seed", rng.randrange(10_000),
        program="web/web_clients.py",
    )  # fmt: skip


def choose_scope(rng: random.Random, pid: int, group: Group) -> dict[str, str]:
    """Return the whole host in two of three rounds, else the process or its group."""
    if rng.random() < 2 / 3:
        return {}
    return rng.choice([{"pid": str(pid)}, {"cgroup": group.path}])


def choose_pages(
    rng: random.Random, pages: tuple[str, ...] = CATALOG_PAGES, total: int = 8
) -> tuple[str, ...]:
    """Return a mix of pages in which each of them occurs."""
    return (*pages, *(rng.choice(pages) for _ in range(total - len(pages))))


def mount_volume(environment: LabEnvironment, size_mb: int, path: str, inodes: int = 0) -> None:
    """Give the host an ext4 volume of its own at `path`; it goes with the host's mounts."""
    image = environment.directory / f"volume-{path.strip('/').replace('/', '-')}"
    subprocess.run(["fallocate", "-l", f"{size_mb}M", str(image)], check=True, timeout=60)
    options = ["-N", str(inodes)] if inodes else []
    subprocess.run(
        ["mkfs.ext4", "-q", "-m", "0", *options, str(image)], check=True, capture_output=True, timeout=60
    )
    environment.host_sh(
        f"mkdir -p {path}; loop=$(losetup --find --show --direct-io=on {image});"
        f"mount -o noatime $loop {path} || {{ losetup -d $loop; exit 1; }}; losetup -d $loop"
    )


def start_neighbors(environment: LabEnvironment, rng: random.Random) -> list[str]:
    """Start healthy services that have nothing to do with the site. Returns their names."""
    names = rng.sample(("redis", "memcached", "metrics", "idle connections", "audit"), rng.randrange(2, 5))
    directory = environment.directory / "neighbors"
    directory.mkdir(exist_ok=True)
    if "redis" in names or "idle connections" in names:
        port = rng.randrange(6300, 6500)
        environment.on_host(
            ["redis-server", "--port", str(port), "--bind", environment.host_address, "--protected-mode", "no",
             "--save", "", "--dir", str(directory)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "redis")
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "clients" / "store_clients.py"),
            "--to", f"{environment.host_address}:{port}",
             "--rate", str(rng.randrange(20, 120)),
             "--idle", str(rng.randrange(150, 600) if "idle connections" in names else 4)]
        )  # fmt: skip
    if "memcached" in names:
        start_memcached(environment)
    if "metrics" in names:
        environment.on_host(
            ["sh", "-c", METRICS.format(pause=rng.choice((1, 2))), str(directory / "metrics.gz")]
        )
    if "audit" in names:
        log = str(directory / "audit.log")
        environment.on_host(
            ["sh", "-c", AUDIT.format(line=rng.choice(WARNINGS), pause=rng.choice((1, 2, 5))), log]
        )
    return sorted(names)


def _read_cpu_ticks() -> tuple[int, int]:
    """Return the busy and all ticks of the machine's CPUs."""
    values = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(values) - values[3] - values[4], sum(values)
