"""Everyday incidents of web backends: releases of services in Python and Java: a twelfth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.companies.leisure_host import Tickets, Workshops
from lab.real.services.companies.street_host import Street
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.scenario import Live, Scenario


@contextmanager
def _tickets_of_a_park(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release of the service, which asks its partner through the partner's own library."""
    street = Street(environment, rng)
    price_ms, rate = rng.uniform(55, 90), rng.uniform(50, 65)
    before, after = rng.randrange(35, 40), rng.randrange(40, 44)
    tickets = Tickets(street, street.ports[:3], price_ms, before)
    # The answers of the partner take most of a second per second, one after the other.
    others = round(rate * price_ms / 1000 / rng.uniform(0.56, 0.66)) - 1
    paths = ["/tickets/{n}"] + [rng.choice(("/rides/{n}", "/map/{n}")) for _ in range(others)]
    street.start_clients(tickets.haproxy.address, rate, paths)
    tickets.replace(after)
    time.sleep(6.0)
    pid = rng.choice((tickets.server.pid, tickets.haproxy.pid))
    yield street.build_live(pid, access_log="", releases=[before, after])


@contextmanager
def _offers_of_workshops(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release of the service, which gives each offer workers of its own and keeps them."""
    street = Street(environment, rng)
    tasks, before, after = rng.choice((400, 512, 512, 600)), rng.randrange(16, 20), rng.randrange(20, 24)
    port, *ports = street.ports[:3]
    workshops = Workshops(street, ports, tasks=tasks, release=before, threads=rng.choice((24, 32)))
    lines = NginxSettings(
        http_lines=build_upstream("offers", (workshops.address,)), server_lines=build_proxy("/", "offers")
    )
    nginx = Nginx(environment, port, lines)
    paths = ["/offers/{n}"] + ["/advice/{n}"] * rng.randrange(2, 5)
    street.start_clients(nginx.address, rng.uniform(45, 65), paths, warm_s=5.0)
    workshops.replace(after)
    wait_for(lambda: workshops.count_tasks() > tasks - 3, "the threads", 90.0)
    time.sleep(4.0)
    live = street.build_live(rng.choice((workshops.server.pid, nginx.pid)), releases=[before, after])
    if "cgroup" in live.scope:
        live.scope["cgroup"] = workshops.group.path
    yield live


SCENARIOS = (
    Scenario(
        "park-tickets", "development", "library-of-a-partner", ("blocked-event-loop",),
        "A release asks its partner through a library that waits; the one event loop of aiohttp waits with it.",
        _tickets_of_a_park, needs=("haproxy", "setpriv"), seconds=10.0, software=("aiohttp", "haproxy"),
    ),
    Scenario(
        "workshop-offers", "development", "offers-side-by-side", ("process-limit", "worker-leak"),
        "A release of a Java service keeps threads of each offer, until its container may have no further ones.",
        _offers_of_workshops, needs=("java", "javac", "nginx"), seconds=10.0, software=("java", "nginx"),
    ),
)  # fmt: skip
