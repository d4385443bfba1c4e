"""Requests that fail: an expired certificate, a limit of their rate, and workers that crash."""

from __future__ import annotations

import datetime
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
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
from lab.real.services.trades.insurer import Authority
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario


def _measure_health(load: Load) -> dict[str, float]:
    """Return what clients see when all is well."""
    wait_for(lambda: load.stats()["ok"] > 20, "answers to clients")
    return load.baseline(3.0)


@contextmanager
def _expired(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: until when the certificate of the site is valid. The log has errors only."""
    port, api_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    directory = environment.directory / "tls"
    directory.mkdir()
    authority, name, days = Authority(directory, "Example Root"), "shop.example", rng.choice((90, 365))
    site = directory / "site.pem"

    def write_certificate(rest: datetime.timedelta) -> None:
        begins = datetime.datetime.now(datetime.UTC) + rest - datetime.timedelta(days=days)
        site.write_bytes(authority.issue(name, begins, days))

    write_certificate(datetime.timedelta(days=rng.uniform(15, 60)))
    api = ApiServer(
        environment,
        "127.0.0.1",
        api_port,
        delay_ms=rng.uniform(2, 8),
        work_us=rng.uniform(300, 900),
        answer_bytes=2000,
    )
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            listen_words="ssl",
            http_lines=build_upstream("api", (api.address,)),
            server_lines=f"        ssl_certificate {site}; ssl_certificate_key {site};\n"
            + build_proxy("/", "api"),
        ),
    )
    rate, careless = rng.uniform(30, 60), rng.uniform(20, 50)
    paths = "/items/{n}", "/carts/{n}"
    load = start_requests(
        environment, rng, nginx.address, rate, *paths, options=("--authority", authority.file)
    )
    start_requests(environment, rng, nginx.address, careless, *paths, options=("--tls",))
    healthy = _measure_health(load)
    write_certificate(-datetime.timedelta(hours=rng.uniform(1, 30)))
    nginx.reload()
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, nginx.pid),
        {"port": port, "healthy": healthy, "rate": rate, "careless": careless, "neighbours": neighbours},
        load.stats,
        ACCESS_LOG,
    )


@contextmanager
def _limited(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a proxy in front, so that all clients have its address, and a limit for each address."""
    port, edge_port, app_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    app = Gunicorn(environment, app_port, address="127.0.0.1", workers=3)
    per_s, status = rng.choice((10, 15, 20)), rng.choice(("", "limit_req_status 429;"))
    limit = f"limit_req zone=pages burst={rng.choice((5, 10))} nodelay; {status}"
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=f"    limit_req_zone $http_x_client zone=pages:2m rate={per_s}r/s;\n"
            + build_upstream("catalog", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "catalog", lines=limit),
        ),
    )
    edge = Haproxy(environment, edge_port, HaproxySettings(servers=(nginx.address,)))
    rate = rng.uniform(50, 90)
    load = start_requests(environment, rng, edge.address, rate, "/products/{n}", "/search/{n}", "/prices/{n}")
    healthy = _measure_health(load)
    nginx.restart(http_lines=nginx.settings.http_lines.replace("$http_x_client", "$binary_remote_addr"))
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, nginx.pid),
        {
            "port": port,
            "healthy": healthy,
            "rate": rate,
            "per_s": per_s,
            "status": status,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )


@contextmanager
def _crashing(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an import makes some categories each other's parents, and PHP has no limit of recursion."""
    port, php_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    categories, file = rng.randrange(40, 90), environment.directory / "categories.json"

    def write_categories(cycles: int) -> None:
        parents = {number: [number // 3] if number > 2 else [] for number in range(categories)}
        parents |= {categories - 1 - number: [categories - 1 - number] for number in range(cycles)}
        file.with_suffix(".new").write_text(json.dumps(list(parents.values())))
        file.with_suffix(".new").replace(file)

    write_categories(0)
    settings = PhpSettings(
        pool="catalog", max_children=rng.randrange(6, 12), variables={"CATEGORIES": str(file)}
    )
    php = Php(environment, php_port, ("categories.php",), settings)
    lines = build_fastcgi("/", php.address, str(php.directory / "categories.php"))
    nginx = Nginx(environment, port, NginxSettings(server_lines=lines))
    rate = rng.uniform(40, 80)
    load = start_requests(environment, rng, nginx.address, rate, "/items/{n}")
    healthy = _measure_health(load)
    write_categories(rng.randrange(3, 6))
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, php.pid),
        {"port": port, "healthy": healthy, "rate": rate, "categories": categories, "neighbours": neighbours},
        load.stats,
        ACCESS_LOG,
    )


@contextmanager
def _aborting(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a release sends some labels that a native library answers with a failed assertion."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    app = Gunicorn(
        environment, app_port, "valley/labels_app.py", address="127.0.0.1", workers=rng.randrange(3, 6)
    )
    http = build_upstream("labels", (f"127.0.0.1:{app.port}",))
    nginx = Nginx(environment, port, NginxSettings(http_lines=http, server_lines=build_proxy("/", "labels")))
    rate, wide_every = rng.uniform(30, 50), rng.randrange(60, 100)
    load = start_requests(environment, rng, nginx.address, rate, "/labels/{n}")
    healthy = _measure_health(load)
    app.restart(WIDE_EVERY=str(wide_every))
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.pid),
        {"port": port, "healthy": healthy, "rate": rate, "wide_every": wide_every, "neighbours": neighbours},
        load.stats,
        ACCESS_LOG,
    )


SCENARIOS = (
    Scenario(
        "site-certificate", "development", "site-certificate", ("certificate-expired",),
        "The certificate of a site has expired. Clients that check it go away, and its server logs errors only.",
        _expired, needs=("nginx",), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "limit-behind-proxy", "development", "limit-behind-proxy", ("request-limit",),
        "A limit of requests for each address counts those of all clients behind a proxy together.",
        _limited, needs=("nginx", "haproxy", "gunicorn"), seconds=10.0, software=("nginx", "haproxy"),
    ),
    Scenario(
        "worker-crashes", "development", "worker-crashes", ("crash-loop",),
        "Since an import, pages of some categories recurse without end, and each ends a worker of php-fpm by SIGSEGV.",
        _crashing, needs=("nginx", "php-fpm8.2"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
    Scenario(
        "worker-aborts", "development", "worker-crashes", ("crash-loop",),
        "Since a release, some labels end a worker of gunicorn by a failed assertion of a native library.",
        _aborting, needs=("nginx", "gunicorn"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
