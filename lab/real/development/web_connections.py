"""Connections that cost too much or stay too long: TLS handshakes, and answers that are not read to their end."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
    start_visitors,
)
from lab.scenario import Live, Scenario


def create_certificate(directory: Path, bits: int, name: str) -> tuple[Path, Path]:
    """Create an RSA key and a certificate signed with it."""
    key, certificate = directory / "site.key", directory / "site.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", f"rsa:{bits}", "-nodes", "-days", "90", "-subj", f"/CN={name}",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return key, certificate


@contextmanager
def _handshakes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether clients keep their connections; their requests stay the same in number and kind."""
    port, api_port = draw_ports(rng, 2)
    bits = rng.choice((3072, 4096, 4096))
    neighbours = start_neighbours(environment, rng)
    key, certificate = create_certificate(
        environment.directory, bits, rng.choice(("shop.example", "api.example"))
    )
    api = ApiServer(
        environment,
        "127.0.0.1",
        api_port,
        delay_ms=rng.uniform(2, 8),
        work_us=rng.uniform(200, 500),
        answer_bytes=1500,
    )
    tickets = rng.choice(("on", "off"))
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            listen_words="ssl",
            keepalive_timeout_s=rng.choice((65, 75)),
            http_lines=build_upstream("api", (api.address,), keepalive=16),
            server_lines=f"        ssl_certificate {certificate}; ssl_certificate_key {key};\n"
            f"        ssl_session_cache shared:tls:4m; ssl_session_tickets {tickets};\n"
            + build_proxy("/api/", "api"),
        ),
    )
    nginx.add_file("assets/app.css", rng.randrange(5_000, 40_000))
    rate = rng.uniform(290, 340) if bits == 4096 else rng.uniform(400, 440)
    visitors = rng.randrange(80, 160)
    paths = rng.sample(("/api/items/{n}", "/api/carts/{n}", "/api/login/{n}"), 2)
    clients = nginx.address, visitors, rate, *paths, "/assets/app.css"
    load = start_visitors(environment, rng, *clients, options=("--tls",))
    time.sleep(3.0)
    healthy = load.baseline(3.0)
    load.process.kill()
    load = start_visitors(environment, rng, *clients, options=("--tls", "--new-connections"))
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, nginx.list_workers()[0]),
        {
            "port": port, "healthy": healthy, "rate": rate, "key_bits": bits, "visitors": visitors, "paths": paths,
            "tickets": tickets, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


class Checkout:
    """The checkout, a program of Node.js on the host, and its releases."""

    def __init__(
        self, environment: LabEnvironment, port: int, files: int, variables: Mapping[str, object]
    ) -> None:
        self.environment, self.port, self.files = environment, port, files
        self.variables = dict(variables)
        self.log = "/run/checkout/access.log"
        environment.host_sh("mkdir -p /run/checkout")
        self.start()

    def start(self, **changes: object) -> None:
        """Start it with these environment variables changed, and wait until it listens."""
        self.variables |= changes
        words = {
            "ADDRESS": self.environment.host_address, "PORT": self.port, "ACCESS_LOG": self.log, **self.variables
        }  # fmt: skip
        command = [
            "prlimit", f"--nofile={self.files}:{self.files}", "--", "env",
            *(f"{name}={value}" for name, value in words.items()), "node", str(PROGRAMS / "checkout.mjs"),
        ]  # fmt: skip
        self.server = self.environment.on_host(command)
        net = self.environment.host_net
        wait_for(lambda: f":{self.port} " in net.sh(f"ss -Hltn sport = :{self.port}"), "the checkout")

    def stop(self) -> None:
        """End it."""
        self.server.kill()
        self.server.wait()


@contextmanager
def _close_wait(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a release that looks at the status of the carriers' answer and leaves the rest unread.

    The carriers close connections; the checkout's ends stay. Either its pool of sockets or its open files run out.
    """
    port, carriers_port = draw_ports(rng, 2)
    pool = rng.random() < 0.5
    sockets, files = (rng.randrange(80, 200), 4096) if pool else (0, rng.choice((400, 512, 640)))
    neighbours = start_neighbours(environment, rng)
    carriers = ApiServer(
        environment, environment.client_address, carriers_port, client_side=True, idle_s=rng.uniform(3, 6),
        delay_ms=rng.uniform(5, 20), work_us=150, answer_bytes=rng.choice((150_000, 400_000)),
    )  # fmt: skip
    checkout = Checkout(
        environment, port, files,
        {"CARRIERS_URL": f"http://{carriers.address}", "SOCKETS": sockets, "WORK": rng.randrange(150, 400)},
    )  # fmt: skip
    rate = rng.uniform(70, 130)
    others = ["/cart/{n}"] * rng.randrange(1, 3) + ["/vouchers/{n}"]
    load = start_requests(
        environment, rng, f"{environment.host_address}:{port}", rate, "/delivery/{n}", *others,
        options=("--timeout-s", 3),
    )  # fmt: skip
    time.sleep(2.0)
    healthy = load.baseline(3.0)
    checkout.stop()
    checkout.start(CONFIRM="status")
    leaking_rate = rate / (1 + len(others))
    time.sleep(min(30.0, (sockets or files) / leaking_rate + 3))
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, checkout.server.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "sockets": sockets, "open_files": files,
            "dependency": carriers.address, "neighbours": neighbours,
        },
        load.stats,
        checkout.log,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "tls-handshakes", "development", "tls-handshakes", ("tls-handshakes",),
        "Clients open a connection for each request: the CPUs sign handshakes with a large RSA key.", _handshakes,
        needs=("nginx", "openssl"), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "close-wait-leak", "development", "close-wait-leak", ("fd-leak-close-wait",),
        "A release leaves answers of another service unread, so that closed connections are never let go.", _close_wait,
        needs=("node",), seconds=10.0, software=("node",),
    ),
)  # fmt: skip
