"""Faults of names and the network under real web services."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.catalog_host import PROGRAMS, CatalogHost, choose_pages
from lab.scenario import Live, Scenario

SERVFAIL, NXDOMAIN, REFUSED, NO_ANSWER = 2, 3, 5, -1
FIRST, SECOND = "10.80.0.53", "10.80.0.54"


class NameServers:
    """Two name servers on the side of the clients, and the host's /etc/resolv.conf that lists them."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, options: str, *, cached: bool
    ) -> None:
        """Start them. cached: the host asks a dnsmasq of its own, which asks them."""
        self.environment = environment
        self.zone = rng.choice(("shop.internal", "prod.example.net", "svc.eu1.internal"))
        self.name = f"{rng.choice(('stock', 'inventory', 'warehouse'))}.{self.zone}"
        self.servers = {}
        for address in (FIRST, SECOND):
            environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
            settings = environment.directory / f"zone-{address}.json"
            self.servers[address] = environment.on_client(
                [sys.executable, "-B", str(PROGRAMS / "name_server.py"), "--listen", f"{address}:53",
                 "--address", environment.client_address, "--settings", str(settings)]
            )  # fmt: skip
            wait_for(
                lambda at=address: bool(environment.client_net.sh(f"ss -Hlun src {at}:53")), "name server"
            )
        file = environment.directory / "resolv.conf"
        servers = (FIRST, SECOND)
        if cached:
            servers = ("127.0.0.1",)
            environment.on_host(
                ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--listen-address=127.0.0.1",
                 "--bind-interfaces", "--pid-file=/run/dnsmasq.pid", "--user=root", "--cache-size=1000",
                 f"--server={FIRST}", f"--server={SECOND}"]
            )  # fmt: skip
            wait_for(lambda: bool(environment.host_net.sh("ss -Hlun src 127.0.0.1:53")), "dnsmasq")
        lines = [
            f"search {self.zone}",
            *(f"nameserver {address}" for address in servers),
            f"options {options}",
        ]
        file.write_text("\n".join(lines) + "\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")

    def change_answers(self, addresses: tuple[str, ...], **settings: object) -> None:
        """Let these name servers answer in another way."""
        for address in addresses:
            (self.environment.directory / f"zone-{address}.json").write_text(json.dumps(settings))
            os.kill(self.servers[address].pid, signal.SIGHUP)


def _start_named_catalog(
    environment: LabEnvironment, rng: random.Random, options: str, threads: int
) -> tuple[CatalogHost, NameServers]:
    """Start a catalog that asks the stock service by its name, and its clients."""
    cached = rng.random() < 0.4
    names = NameServers(environment, rng, options, cached=cached)
    environment.serve("evented.py", 8088, "--name", "stock", "--backlog", 4096, client_side=True)
    host = CatalogHost(
        environment, rng, workers=rng.randrange(2, 4), threads=threads,
        variables={"STOCK_URL": f"http://{names.name}:8088"},
    )  # fmt: skip
    host.parameters |= {"name": names.name, "options": options, "cached": cached}
    host.start_clients(
        rng.randrange(70, 130), (*choose_pages(rng, total=6), *["/stock/{n}"] * rng.randrange(3, 7))
    )
    host.measure_baseline()
    return host, names


@contextmanager
def _slow_names(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The name servers answer late, lose queries, or the first of them is silent."""
    options = rng.choice(("timeout:1 attempts:3", "timeout:2 attempts:2", "timeout:1 attempts:2"))
    host, names = _start_named_catalog(environment, rng, options, rng.choice((1, 4, 8)))
    way = rng.choice(("late", "late", "lost", "first is silent"))
    if way == "late":
        least = rng.randrange(120, 300)
        late_ms = [least, least * rng.uniform(1.3, 2.5)]
        inject = partial(names.change_answers, (FIRST, SECOND), share=1.0, late_ms=late_ms)
    elif way == "lost":
        share = rng.uniform(0.15, 0.3)
        inject = partial(names.change_answers, (FIRST, SECOND), share=share, code=NO_ANSWER)
    else:
        inject = partial(names.change_answers, (FIRST,), share=1.0, code=NO_ANSWER)
    inject()
    yield host.build_live(partial(names.change_answers, (FIRST, SECOND)), inject, way=way)


@contextmanager
def _failing_names(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The name servers answer with an error, or not at all."""
    options = rng.choice(("timeout:1 attempts:1", "timeout:1 attempts:2"))
    host, names = _start_named_catalog(environment, rng, options, rng.choice((4, 8, 16)))
    code = rng.choice((SERVFAIL, SERVFAIL, NXDOMAIN, REFUSED, NO_ANSWER))
    share = rng.choice((1.0, rng.uniform(0.5, 0.9)))
    inject = partial(names.change_answers, (FIRST, SECOND), share=share, code=code)
    inject()
    yield host.build_live(partial(names.change_answers, (FIRST, SECOND)), inject, code=code, share=share)


@contextmanager
def _backup_on_link(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A backup is fetched from the host, as fast as its link allows."""
    host = CatalogHost(
        environment, rng, workers=rng.randrange(2, 5), proxied=True, server_lines="location /media/ { }\n"
    )
    assert host.nginx is not None
    kilobytes = rng.choice((8, 16, 24))
    for number in range(40):
        host.nginx.add_file(f"media/p{number}.jpg", rng.randrange(kilobytes // 2, kilobytes * 2) * 1024)
    link_mbit, rate = rng.randrange(60, 180), rng.randrange(120, 200)
    latency_ms, burst_kb = rng.choice((60, 100, 200)), rng.choice((96, 128, 256))
    environment.host_net.sh(
        f"tc qdisc add dev eth0 root tbf rate {link_mbit}mbit burst {burst_kb}kb latency {latency_ms}ms"
    )
    pictures = tuple(f"/media/p{number}.jpg" for number in rng.sample(range(40), 6))
    host.start_clients(rate, (*pictures, *choose_pages(rng, total=rng.randrange(4, 9))))
    backups = environment.directory / "backups"
    environment.host_sh(f"mkdir {backups}; truncate -s 20G {backups}/dump")
    port, way = rng.randrange(8700, 8900), rng.choice(("rsync", "http"))
    at = f"{environment.host_address}:{port}"
    if way == "rsync":
        module = environment.directory / "rsyncd.conf"
        module.write_text(f"use chroot = no\n[backup]\npath = {backups}\n")
        environment.on_host(
            ["rsync", "--daemon", "--no-detach", f"--config={module}", f"--address={environment.host_address}",
             f"--port={port}"]
        )  # fmt: skip
        fetch = ["rsync", "--inplace", "--write-devices", f"rsync://{at}/backup/dump", "/dev/null"]
    else:
        environment.on_host(["busybox", "httpd", "-f", "-p", at, "-h", str(backups)])
        fetch = ["curl", "-s", "-o", "/dev/null", f"http://{at}/dump"]
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "the backup server")
    host.measure_baseline()
    transfers = rng.randrange(1, 5)
    running = []

    def inject() -> None:
        running.extend(environment.on_client(fetch) for _ in range(transfers))

    def repair() -> None:
        while running:
            environment.stop(running.pop())

    inject()
    yield host.build_live(
        repair, inject, link_mbit=link_mbit, latency_ms=latency_ms, way=way, transfers=transfers
    )


@contextmanager
def _slow_readers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Partners fetch exports as ever, but read them slowly: threads of the service block while they send."""
    workers, threads = rng.randrange(2, 4), rng.choice((4, 6, 8))
    kilobytes = rng.randrange(3000, 9000)
    host = CatalogHost(
        environment, rng, workers=workers, threads=threads, application="exports_app.py", proxied=False,
        variables={"EXPORT_KILOBYTES": str(kilobytes)}, options=("--timeout", "120"),
    )  # fmt: skip
    host.start_clients(rng.randrange(80, 140), ("/summary/{n}", *["/customers/{n}"] * rng.randrange(2, 5)))
    readers = workers * threads + rng.randrange(2, 10)
    command = [
        sys.executable, "-B", str(PROGRAMS / "clients" / "export_readers.py"),
        "--to", f"{environment.host_address}:{host.port}",
        "--readers", str(readers), "--rest-s", f"{readers / rng.uniform(3, 6):.1f}",
    ]  # fmt: skip
    partners = environment.on_client(command)
    time.sleep(1.0)
    host.measure_baseline()
    partners.kill()
    partners.wait()
    block, pause_ms = rng.choice((4096, 8192, 16384)), rng.randrange(100, 400)
    environment.on_client([*command, "--block", str(block), "--pause-ms", str(pause_ms), "--buffer", "16384"])
    time.sleep(2.0)
    yield host.build_live(readers=readers, kilobytes=kilobytes, block=block, pause_ms=pause_ms)


SCENARIOS = (
    Scenario(
        "dns-slow", "development", "dns-slow", ("slow-name-resolution",),
        "Name servers answer late or lose queries; the catalog resolves the stock service for each request.",
        _slow_names, needs=("gunicorn", "nginx", "dnsmasq", "redis-server"), software=("gunicorn", "dnsmasq"),
        seconds=8.0,
    ),
    Scenario(
        "dns-failing", "development", "dns-failing", ("failing-name-resolution",),
        "Name servers answer with errors or not at all; pages that need the stock service fail.",
        _failing_names, needs=("gunicorn", "nginx", "dnsmasq", "redis-server"), software=("gunicorn", "dnsmasq"),
        seconds=8.0,
    ),
    Scenario(
        "link-saturated", "development", "link-saturated", ("link-saturated",),
        "Backups are fetched from a web host and fill its link.", _backup_on_link,
        needs=("gunicorn", "nginx", "redis-server", "rsync", "curl", "busybox"), software=("nginx", "gunicorn"),
        seconds=8.0,
    ),
    Scenario(
        "zero-window", "development", "zero-window", ("slow-receiver",),
        "Partners read exports slowly; the threads of the service block in send.", _slow_readers,
        needs=("gunicorn", "nginx", "redis-server"), software=("gunicorn",), seconds=8.0,
    ),
)  # fmt: skip
