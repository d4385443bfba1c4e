"""Limits of connections, of open files and of the SYN queue, and a slow service behind a web application."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.environment import LabEnvironment
from lab.load import Load
from lab.real.services.gunicorn import Gunicorn
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


def _warm_up(load: Load) -> dict[str, float]:
    """Return what clients see when all is well, after connections have been opened."""
    time.sleep(2.0)
    return load.baseline(3.0)


@contextmanager
def _connection_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many clients listen to events, each with a connection here and one to the API."""
    port, api_port = draw_ports(rng, 2)
    connections = rng.choice((256, 384, 512))
    neighbours = start_neighbours(environment, rng)
    api = ApiServer(
        environment, "127.0.0.1", api_port, delay_ms=rng.uniform(2, 8), work_us=rng.uniform(400, 1200),
        answer_bytes=rng.choice((800, 6000)),
        stream_s=rng.uniform(8, 16),
    )  # fmt: skip
    proxy = build_proxy("/api/", "api") + build_proxy("/events", "api", lines="proxy_buffering off;")
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            worker_connections=connections,
            keepalive_timeout_s=rng.choice((30, 65, 75)),
            http_lines=build_upstream("api", (api.address,), keepalive=rng.choice((8, 16))),
            server_lines=proxy,
        ),
    )
    nginx.add_file("assets/app.js", rng.randrange(20_000, 200_000))
    paths = ("/api/items/{n}", "/api/carts/{n}", "/assets/app.js")
    visitors, rate = rng.randrange(60, 110), rng.uniform(120, 220)
    load = start_visitors(environment, rng, nginx.address, visitors, rate, *paths)
    stream = ("--stream", "--timeout-s", 9999)
    few = rng.randrange(15, 35)
    start_visitors(environment, rng, nginx.address, few, few / 2, "/events/{n}", options=stream)
    healthy = _warm_up(load)
    many = int(connections * rng.uniform(1.5, 1.8)) - few
    start_visitors(
        environment, rng, nginx.address, many, many / rng.uniform(2, 4), "/events/{n}", options=stream
    )
    time.sleep(6.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, nginx.pid),
        {
            "port": port, "healthy": healthy, "worker_connections": connections, "visitors": visitors,
            "listeners": few + many, "rate": rate, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _open_files(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many clients keep a connection, of which there may be as many as files."""
    port, api_port = draw_ports(rng, 2)
    files = rng.choice((256, 400, 512))
    neighbours = start_neighbours(environment, rng)
    settings = {
        "delay_ms": rng.uniform(2, 10),
        "work_us": rng.uniform(500, 1400),
        "answer_bytes": 1500,
        "idle_s": 20,
    }
    behind_nginx = rng.random() < 0.5
    if behind_nginx:
        api = ApiServer(environment, "127.0.0.1", api_port, **settings)
        nginx = Nginx(
            environment,
            port,
            NginxSettings(
                worker_connections=4096, open_files=files,
                http_lines=build_upstream("api", (api.address,)), server_lines=build_proxy("/", "api"),
            ),
        )  # fmt: skip
        pid, log, limit = nginx.list_workers()[0], ACCESS_LOG, 2 * files
    else:
        environment.host_sh("mkdir -p /run/api")
        log = "/run/api/access.log"
        api = ApiServer(
            environment,
            environment.host_address,
            port,
            limits=(f"--nofile={files}:{files}",),
            access_log=log,
            **settings,
        )
        pid, limit = api.server.pid, files
    address = f"{environment.host_address}:{port}"
    rate, kept = rng.uniform(90, 170), int(limit * rng.uniform(0.2, 0.35))
    paths = ("/profile/{n}", "/messages/{n}", "/contacts/{n}")
    load = start_requests(environment, rng, address, rate, *paths)
    start_visitors(environment, rng, address, kept, kept / 15, *paths)
    healthy = _warm_up(load)
    arriving = int(limit * rng.uniform(0.9, 1.1))
    start_visitors(environment, rng, address, arriving, arriving / 6, *paths, options=("--arrive-s", 2))
    time.sleep(12.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, pid),
        {
            "port": port, "healthy": healthy, "open_files": files, "rate": rate, "kept": kept + arriving,
            "nginx": behind_nginx, "neighbours": neighbours,
        },
        load.stats,
        log,
    )  # fmt: skip


@contextmanager
def _syn_backlog(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a scan that leaves half-open connections to a host whose SYN cookies have been off all the time."""
    port, app_port = draw_ports(rng, 2)
    backlog, retries = rng.choice((64, 128, 256)), rng.choice((1, 2))
    environment.host_net.sh(
        f"sysctl -qw net.ipv4.tcp_syncookies=0 net.ipv4.tcp_synack_retries={retries};"
        f"ip route add default via {environment.client_address}"
    )
    neighbours = start_neighbours(environment, rng)
    app = Gunicorn(environment, app_port, address="127.0.0.1", workers=rng.randrange(3, 6))
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            listen_words=f"backlog={backlog}",
            http_lines=build_upstream("catalog", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "catalog") + "        location /assets/ { }\n",
        ),
    )
    nginx.add_file("assets/site.css", rng.randrange(5_000, 60_000))
    rate = rng.uniform(90, 160)
    load = start_requests(
        environment, rng, nginx.address, rate, "/products/{n}", "/search/{n}", "/assets/site.css",
        options=("--timeout-s", rng.choice((3, 5))),
    )  # fmt: skip
    healthy = _warm_up(load)
    # The backlog of the socket is the limit: that of the kernel spares addresses which have connected before.
    # A half-open connection lasts for 3 or 7 s; without a route, the clients' side would refuse it at once.
    environment.client_net.sh("ip route add blackhole 198.18.0.0/15")
    scan = backlog * rng.uniform(1.4, 2.5) / (2 ** (retries + 1) - 1)
    environment.on_client(
        [
            sys.executable,
            "-B",
            str(PROGRAMS / "clients" / "port_scan.py"),
            "--to",
            nginx.address,
            "--rate",
            str(scan),
        ]
    )
    time.sleep(4.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, nginx.pid),
        {
            "port": port, "healthy": healthy, "backlog": backlog, "rate": rate, "scan_rate": scan,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _slow_dependency(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how long the stock service of another host takes. Threads remain for all other pages."""
    port, app_port, stock_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    stock = ApiServer(
        environment, environment.client_address, stock_port, client_side=True,
        delay_ms=rng.uniform(4, 15), work_us=150, answer_bytes=rng.choice((300, 3000)),
    )  # fmt: skip
    app = Gunicorn(
        environment, app_port, address="127.0.0.1", workers=2, threads=rng.choice((48, 64)),
        variables={"STOCK_URL": f"http://{stock.address}"},
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=build_upstream("catalog", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "catalog"),
        ),
    )
    rate = rng.uniform(60, 110)
    others = rng.sample(("/products/{n}", "/search/{n}", "/prices/{n}"), rng.randrange(1, 3))
    load = start_requests(
        environment, rng, nginx.address, rate, "/stock/{n}", "/stock/{n}", *others, options=("--timeout-s", 5)
    )
    healthy = _warm_up(load)
    quick_ms, slow_ms = stock.settings["delay_ms"], rng.uniform(350, 900)
    stock.write_settings(delay_ms=slow_ms)
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.list_workers()[0]),
        {
            "port": port, "healthy": healthy, "rate": rate, "dependency_ms": slow_ms, "others": others,
            "dependency": stock.address, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
        partial(stock.write_settings, delay_ms=quick_ms),
        load.mark,
        partial(stock.write_settings, delay_ms=slow_ms),
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "nginx-connection-limit", "development", "nginx-connection-limit", ("connection-limit",),
        "More clients listen to events than worker_connections allows: new ones are closed.", _connection_limit,
        needs=("nginx",), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "fd-limit", "development", "fd-limit", ("file-descriptor-limit",),
        "Clients keep more connections than the service may open files: it cannot accept new ones.", _open_files,
        needs=("nginx",), seconds=10.0, software=("nginx", "python"),
    ),
    Scenario(
        "syn-backlog", "development", "syn-backlog", ("syn-backlog-overflow",),
        "Half-open connections of a scan fill the short SYN queue, and SYN cookies are off.", _syn_backlog,
        needs=("nginx", "gunicorn"), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "slow-http-dependency", "development", "slow-http-dependency", ("slow-dependency",),
        "The stock service on another host takes hundreds of milliseconds instead of ten.", _slow_dependency,
        needs=("nginx", "gunicorn"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
