"""Faults between clients and a service, or between a service and what it asks: a third set."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

# The rules of the host: what every host of the company has, and one line for each service.
RULES = """
table inet site {{
    chain inbound {{
        type filter hook input priority 0; policy accept;
        iifname "lo" accept
        iifname "mgmt0" accept
        tcp flags & (fin|syn) == (fin|syn) counter drop
        tcp dport {port} counter jump web
        tcp dport {{ 25, 111, 2049 }} counter drop
    }}
    chain web {{
        ip saddr 203.0.113.0/24 counter drop
    }}
}}
"""
ADDRESS = "10.80.0.53"


def _measure_baseline(load: Load, warm_s: float = 1.5, seconds: float = 4.0) -> dict[str, float]:
    """Return what clients see once the software is warm."""
    wait_for(lambda: load.stats()["ok"] > 30, "answers to clients", 30.0)
    time.sleep(warm_s)
    return load.baseline(seconds)


@contextmanager
def _rule_of_the_host(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: one more rule in the chain of the web service. All clients come through one address."""
    port, *api_ports = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    answer_bytes = rng.randrange(4_000, 24_000)
    servers = [
        ApiServer(
            environment, "127.0.0.1", number,
            delay_ms=rng.uniform(4, 15), work_us=rng.uniform(300, 800), answer_bytes=answer_bytes,
        )
        for number in api_ports
    ]  # fmt: skip
    settings = HaproxySettings(
        frontend=rng.choice(("www", "edge")),
        backend=rng.choice(("accounts", "members")),
        servers=tuple(server.address for server in servers),
        balance=rng.choice(("roundrobin", "leastconn")),
    )
    haproxy = Haproxy(environment, port, settings)
    rules = environment.directory / "nftables.conf"
    rules.write_text(RULES.format(port=port))
    environment.host_net.sh(f"nft -f {rules}")
    rate = rng.uniform(90, 160)
    load = start_requests(
        environment, rng, haproxy.address, rate, "/members/{n}", "/badges/{n}", "/points/{n}",
        options=("--timeout-s", rng.choice((3, 5))),
    )  # fmt: skip
    healthy = _measure_baseline(load)
    way = rng.choice(("connections", "packets", "sources"))
    if way == "connections":
        allowed = int(rate * rng.uniform(0.75, 0.92))
        words = f"tcp flags & (syn|ack) == syn limit rate over {allowed}/second burst {rng.randrange(5, 20)} packets"
    elif way == "packets":
        # A short request takes about five packets of the client.
        allowed = int(rate * 5 * rng.uniform(0.6, 0.8))
        words = f"limit rate over {allowed}/second burst {rng.randrange(20, 60)} packets"
    else:
        allowed = int(rate * rng.uniform(0.75, 0.92))
        words = f"tcp flags & (syn|ack) == syn meter sources {{ ip saddr limit rate over {allowed}/second }}"
    environment.host_net.sh(f"nft add rule inet site web '{words}' counter drop")
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, haproxy.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "way": way, "allowed": allowed, "neighbours": neighbours,
        },
        load.stats,
    )  # fmt: skip


@contextmanager
def _short_queue(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: listen.backlog of the pool. Visitors come in groups, as after each mail of a campaign."""
    port, php_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    children, backlog = rng.randrange(5, 9), rng.choice((2, 3, 4, 6))
    settings = PhpSettings(pool=rng.choice(("www", "shop", "tickets")), max_children=children, backlog=511)
    php = Php(environment, php_port, ("shop.php",), settings)
    script = str(php.directory / "shop.php")
    nginx = Nginx(
        environment, port, NginxSettings(server_lines=build_fastcgi("/", php.address, script)),
    )  # fmt: skip
    group, pause_s = rng.randrange(35, 60), rng.uniform(1.2, 2.4)
    load = environment.load(
        "--to", nginx.address, "--group", group, "--pause-s", round(pause_s, 2), "--rate", rng.randrange(8, 20),
        "--path", "/start/{n}", "--path", "/cart/{n}", "--seed", rng.randrange(10_000), "--timeout-s", 4,
        program=str(PROGRAMS / "clients" / "campaign_visitors.py"),
    )  # fmt: skip
    healthy = _measure_baseline(load, seconds=6.0)
    php.restart(backlog=backlog)
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, php.pid),
        {
            "port": port, "healthy": healthy, "children": children, "backlog": backlog, "group": group,
            "pause_s": pause_s, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


class Resolver:
    """A dnsmasq of the network for the host, which knows one kind of record and asks its upstream for the others."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, names: tuple[str, ...]) -> None:
        self.environment = environment
        environment.client_net.sh(f"ip addr add {ADDRESS}/24 dev eth0")
        upstream_port = rng.randrange(5300, 5400)
        self.settings = environment.directory / "zone.json"
        self.upstream = environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "name_server.py"), "--listen", f"{ADDRESS}:{upstream_port}",
             "--address", environment.client_address, "--settings", str(self.settings)]
        )  # fmt: skip
        environment.on_client(
            ["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", f"--listen-address={ADDRESS}",
             "--bind-interfaces", f"--pid-file={environment.directory}/dnsmasq.pid", "--user=root", "--cache-size=0",
             *(f"--host-record={name},{environment.client_address}" for name in names),
             f"--server={ADDRESS}#{upstream_port}"]
        )  # fmt: skip
        for port in (53, upstream_port):
            wait_for(
                lambda at=port: bool(environment.client_net.sh(f"ss -Hlun src {ADDRESS}:{at}")),
                "the resolver",
            )

    def configure_host(self, options: str) -> None:
        """Let the host ask this resolver."""
        file = self.environment.directory / "resolv.conf"
        file.write_text(f"nameserver {ADDRESS}\noptions {options}\n")
        self.environment.host_sh(f"mount --bind {file} /etc/resolv.conf")

    def change_upstream(self, **settings: object) -> None:
        """Let the upstream answer in another way."""
        self.settings.write_text(json.dumps(settings))
        os.kill(self.upstream.pid, signal.SIGHUP)


@contextmanager
def _names_for_node(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how the upstream of the resolver treats the second question of each look-up."""
    port, tariff_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    name = f"{rng.choice(('tariffs', 'zones', 'quotas'))}.{rng.choice(('corp.internal', 'eu2.example.net'))}"
    resolver = Resolver(environment, rng, (name,))
    options = rng.choice(("timeout:1 attempts:2", "timeout:2 attempts:1", "timeout:1 attempts:3"))
    resolver.configure_host(options)
    ApiServer(
        environment, environment.client_address, tariff_port, client_side=True,
        delay_ms=rng.uniform(3, 12), work_us=150, answer_bytes=700,
    )  # fmt: skip
    environment.host_sh("mkdir -p /run/freight")
    log = "/run/freight/access.log"
    server: subprocess.Popen[bytes] = environment.on_host(
        ["env", f"ADDRESS={environment.host_address}", f"PORT={port}", f"TARIFFS=http://{name}:{tariff_port}",
         f"ACCESS_LOG={log}", f"WORK={rng.randrange(100, 300)}", "node", str(PROGRAMS / "freight.mjs")]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "the freight service")
    rate = rng.uniform(60, 110)
    paths = ["/quotes/{n}"] * rng.randrange(1, 3) + ["/parcels/{n}"] * rng.randrange(1, 4)
    load = start_requests(
        environment, rng, f"{environment.host_address}:{port}", rate, *paths, options=("--timeout-s", 4)
    )
    healthy = _measure_baseline(load)
    if rng.random() < 0.5:
        way = {"share": 1.0, "code": -1}
    else:
        least = rng.randrange(250, 600)
        way = {"share": 1.0, "late_ms": [least, least * rng.uniform(1.2, 1.8)]}
    resolver.change_upstream(**way)
    time.sleep(4.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, server.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "options": options, "way": way,
            "name": name, "neighbours": neighbours,
        },
        load.stats,
        log,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "members-edge", "development", "firewall", ("firewall-drop",),
        "A rule of the host's firewall drops part of the packets of a web service behind HAProxy.", _rule_of_the_host,
        needs=("haproxy", "nft"), seconds=10.0, software=("haproxy", "nftables"),
    ),
    Scenario(
        "campaign-shop", "development", "listen-queue", ("listen-queue-overflow",),
        "The listen queue of php-fpm is too short for the groups in which visitors come.", _short_queue,
        needs=("nginx", "php-fpm8.2"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
    Scenario(
        "freight-quotes", "development", "resolver", ("slow-name-resolution",),
        "The resolver answers one of the two questions of each look-up late or never; Node waits for both.",
        _names_for_node, needs=("node", "dnsmasq"), seconds=10.0, software=("node", "dnsmasq"),
    ),
)  # fmt: skip
