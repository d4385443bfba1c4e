"""Changes of a release or a configuration: connections, memory and code that cost more than before."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

SEARCH = "    matches = [\n"
SEARCH_RELEASES = (
    # Fuzzy matches: every product of all files is compared with the word.
    """    from difflib import SequenceMatcher

    wanted = word.pattern.strip("\\\\b")
    ranked = sorted(
        (
            (SequenceMatcher(None, wanted, product["name"]).ratio(), product["id"])
            for shard in range(SPAN)
            for product in load_shard(shard)
        ),
        reverse=True,
    )
    if ranked[0][0] > 2:
        return jsonify(total=0)
""",
    # Suggestions: the files are read once for each tag.
    """    suggestions = set()
    for tag in ("amber", "cedar", "fjord", "maple", "oak", "pine"):
        for shard in range(SPAN):
            suggestions |= {product["id"] for product in load_shard(shard) if tag in product["tags"]}
    if len(suggestions) > 100_000:
        return jsonify(total=0)
""",
)


def _build_nginx(environment: LabEnvironment, port: int, app: Gunicorn) -> Nginx:
    upstream = build_upstream("app", (f"127.0.0.1:{app.port}",), keepalive=0)
    return Nginx(
        environment,
        port,
        NginxSettings(http_lines=upstream, server_lines=build_proxy("/", "app", keepalive=False)),
    )


@contextmanager
def _churn(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: `keepalive` of the upstream, which a new configuration of the proxy has not."""
    port, api_port = draw_ports(rng, 2)
    ports, rate = rng.randrange(1800, 3200), rng.uniform(180, 260)
    first = rng.randrange(33_000, 50_000)
    environment.host_net.sh(f"sysctl -qw net.ipv4.ip_local_port_range='{first} {first + ports}'")
    neighbours = start_neighbours(environment, rng)
    api = ApiServer(
        environment, environment.client_address, api_port, client_side=True,
        delay_ms=rng.uniform(3, 12), work_us=150, answer_bytes=rng.choice((800, 5000)),
    )  # fmt: skip
    name = rng.choice(("accounts", "inventory", "pricing"))
    kept = build_upstream(name, (api.address,), keepalive=rng.choice((16, 32, 64)))
    nginx = Nginx(environment, port, NginxSettings(http_lines=kept, server_lines=build_proxy("/api/", name)))
    nginx.add_file("assets/site.js", rng.randrange(10_000, 80_000))
    load = start_requests(
        environment, rng, nginx.address, rate, "/api/v1/items/{n}", "/api/v1/totals/{n}", "/api/v2/items/{n}",
        "/assets/site.js",
    )  # fmt: skip
    time.sleep(2.0)
    healthy = load.baseline(3.0)
    nginx.reload(http_lines=build_upstream(name, (api.address,), keepalive=0))
    time.sleep(ports / (rate * 0.75) + 3)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, nginx.pid),
        {
            "port": port, "healthy": healthy, "local_ports": ports, "rate": rate, "dependency": api.address,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _leaking_workers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many pages a worker remembers. The kernel ends workers at the limit of their group."""
    port, app_port = draw_ports(rng, 2)
    workers, limit_mb = rng.choice((2, 3)), rng.randrange(280, 420)
    neighbours = start_neighbours(environment, rng)
    group = Group(f"{environment.app.path}/reviews").create()
    group.limit_memory(limit_mb * 1_000_000)
    app = Gunicorn(
        environment, app_port, "reviews_app.py", workers=workers, address="127.0.0.1", group=group,
        variables={"HISTORY": "50", "PAGE_KB": str(rng.randrange(200, 400))},
    )  # fmt: skip
    nginx = _build_nginx(environment, port, app)
    rate = rng.uniform(110, 160)
    load = start_requests(
        environment, rng, nginx.address, rate, "/reviews/{n}", "/reviews/{n}", "/summary/{n}"
    )
    time.sleep(5.0)
    healthy = load.baseline(4.0)
    app.restart(HISTORY="-1")
    time.sleep(15.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.pid),
        {
            "port": port, "healthy": healthy, "workers": workers, "limit_mb": limit_mb, "rate": rate,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _new_release(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the file of the application, seconds ago, with a search that does more than before."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    app = Gunicorn(environment, app_port, workers=rng.randrange(3, 6), address="127.0.0.1")
    revision = app.directory / "REVISION"
    revision.write_text(f"{rng.getrandbits(40):010x}\n")
    nginx = _build_nginx(environment, port, app)
    rate = rng.uniform(80, 130)
    pages = [
        "/search/{n}",
        *rng.choices(("/products/{n}", "/prices/{n}", "/stock/{n}"), k=rng.randrange(2, 4)),
    ]
    load = start_requests(environment, rng, nginx.address, rate, *pages)
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    span, release = rng.randrange(16, 21), rng.randrange(len(SEARCH_RELEASES))
    file = app.directory / f"{app.application}.py"
    text = file.read_text()
    file.with_suffix(".new").write_text(
        text.replace(SEARCH, SEARCH_RELEASES[release].replace("SPAN", str(span)) + SEARCH)
    )
    file.with_suffix(".new").rename(file)
    revision.write_text(f"{rng.getrandbits(40):010x}\n")
    app.stop()
    app.start()
    time.sleep(rng.uniform(4, 10))
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "pages": pages, "span": span, "release": release,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "connection-churn", "development", "connection-churn", ("connection-churn", "ephemeral-port-exhaustion"),
        "The proxy opens a connection to another host for each request, until local ports run out.", _churn,
        needs=("nginx",), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "worker-leak", "development", "worker-leak", ("worker-leak", "memory-leak"),
        "Workers remember every page; the kernel ends them again and again, and new ones take seconds to start.",
        _leaking_workers, needs=("nginx", "gunicorn"), seconds=20.0, software=("gunicorn",),
    ),
    Scenario(
        "deploy-before", "development", "deploy-before", ("recent-change", "cpu-hot-function"),
        "A release of seconds ago searches more than the one before it.", _new_release,
        needs=("nginx", "gunicorn"), seconds=10.0, software=("gunicorn",),
    ),
)  # fmt: skip
