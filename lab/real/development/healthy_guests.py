"""Hosts of public sites that are healthy: guests on poor lines, crawlers that limits refuse, scans, and full images."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.hosts.catalog_host import CatalogHost, choose_pages
from lab.real.services.nginx import build_proxy
from lab.scenario import Live, Scenario

GUESTS = "10.80.0.77"
CRAWLERS = ("10.80.0.81", "10.80.0.82", "10.80.0.83", "10.80.0.84")


def _add_addresses(environment: LabEnvironment, addresses: tuple[str, ...]) -> None:
    """Give the machine of the clients further addresses."""
    environment.client_net.sh("; ".join(f"ip addr add {address}/24 dev eth0" for address in addresses))


def _start_visitors(
    environment: LabEnvironment, source: str, port: int, rate: float, paths: tuple[str, ...]
) -> None:
    """Start clients that come from `source`; what they see is not measured."""
    environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", f"{rate:.1f}", "--source", source,
        *(word for path in paths for word in ("--path", path)), program="web/web_clients.py",
    )  # fmt: skip


@contextmanager
def _poor_lines(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Part of the guests are on lines that lose packets, as mobile ones do, at any time."""
    host = CatalogHost(
        environment, rng, workers=rng.randrange(3, 5), proxied=True, server_lines="location /media/ { }\n"
    )
    assert host.nginx is not None
    for number in range(30):
        host.nginx.add_file(f"media/p{number}.jpg", rng.randrange(20, 90) * 1024)
    pictures = tuple(f"/media/p{number}.jpg" for number in rng.sample(range(30), 8))
    _add_addresses(environment, (GUESTS,))
    lost = rng.uniform(0.03, 0.07)
    chance = f"-m statistic --mode random --probability {lost:.3f} -j DROP"
    environment.client_net.sh(
        f"iptables -A INPUT -d {GUESTS} {chance}; iptables -A OUTPUT -s {GUESTS} {chance}"
    )
    guests = rng.randrange(15, 30)
    _start_visitors(environment, GUESTS, host.port, guests, pictures)
    host.start_clients(rng.randrange(60, 110), (*pictures[:3], *choose_pages(rng, total=6)))
    host.measure_baseline()
    yield host.build_live(lost=round(lost, 3), guests=guests)


@contextmanager
def _refused_crawlers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Crawlers come faster than a limit allows, some of them with many connections; a probe of strangers is dropped."""
    host = CatalogHost(
        environment, rng, workers=rng.randrange(3, 6), proxied=True, server_lines="location /media/ { }\n"
    )
    assert host.nginx is not None
    host.nginx.add_file("media/feed.json", rng.randrange(300, 700) * 1024)
    settings = host.nginx.settings
    host.nginx.reload(
        http_lines=settings.http_lines + "    limit_req_zone $binary_remote_addr zone=pages:1m rate=15r/s;\n"
        "    limit_conn_zone $binary_remote_addr zone=feeds:1m;\n",
        server_lines="access_log /run/nginx/access.log timed; access_log /run/nginx/clients.log combined;\n"
        + settings.server_lines.replace("/media/ { ", "/media/ { limit_conn feeds 2; limit_rate 400k; ")
        + build_proxy("/search/", "catalog", lines="limit_req zone=pages burst=20 nodelay;"),
    )
    _add_addresses(environment, CRAWLERS)
    rates = [rng.uniform(18, 30) for _ in CRAWLERS]
    for address, rate in zip(CRAWLERS, rates, strict=True):
        _start_visitors(environment, address, host.port, rate, ("/search/1", "/search/2"))
        _start_visitors(environment, address, host.port, 4, ("/media/feed.json",))
    environment.host_net.sh(
        "nft add table inet edge; nft add chain inet edge in '{ type filter hook input priority 0; }';"
        "nft add rule inet edge in iifname eth0 tcp dport '{ 22, 23, 3389 }' counter drop"
    )
    knock = f"exec 3<>/dev/tcp/{environment.host_address}/22"
    environment.on_client(
        ["bash", "-c", f"while :; do timeout 0.3 bash -c '{knock}' 2>/dev/null; sleep 0.1; done"]
    )
    readers = [f"10.80.0.{number}" for number in range(100, 140)]
    _add_addresses(environment, tuple(readers))
    host.start_clients(
        rng.randrange(60, 100), ("/products/{n}", "/prices/{n}", "/products/{n}"), sources=tuple(readers)
    )
    host.measure_baseline()
    yield host.build_live(rates=[round(rate) for rate in rates])


SCENARIOS = (
    Scenario(
        "guests-on-poor-lines", "healthy", "healthy", (), "A web host, some guests of which are on lines with loss.",
        _poor_lines, needs=("gunicorn", "nginx", "redis-server", "iptables"), software=("nginx", "gunicorn"),
    ),
    Scenario(
        "refused-crawlers", "healthy", "healthy", (), "A web host whose limits refuse crawlers, and no other client.",
        _refused_crawlers, needs=("gunicorn", "nginx", "redis-server", "nft"), software=("nginx", "gunicorn"),
    ),
)  # fmt: skip
