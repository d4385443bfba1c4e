"""What web scenarios have in common: neighbours of the service, and how an engineer would name what is slow."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.memcached import start_memcached

PROGRAMS = Path(__file__).parents[1] / "programs"
VISITORS = str(PROGRAMS / "clients" / "visitors.py")
ROTATE = 'while :; do gzip -c "$0" >"$0.gz.tmp" && mv "$0.gz.tmp" "$0.gz"; sleep %.1f; done'


def choose_scope(environment: LabEnvironment, rng: random.Random, pid: int) -> dict[str, str]:
    """Return the scope of the incident: the whole host in two of three, else the process or its group."""
    if rng.random() < 2 / 3:
        return {}
    return rng.choice([{"pid": str(pid)}, {"cgroup": environment.app.path}])


def draw_ports(rng: random.Random, count: int) -> list[int]:
    """Return distinct ports, as services of one company have them."""
    return rng.sample([*range(3000, 3900), *range(7000, 9900)], count)


class ApiServer:
    """An api_server.py on the host, or behind it on the clients' side. Settings may be changed while it runs."""

    def __init__(
        self, environment: LabEnvironment, address: str, port: int, *, client_side: bool = False,
        limits: Sequence[str] = (), access_log: str = "", **settings: float,
    ) -> None:  # fmt: skip
        """Start it and wait until it listens. settings: those of api_server.py. limits: options of prlimit."""
        self.address, self.port = f"{address}:{port}", port
        self.settings = dict(settings)
        self._file = environment.directory / f"api-{port}.json"
        self.write_settings()
        command = [
            *(("prlimit", *limits, "--") if limits else ()), sys.executable, "-B", str(PROGRAMS / "api_server.py"),
            "--listen", self.address, "--settings", str(self._file), "--access-log", access_log,
        ]  # fmt: skip
        self.server = (environment.on_client if client_side else environment.on_host)(command)
        net = environment.client_net if client_side else environment.host_net
        wait_for(lambda: f":{port} " in net.sh(f"ss -Hltn sport = :{port}"), f"api_server.py on port {port}")

    def write_settings(self, **changes: float) -> None:
        """Change these settings within half a second."""
        self.settings |= changes
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps(self.settings))
        temporary.rename(self._file)


def start_neighbours(environment: LabEnvironment, rng: random.Random, *, count: int = 0) -> list[str]:
    """Start some of a small company's other services, all healthy, and return their names."""
    names = rng.sample(
        ("memcached", "redis", "rotation", "ratings", "monitoring"), count or rng.randrange(2, 4)
    )
    ports = rng.sample(range(11_000, 12_000), 2)
    for name in names:
        if name == "memcached":
            start_memcached(environment, ports[0])
        elif name == "redis":
            environment.on_host(
                ["redis-server", "--port", str(ports[1]), "--save", "", "--bind", "127.0.0.1", "--logfile", "",
                 "--dir", str(environment.directory)]
            )  # fmt: skip
            environment.on_host(
                [
                    "redis-cli",
                    "-p",
                    str(ports[1]),
                    "-r",
                    "-1",
                    "-i",
                    str(rng.choice((0.02, 0.05))),
                    "incr",
                    "visits",
                ]
            )
        elif name == "rotation":
            log = environment.directory / "shipments.log"
            log.write_text(
                "".join(
                    f"{number} shipment {rng.random():.9f}\n"
                    for number in range(rng.randrange(20_000, 60_000))
                )
            )
            environment.on_host(["sh", "-c", ROTATE % rng.uniform(1.5, 4), str(log)])
        elif name == "ratings":
            port = rng.randrange(12_000, 13_000)
            ApiServer(
                environment, environment.host_address, port,
                delay_ms=rng.choice((5, 40)), work_us=rng.choice((800, 2500)), answer_bytes=2000,
            )  # fmt: skip
            start_visitors(
                environment, rng, f"{environment.host_address}:{port}", rng.randrange(20, 150), rng.uniform(10, 40),
                "/ratings/{n}",
            )  # fmt: skip
        else:
            environment.on_host(
                ["sh", "-c", "while :; do ss -s >/dev/null; cat /proc/meminfo >/dev/null; sleep 2; done"]
            )
    return names


def start_visitors(
    environment: LabEnvironment, rng: random.Random, to: str, visitors: int, rate: float, *paths: str,
    options: Sequence[object] = (),
) -> Load:  # fmt: skip
    """Start clients that keep their connections."""
    words = [word for path in paths for word in ("--path", path)]
    return environment.load(
        "--to", to, "--visitors", visitors, "--rate", rate, "--seed", rng.randrange(10_000), *words, *options,
        program=VISITORS,
    )  # fmt: skip


def start_requests(
    environment: LabEnvironment,
    rng: random.Random,
    to: str,
    rate: float,
    *paths: str,
    options: Sequence[object] = (),
) -> Load:
    """Start clients with a connection for each request."""
    words = [word for path in paths for word in ("--path", path)]
    return environment.load(
        "--to",
        to,
        "--rate",
        rate,
        "--seed",
        rng.randrange(10_000),
        *words,
        *options,
        program="web/web_clients.py",
    )
