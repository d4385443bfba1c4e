"""The host of one application in Java, Go or Node: its neighbors, its partner company and its clients."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.memcached import start_memcached
from lab.scenario import Live

PROGRAMS = Path(__file__).parents[2] / "programs"
AGENT = 'while :; do cat /proc/stat /proc/meminfo /proc/net/dev | cksum >"$0"; sleep 1; done'
AUDIT = 'while :; do echo "$(date -Is) $1" >>"$0"; sleep $2; done'
REPORTS = 'while :; do head -c $2 /dev/zero | gzip -5 >"$0.tmp"; mv "$0.tmp" "$0"; sleep $1; done'
WARNINGS = (
    "WARN session cookie without SameSite attribute, will be required in release 9",
    "WARN deprecated option cache_compat is ignored",
    "WARN certificate of mail relay expires in 41 days",
    "WARN time zone data is older than 6 months",
)


class RuntimeHost:
    """A host with neighbors. Start the application, then its clients; all numbers come from `rng`."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        self.environment, self.rng = environment, rng
        self.directory = environment.directory / "neighbors"
        self.directory.mkdir()
        self.port = rng.randrange(7000, 9900)
        self.parameters: dict[str, object] = {"port": self.port}
        self.healthy: dict[str, float] = {}
        self.load: Load
        self.start_neighbors()

    def start_neighbors(self) -> None:
        """Start healthy services that have nothing to do with the application."""
        rng, environment = self.rng, self.environment
        names = rng.sample(
            ("fragment cache", "memcached", "agent", "idle connections", "audit", "reports"),
            rng.randrange(2, 5),
        )
        if "fragment cache" in names or "idle connections" in names:
            self._start_cache(
                rng.randrange(20, 90), idle=rng.randrange(150, 600) if "idle connections" in names else 0
            )
        if "memcached" in names:
            start_memcached(environment)
        if "agent" in names:
            environment.on_host(["sh", "-c", AGENT, str(self.directory / "agent.state")])
        if "audit" in names:
            words = [rng.choice(WARNINGS), str(rng.choice((1, 2, 5)))]
            environment.on_host(["sh", "-c", AUDIT, str(self.directory / "audit.log"), *words])
        if "reports" in names:
            words = [str(rng.choice((2, 3, 4))), str(rng.randrange(10, 30) * 1_000_000)]
            environment.on_host(["sh", "-c", REPORTS, str(self.directory / "report.gz"), *words])
        self.parameters["neighbors"] = sorted(names)

    def _start_cache(self, rate: int, idle: int) -> None:
        """A Redis with cached fragments of another team, its steady clients, and connections that wait."""
        port = self.rng.randrange(6300, 6370)
        self.environment.on_host(
            ["redis-server", "--port", str(port), "--bind", self.environment.host_address, "--protected-mode", "no",
             "--save", "", "--dir", str(self.directory)]
        )  # fmt: skip
        wait_for(lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{port}")), "the neighbor")
        self.environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "clients" / "cache_clients.py"), "--key", "fragment", "--to",
             f"{self.environment.host_address}:{port}", "--rate", str(rate), "--idle", str(idle)]
        )  # fmt: skip

    def start_partner(self, **times: tuple[float, float]) -> str:
        """Start the service of a partner company on the other side; returns its address."""
        port = self.rng.randrange(7000, 9900)
        address = f"{self.environment.client_address}:{port}"
        self.set_partner(**times)
        self.environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "partner_api.py"), "--listen", address, "--settings",
             str(self.partner_settings)]
        )  # fmt: skip
        wait_for(lambda: bool(self.environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the partner")
        return address

    @property
    def partner_settings(self) -> Path:
        return self.environment.directory / "partner.json"

    def set_partner(self, **times: tuple[float, float]) -> None:
        """Set how long the partner takes: middle in ms and spread, by the first part of the path."""
        text = json.dumps({f"/{name}/": list(values) for name, values in times.items()})
        self.partner_settings.with_suffix(".new").write_text(text)
        self.partner_settings.with_suffix(".new").replace(self.partner_settings)

    def start_clients(
        self,
        rate: float,
        mix: dict[str, int],
        *,
        warm_s: float = 3.0,
        seconds: float = 3.0,
        timeout_s: float = 3.0,
    ) -> None:
        """Start the clients, with `mix` as parts of each path, and measure the healthy phase after a warm-up."""
        self.parameters |= {"rate": rate, "mix": mix}
        paths = [word for name, parts in mix.items() for word in ("--path", f"/{name}/{{n}}") * parts]
        self.load = self.environment.load(
            "--to", f"{self.environment.host_address}:{self.port}", "--rate", rate, "--timeout-s", timeout_s,
            *paths, "--seed", self.rng.randrange(10_000), program="web/web_clients.py",
        )  # fmt: skip
        time.sleep(warm_s)
        self.healthy = self.load.baseline(seconds)

    def build_live(
        self,
        pid: int,
        access_log: str,
        repair: Callable[[], None] | None = None,
        inject: Callable[[], None] | None = None,
        **parameters: object,
    ) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        scope: dict[str, str] = {}
        if self.rng.random() > 2 / 3:
            scope = self.rng.choice([{"pid": str(pid)}, {"cgroup": self.environment.app.path}])
        return Live(
            self.environment.host, scope, {**self.parameters, **parameters, "healthy": self.healthy},
            self.load.stats, access_log, repair, self.load.mark, inject,
        )  # fmt: skip
