"""Faults between a web host and what it calls: a path, a route, a service that is gone, names. And to its clients."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.development.host_network import FIRST, SECOND, SERVFAIL, NameServers
from lab.real.services.hosts.catalog_host import CatalogHost, choose_pages
from lab.scenario import Live, Scenario

STOCK = "10.80.0.90"
OFFICE = "192.168.77.9"


def _start_calling_catalog(environment: LabEnvironment, rng: random.Random, address: str) -> CatalogHost:
    """Start a catalog that asks the stock service at `address`, and serves pictures too."""
    environment.serve("evented.py", 8088, "--name", "stock", "--backlog", 4096, "--any", client_side=True)
    host = CatalogHost(
        environment, rng, workers=rng.randrange(3, 5), threads=rng.choice((4, 8)), proxied=True,
        variables={"STOCK_URL": f"http://{address}:8088", "LOG_ERRORS": "yes"}, server_lines="location /media/ { }\n",
    )  # fmt: skip
    assert host.nginx is not None
    for number in range(20):
        host.nginx.add_file(f"media/p{number}.jpg", rng.randrange(60, 200) * 1024)
    return host


def _start_mixed_clients(host: CatalogHost, rng: random.Random, pictures: int) -> None:
    paths = (*(f"/media/p{number}.jpg" for number in range(pictures)), *choose_pages(rng, total=4))
    host.start_clients(rng.randrange(80, 130), (*paths, *["/stock/{n}"] * rng.randrange(3, 6)))
    host.measure_baseline()


@contextmanager
def _poor_path(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The path to one machine loses packets; it is a small part of the traffic of the host."""
    environment.client_net.sh(f"ip addr add {STOCK}/24 dev eth0")
    host = _start_calling_catalog(environment, rng, STOCK)
    _start_mixed_clients(host, rng, 8)
    lost = rng.uniform(0.12, 0.25)
    chance = f"-m statistic --mode random --probability {lost:.3f} -j DROP"
    environment.client_net.sh(
        f"iptables -A INPUT -d {STOCK} {chance}; iptables -A OUTPUT -s {STOCK} {chance}"
    )
    yield host.build_live(lost=round(lost, 3))


@contextmanager
def _absent_route(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The route to the network of an office goes away, as that of a tunnel does."""
    environment.client_net.sh(f"ip addr add {OFFICE}/24 dev lo")
    network = OFFICE.rpartition(".")[0] + ".0/24"
    environment.host_net.sh(f"ip route add {network} via {environment.client_address}")
    host = _start_calling_catalog(environment, rng, OFFICE)
    _start_mixed_clients(host, rng, 3)
    way = rng.choice(("absent", "unreachable"))
    environment.host_net.sh(f"ip route del {network}")
    if way == "unreachable":
        environment.host_net.sh(f"ip route add unreachable {network}")
    yield host.build_live(way=way)


@contextmanager
def _stopped_service(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The stock service has ended, here or on another machine, and its port refuses connections."""
    local = rng.random() < 0.5
    address = "127.0.0.1" if local else environment.client_address
    stock = environment.serve(
        "evented.py", 8089, "--name", "stock", "--backlog", 4096, "--any", client_side=not local
    )
    host = CatalogHost(
        environment, rng, workers=rng.randrange(3, 5), threads=rng.choice((1, 4)), proxied=True,
        variables={"STOCK_URL": f"http://{address}:8089", "LOG_ERRORS": rng.choice(("", "yes"))},
    )  # fmt: skip
    host.start_clients(
        rng.randrange(70, 120), (*choose_pages(rng, total=8), *["/stock/{n}"] * rng.randrange(1, 4))
    )
    host.measure_baseline()
    environment.stop(stock)
    yield host.build_live(local=local)


@contextmanager
def _late_name_cache(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Programs look names up in nscd over its socket, and the name servers behind it are late."""
    names = NameServers(environment, rng, "timeout:2 attempts:2", cached=False)
    environment.serve("evented.py", 8088, "--name", "stock", "--backlog", 4096, client_side=True)
    settings = environment.directory / "nscd.conf"
    settings.write_text(
        "threads 4\nmax-threads 8\nserver-user root\nparanoia no\nenable-cache hosts yes\n"
        "positive-time-to-live hosts 1\nnegative-time-to-live hosts 1\nshared hosts no\n"
    )
    environment.on_host(["sh", "-c", f"mkdir -p /run/nscd; exec nscd -F -f {settings}"])
    host = CatalogHost(
        environment, rng, workers=rng.randrange(2, 4), threads=rng.choice((4, 8)),
        variables={"STOCK_URL": f"http://{names.name}:8088"},
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_sh("ls /run/nscd/socket || :").strip()), "nscd")
    host.start_clients(
        rng.randrange(70, 130), (*choose_pages(rng, total=6), *["/stock/{n}"] * rng.randrange(3, 7))
    )
    host.measure_baseline()
    least = rng.randrange(150, 400)
    names.change_answers(tuple(names.servers), share=1.0, late_ms=[least, 2 * least])
    yield host.build_live(late_ms=least)


@contextmanager
def _names_of_a_proxy(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """nginx has a name server in its own settings, which fails. That of the host answers."""
    names = NameServers(environment, rng, "timeout:2 attempts:2", cached=False)
    (environment.directory / "resolv.conf").write_text(f"search {names.zone}\nnameserver {SECOND}\n")
    environment.serve("evented.py", 8088, "--name", "stock", "--backlog", 4096, client_side=True)
    lines = (
        f"location /stock/ {{ resolver {FIRST} valid=1s ipv6=off; resolver_timeout 2s; set $at {names.name};\n"
        "proxy_pass http://$at:8088; }\n"
    )
    host = CatalogHost(
        environment, rng, workers=rng.randrange(2, 4), threads=4, proxied=True, server_lines=lines
    )
    host.start_clients(
        rng.randrange(60, 100), (*choose_pages(rng, total=6), *["/stock/{n}"] * rng.randrange(3, 7))
    )
    host.measure_baseline()
    names.change_answers((FIRST,), share=1.0, code=SERVFAIL)
    yield host.build_live()


@contextmanager
def _narrow_line(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The line to the clients takes smaller packets than before, and its router sends no message about them."""
    router = environment.insert_router()
    router.sh("iptables -A OUTPUT -p icmp -j DROP")
    host = CatalogHost(
        environment, rng, workers=3, threads=4, proxied=True, server_lines="location /media/ { }\n"
    )
    assert host.nginx is not None
    for number in range(20):
        host.nginx.add_file(f"media/p{number}.jpg", rng.randrange(20, 90) * 1024)
    pictures = tuple(f"/media/p{number}.jpg" for number in range(rng.randrange(3, 8)))
    host.start_clients(rng.randrange(80, 130), (*pictures, *choose_pages(rng, total=6)))
    host.measure_baseline()
    largest = rng.choice((1280, 1350, 1400, 1420))
    router.sh(f"ip link set eth1 mtu {largest}")
    yield host.build_live(largest=largest)


_NEEDS = ("gunicorn", "nginx", "redis-server", "iptables")
SCENARIOS = (
    Scenario(
        "stock-over-a-poor-path", "development", "loss-to-one-peer", ("packet-loss-upstream",),
        "The path to the stock service loses packets, and no other path does.", _poor_path, needs=_NEEDS,
        software=("nginx", "gunicorn"), seconds=8.0,
    ),
    Scenario(
        "stock-without-a-route", "development", "absent-route", ("connections-refused",),
        "The route to the network of the stock service is gone.", _absent_route, needs=_NEEDS,
        software=("nginx", "gunicorn"), seconds=8.0,
    ),
    Scenario(
        "stock-not-listening", "development", "stopped-service", ("connections-refused",),
        "The stock service has ended; each connection to it is refused.", _stopped_service, needs=_NEEDS,
        software=("nginx", "gunicorn"), seconds=8.0,
    ),
    Scenario(
        "names-of-a-proxy", "development", "dns-of-a-proxy", ("failing-name-resolution",),
        "The name server in the settings of nginx fails, and that of the host does not.", _names_of_a_proxy,
        needs=("gunicorn", "nginx", "redis-server"), software=("nginx",), seconds=8.0,
    ),
    Scenario(
        "clients-behind-a-narrow-line", "development", "answers-in-a-black-hole", ("mtu-too-small",),
        "The line to the clients takes smaller packets than before, and no message about it arrives.", _narrow_line,
        needs=_NEEDS, software=("nginx",), seconds=8.0,
    ),
    Scenario(
        "names-of-a-late-cache", "development", "dns-behind-nscd", ("slow-name-resolution",),
        "nscd asks name servers that answer late, and programs wait for nscd.", _late_name_cache,
        needs=("gunicorn", "nginx", "redis-server", "nscd"), software=("gunicorn", "nscd"), seconds=8.0,
    ),
)  # fmt: skip
