"""Services that ask other services, with one thing wrong on the way: what has a client, and a path of a network."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.network import connect_namespaces
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.hosts.runtime_host import RuntimeHost
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.node import NodeService
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

ARCHIVE, GATEWAY = "10.80.2.2", "10.80.2.254"


def _create_identity(directory: Path, name: str, bits: int) -> tuple[Path, Path]:
    """Create an RSA key and a certificate signed with it."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", f"rsa:{bits}", "-nodes", "-days", "90", "-subj", f"/CN={name}",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    key.chmod(0o644)
    return key, certificate


@contextmanager
def _client_of_a_page(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the portal has one client of its services, or each call of a page has its own."""
    host = RuntimeHost(environment, rng)
    bits = 4096
    name = rng.choice(("services", "mesh", "internal"))
    key, certificate = _create_identity(environment.directory, name, bits)
    api_port = rng.randrange(3000, 3900)
    api = ApiServer(
        environment, "127.0.0.1", api_port, delay_ms=rng.uniform(2, 6), work_us=rng.uniform(100, 300),
        answer_bytes=rng.choice((1000, 4000)),
    )  # fmt: skip
    nginx = Nginx(
        environment,
        host.port + 1,
        NginxSettings(
            worker_processes=1,
            listen_words="ssl",
            keepalive_timeout_s=rng.choice((65, 75)),
            http_lines=build_upstream("services", (api.address,)),
            server_lines=f"        ssl_certificate {certificate}; ssl_certificate_key {key};\n"
            + build_proxy("/", "services"),
        ),
    )
    portal = NodeService(environment, "portal.js", host.port)
    settings: dict[str, object] = {
        "services": nginx.address, "authority": str(certificate), "calls": rng.randrange(2, 5),
        "work": rng.randrange(300, 900),
    }  # fmt: skip
    portal.write_settings(**settings, client="portal")
    portal.start()
    rate = rng.uniform(120, 140) / int(str(settings["calls"]))
    mix = {"contracts": rng.choice((3, 4)), "claims": rng.choice((3, 4)), "help": 1}
    host.start_clients(round(rate), mix)
    portal.write_settings(**settings, client="page")
    time.sleep(2.0)
    yield host.build_live(
        rng.choice((portal.pid, nginx.pid)), portal.access_log,
        partial(portal.write_settings, **settings, client="portal"), key_bits=bits, calls=settings["calls"],
    )  # fmt: skip


@contextmanager
def _new_path(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the largest packet of the network on the way to the archive, where routers send no ICMP."""
    router = environment.insert_router()
    connect_namespaces(router, environment.client_net, (f"{GATEWAY}/24", f"{ARCHIVE}/24"), ("eth2", "eth1"))
    environment.client_net.sh(
        f"ip route add 10.80.0.0/24 via {GATEWAY} src {ARCHIVE} table 90; ip rule add from {ARCHIVE} lookup 90"
    )
    router.sh("iptables -A OUTPUT -p icmp -j DROP")
    port, app_port, archive_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    environment.on_client(
        [sys.executable, "-B", str(PROGRAMS / "archive_api.py"), "--listen", f"{ARCHIVE}:{archive_port}",
         "--delay-ms", str(rng.uniform(4, 15))]
    )  # fmt: skip
    wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{archive_port}")), "the archive")
    timeout_s = rng.choice((2, 2.5, 3))
    app = Gunicorn(
        environment, app_port, "letters_app.py", address="127.0.0.1", workers=2, threads=rng.choice((64, 80)),
        variables={
            "ARCHIVE_URL": f"http://{ARCHIVE}:{archive_port}", "ARCHIVE_TIMEOUT_S": str(timeout_s),
            "LETTER_BYTES": str(rng.choice((5000, 8000, 20_000))),
        },
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=build_upstream("letters", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "letters"),
        ),
    )
    rate = rng.uniform(40, 70)
    paths = ["/letters/{n}"] * rng.randrange(1, 3) + ["/states/{n}"] * 2 + ["/forms/{n}"] * 2
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 5))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    largest = rng.choice((1280, 1350, 1400, 1420))
    router.sh(f"ip link set eth2 mtu {largest}")
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.list_workers()[0]),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "timeout_s": timeout_s, "mtu": largest,
            "archive": f"{ARCHIVE}:{archive_port}", "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
        partial(router.sh, "ip link set eth2 mtu 1500"),
        load.mark,
        partial(router.sh, f"ip link set eth2 mtu {largest}"),
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "node-client-of-a-page", "development", "node-client-of-a-page", ("tls-handshakes", "connection-churn"),
        "A portal opens a TLS connection for each call of its services; signatures take the CPU time.",
        _client_of_a_page, needs=("node", "nginx", "openssl"), seconds=8.0, software=("node", "nginx"),
        global_effect=("cpu",),
    ),
    Scenario(
        "letters-new-path", "development", "letters-new-path", ("mtu-too-small",),
        "Large packets to the archive are dropped on the way without a word; small ones arrive.", _new_path,
        needs=("gunicorn", "nginx", "iptables"), seconds=8.0, software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
