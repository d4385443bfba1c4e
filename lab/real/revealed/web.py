"""Pools and limits between a proxy and an application."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.nginx import (
    ACCESS_LOG,
    Nginx,
    NginxSettings,
    build_fastcgi,
    build_proxy,
    build_upstream,
)
from lab.real.services.php import Php, PhpSettings
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
    start_visitors,
)
from lab.scenario import Live, Scenario


@contextmanager
def _sync_workers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many apps wait for updates, each of which holds a worker without using the CPU."""
    port, app_port = draw_ports(rng, 2)
    workers, wait_s = rng.randrange(4, 8), rng.uniform(3, 6)
    neighbours = start_neighbours(environment, rng)
    app = Gunicorn(
        environment, app_port, "orders_app.py", workers=workers, address="127.0.0.1",
        variables={"WAIT_S": f"{wait_s:.1f}"},
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=build_upstream("orders", (f"127.0.0.1:{app.port}",), keepalive=0),
            server_lines=build_proxy("/", "orders", keepalive=False),
        ),
    )
    rate = rng.uniform(110, 180)
    pages = ["/orders/{n}"] * rng.randrange(1, 4) + ["/invoices/{n}"] * rng.randrange(1, 3)
    load = start_requests(environment, rng, nginx.address, rate, *pages)
    waiting = "--timeout-s", 30
    start_requests(environment, rng, nginx.address, 0.15, "/orders/{n}/updates", options=waiting)
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    update_rate = workers / wait_s * rng.uniform(0.9, 1.2)
    start_requests(environment, rng, nginx.address, update_rate, "/orders/{n}/updates", options=waiting)
    time.sleep(8.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.pid),
        {
            "port": port, "healthy": healthy, "workers": workers, "wait_s": wait_s, "rate": rate,
            "update_rate": update_rate, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _proxy_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: maxconn, of the frontend or of each server, as a new configuration has it."""
    port, *api_ports = draw_ports(rng, 3)
    delay_ms = rng.uniform(25, 60)
    neighbours = start_neighbours(environment, rng)
    servers = [
        ApiServer(
            environment,
            "127.0.0.1",
            number,
            delay_ms=delay_ms,
            work_us=rng.uniform(500, 1000),
            answer_bytes=3000,
        )
        for number in api_ports
    ]
    of_servers = rng.random() < 0.5
    settings = HaproxySettings(
        frontend=rng.choice(("www", "public")),
        backend=rng.choice(("app", "accounts")),
        servers=tuple(server.address for server in servers),
        server_words="maxconn 100",
        maxconn=2000,
        queue_timeout=rng.choice(("1s", "2s")),
    )
    haproxy = Haproxy(environment, port, settings)
    rate, visitors = rng.uniform(110, 190), rng.randrange(120, 220)
    paths = "/accounts/{n}", "/balances/{n}", "/statements/{n}"
    load = start_visitors(environment, rng, haproxy.address, visitors, rate, *paths)
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    if of_servers:
        limit = max(1, int(rate * (delay_ms + 2) / 1000 / 2 * rng.uniform(0.55, 0.8)))
        haproxy.restart(server_words=f"maxconn {limit}")
    else:
        limit = int(visitors * rng.uniform(0.5, 0.75))
        haproxy.restart(maxconn=limit)
    time.sleep(5.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, haproxy.pid),
        {
            "port": port, "healthy": healthy, "of_servers": of_servers, "limit": limit, "rate": rate,
            "visitors": visitors, "neighbours": neighbours,
        },
        load.stats,
    )  # fmt: skip


@contextmanager
def _php_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: pm.max_children, which a new configuration of the pool sets too low."""
    port, php_port, stock_port = draw_ports(rng, 3)
    delay_ms, rate = rng.uniform(50, 110), rng.uniform(90, 150)
    neighbours = start_neighbours(environment, rng)
    stock = ApiServer(
        environment, environment.client_address, stock_port, client_side=True, delay_ms=delay_ms, work_us=100
    )
    pool = rng.choice(("www", "shop", "magazine"))
    php = Php(
        environment, php_port, ("shop.php",),
        PhpSettings(
            pool=pool, manager=rng.choice(("static", "dynamic")), max_children=rng.randrange(24, 40),
            start_servers=2, max_spare_servers=2, variables={"STOCK_URL": f"http://{stock.address}"},
        ),
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(server_lines=build_fastcgi("/", php.address, str(php.directory / "shop.php"))),
    )
    pages = ["/orders/{n}", "/cart/{n}", "/start/{n}", *rng.choices(("/category/{n}", "/start/{n}"), k=2)]
    load = start_requests(environment, rng, nginx.address, rate, *pages)
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    demand = rate * (0.4 * delay_ms / 1000 + 0.001)
    children = max(2, int(demand * rng.uniform(0.6, 0.85)))
    php.restart(max_children=children, start_servers=min(2, children), max_spare_servers=min(2, children))
    time.sleep(5.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, php.pid),
        {
            "port": port, "healthy": healthy, "max_children": children, "rate": rate, "dependency_ms": delay_ms,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "gunicorn-workers", "development", "gunicorn-workers", ("worker-pool-exhausted",),
        "Requests that wait for updates hold all workers, while the CPUs have time.", _sync_workers,
        needs=("nginx", "gunicorn"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
    Scenario(
        "haproxy-maxconn", "development", "haproxy-maxconn", ("connection-limit",),
        "HAProxy may have fewer connections than clients need; the servers behind it have time.", _proxy_limit,
        needs=("haproxy",), seconds=10.0, software=("haproxy",),
    ),
    Scenario(
        "php-fpm-pool", "development", "php-fpm-pool", ("worker-pool-exhausted",),
        "The pool has fewer PHP processes than requests at a time, most of which only wait.", _php_pool,
        needs=("nginx", "php-fpm8.2"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
)  # fmt: skip
