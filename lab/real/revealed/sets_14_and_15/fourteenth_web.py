"""Everyday incidents of web backends: pictures of phones, fares of a partner, tariffs over TLS: a fourteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.trades.ferry_line import FerryLine
from lab.real.services.trades.insurer import Policies, Tariffs
from lab.real.services.trades.print_shop import PATHS, PrintShop
from lab.scenario import Live, Scenario


@contextmanager
def _pictures_of_phones(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether nginx takes a picture as a whole before it passes it on."""
    town = Town(environment, rng)
    shop = PrintShop(town, rng.randrange(4, 7))
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=shop.upstream, server_lines=shop.build_location("/")),
    )  # fmt: skip
    shop.start_phones(nginx.address, shop.workers * 3 + rng.randrange(4))
    paths = [rng.choice(PATHS) for _ in range(rng.randrange(3, 6))]
    town.start_clients(nginx.address, rng.uniform(35, 50), paths, warm_s=6.0)
    nginx.reload(server_lines=shop.build_location("/", "proxy_request_buffering off;"))
    time.sleep(12.0)
    yield town.build_live(rng.choice((shop.app.pid, nginx.pid)))


@contextmanager
def _fares_of_a_partner(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the partner publishes an address of version 6, to which no packet arrives."""
    town = Town(environment, rng)
    line = FerryLine(town, rng.uniform(8, 25), rng.uniform(1.3, 2.2))
    nginx = Nginx(
        environment,
        town.take_ports(1)[0],
        NginxSettings(http_lines=line.upstream, server_lines=line.location),
    )
    others = rng.randrange(3, 6)
    paths = ["/fares/{n}"] + [rng.choice(("/ports/{n}", "/cabins/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(9, 12) * (others + 1), paths, warm_s=4.0)
    line.publish(environment.client_address, line.draw_address(town))
    time.sleep(6.0)
    yield town.build_live(rng.choice((line.app.pid, nginx.pid)))


@contextmanager
def _tariffs_of_an_insurer(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: until when the certificate of the service of tariffs is valid."""
    town = Town(environment, rng)
    tariffs = Tariffs(town, rng.uniform(30, 80))
    policies = Policies(town, tariffs)
    lines = NginxSettings(
        http_lines=build_upstream("policies", (policies.address,)),
        server_lines=build_proxy("/", "policies"),
    )
    nginx = Nginx(environment, town.take_ports(1)[0], lines)
    quotes, others = rng.randrange(2, 4), rng.randrange(3, 6)
    paths = ["/quotes/{n}"] * quotes + [rng.choice(("/cars/{n}", "/claims/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(45, 65), paths, warm_s=4.0)
    # The configuration of the proxy is restored from a copy, and with it the certificate of that time.
    ended_h = rng.uniform(2, 40)
    tariffs.write_certificate(-ended_h / 24)
    tariffs.haproxy.restart()
    time.sleep(5.0)
    pid = rng.choice((policies.server.pid, tariffs.haproxy.pid))
    yield town.build_live(pid, ended_h=round(ended_h, 1))


SCENARIOS = (
    Scenario(
        "photo-prints", "development", "pictures-of-phones", ("worker-pool-exhausted",),
        "nginx passes pictures on while slow phones still send them; each holds a worker of gunicorn all the time.",
        _pictures_of_phones, needs=("gunicorn", "nginx"), seconds=10.0, software=("nginx", "gunicorn"),
    ),
    Scenario(
        "ferry-voyages", "development", "fares-of-a-partner", ("packet-loss-upstream", "slow-dependency"),
        "A partner's name gets an IPv6 address whose packets are all lost; each request tries it before the other one.",
        _fares_of_a_partner, needs=("gunicorn", "nginx", "dnsmasq"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
    Scenario(
        "insurer-quotes", "development", "tariffs-of-an-insurer", ("certificate-expired",),
        "HAProxy has the certificate of a former period again; a Go service refuses it, and quotes fail.",
        _tariffs_of_an_insurer, needs=(GO, "haproxy", "nginx"), seconds=10.0,
        software=("go", "haproxy", "nginx"),
    ),
)  # fmt: skip
