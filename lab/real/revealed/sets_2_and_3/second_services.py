"""Apache, php-fpm and memcached with one thing wrong: kept connections, kept sessions, and more users of a cache."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services import apache
from lab.real.services.apache import Apache, ApacheSettings, build_php, build_proxy
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.unrelated import start_unrelated
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


@contextmanager
def _idle_visitors(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how long Apache keeps a connection on which its visitor sends nothing."""
    port, api_port = draw_ports(rng, 2)
    workers = rng.randrange(28, 56)
    neighbours = start_neighbours(environment, rng)
    api = ApiServer(
        environment, "127.0.0.1", api_port, delay_ms=rng.uniform(3, 12), work_us=rng.uniform(300, 900),
        answer_bytes=rng.choice((1500, 4000)),
    )  # fmt: skip
    settings = ApacheSettings(
        mpm="prefork", workers=workers, start_servers=rng.randrange(5, 12),
        name=rng.choice(("www.example", "shop.example")),
        keepalive_timeout=f"{rng.choice((100, 200, 300))}ms", server_lines=build_proxy("/api/", api.address),
    )  # fmt: skip
    server = Apache(environment, port, settings, environment.directory / "www")
    (server.root / "assets").mkdir()
    (server.root / "assets" / "site.css").write_bytes(b"a { color: teal }\n" * rng.randrange(300, 2000))
    visitors = int(workers * rng.uniform(1.8, 2.6))
    rate = visitors / rng.uniform(1.8, 2.6)
    paths = (*rng.sample(("/api/trips/{n}", "/api/prices/{n}", "/api/maps/{n}"), 2), "/assets/site.css")
    load = start_visitors(
        environment, rng, server.address, visitors, rate, *paths, options=("--close", "--arrive-s", 2)
    )
    time.sleep(4.0)
    healthy = load.baseline(4.0)
    kept_s = rng.choice((15, 30, 60))
    server.restart(keepalive_timeout=str(kept_s))
    time.sleep(6.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, server.pid),
        {
            "port": port, "healthy": healthy, "workers": workers, "visitors": visitors, "rate": rate, "paths": paths,
            "kept_s": kept_s, "neighbours": neighbours,
        },
        load.stats,
        apache.ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _release(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release of the back office, which notes more in the session and does so at the end."""
    port, fpm_port, reports_port = draw_ports(rng, 3)
    background = start_unrelated(environment, rng)
    kind = rng.choice(("exports", "updates"))
    slow_ms = rng.uniform(900, 1600) if kind == "exports" else rng.uniform(1800, 2600)
    reports = ApiServer(
        environment, environment.client_address, reports_port, client_side=True, delay_ms=slow_ms, work_us=150,
        answer_bytes=rng.choice((3000, 20_000)),
    )  # fmt: skip
    environment.host_sh("install -d -o www-data -m 700 /run/php/desk")
    share = rng.uniform(0.25, 0.4)
    slow_rate = rng.uniform(5, 9)
    users = max(8, int(slow_rate * slow_ms / 1000 / share))
    variables = {
        "REPORTS_URL": f'"http://{reports.address}"', "USERS": str(users), "RELEASE": "11",
        "SITE": f"{rng.randrange(16**6):06x}",
    }  # fmt: skip
    children = rng.choice((80, 100))
    settings = PhpSettings(
        pool="backoffice", max_children=children, variables=variables,
        pool_lines="php_admin_value[session.save_path] = /run/php/desk",
    )  # fmt: skip
    php = Php(environment, fpm_port, ("backoffice.php",), settings)
    lines = build_fastcgi("/", php.address, str(php.directory / "backoffice.php"))
    web = Nginx(environment, port, NginxSettings(server_lines=lines))
    rate = rng.uniform(45, 75)
    load = start_requests(
        environment,
        rng,
        web.address,
        rate,
        "/inbox/{n}",
        "/inbox/{n}",
        "/customers/{n}",
        options=("--timeout-s", 4),
    )
    start_requests(environment, rng, web.address, slow_rate, f"/{kind}/{{n}}", options=("--timeout-s", 9))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    php.restart(variables=variables | {"RELEASE": "12"})
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, rng.choice((php.pid, web.pid))),
        {
            "port": port, "healthy": healthy, "rate": rate, "kind": kind, "slow_ms": slow_ms, "slow_rate": slow_rate,
            "users": users, "children": children, "background": background,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _more_workers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many workers a feed of prices has, each of which keeps a connection to memcached."""
    port, fpm_port, pricing_port = draw_ports(rng, 3)
    cache_port, most = rng.choice((11211, 11211, 11311)), rng.randrange(70, 160)
    neighbours = start_neighbours(environment, rng)
    waits = rng.random() < 0.4
    memcached = environment.on_host(
        ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(cache_port), "-m", "128", "-c", str(most),
         *(("-o", "no_maxconns_fast") if waits else ())]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{cache_port}")), "memcached")
    pricing = ApiServer(
        environment, environment.client_address, pricing_port, client_side=True, delay_ms=rng.uniform(250, 450),
        work_us=150, answer_bytes=rng.choice((3000, 8000)),
    )  # fmt: skip
    offers, few = rng.randrange(150, 260), rng.randrange(6, 14)
    variables = {
        "CACHE": f'"127.0.0.1:{cache_port}"', "PRICING_URL": f'"http://{pricing.address}"', "OFFERS": str(offers),
        "VISITORS": str(rng.randrange(300, 3000)),
    }  # fmt: skip
    php = Php(
        environment,
        fpm_port,
        ("offers.php",),
        PhpSettings(pool="offers", max_children=150, variables=variables),
    )
    settings = ApacheSettings(
        workers=256, name="offers.example", directory_lines="FallbackResource /offers.php",
        server_lines=build_php(php.address),
    )  # fmt: skip
    server = Apache(environment, port, settings, php.directory)
    feed = [sys.executable, "-B", str(PROGRAMS / "price_feed.py"), "--to", f"127.0.0.1:{cache_port}"]
    feed += ["--offers", str(offers), "--workers"]
    running = environment.on_host([*feed, str(few)])
    environment.client_net.sh(
        f"seq 0 {offers} | xargs -P 12 -I N curl -s -o /dev/null http://{server.address}/offers/N"
    )
    rate = rng.uniform(45, 70)
    load = start_requests(
        environment, rng, server.address, rate, "/offers/{n}", "/offers/{n}", "/offers/{n}", "/account/{n}",
        options=("--timeout-s", 4),
    )  # fmt: skip
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    environment.stop(running)
    workers = most + rng.randrange(0, 20)
    environment.on_host([*feed, str(workers)])
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, rng.choice((memcached.pid, php.pid))),
        {
            "port": port, "healthy": healthy, "rate": rate, "offers": offers, "most": most, "few": few,
            "workers": workers, "waits": waits, "neighbours": neighbours,
        },
        load.stats,
        apache.ACCESS_LOG,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "apache-patience", "development", "apache-patience", ("worker-pool-exhausted", "connection-limit"),
        "Idle visitors hold the processes of Apache, of which there may be fewer than visitors.", _idle_visitors,
        needs=("apache2",), seconds=10.0, software=("apache2",),
    ),
    Scenario(
        "php-kept-sessions", "development", "php-kept-sessions", ("file-lock-held",),
        "A slow page of a user keeps the file of the session locked, and the other pages of this user wait.", _release,
        needs=("nginx", "php-fpm8.2"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
    Scenario(
        "memcached-more-workers", "development", "memcached-more-workers", ("connection-limit",),
        "Workers of a feed hold all connections that memcached may have; the shop works without its cache.",
        _more_workers, needs=("apache2", "php-fpm8.2", "memcached", "curl"), seconds=10.0,
        software=("memcached", "php-fpm", "apache2"),
    ),
)  # fmt: skip
