"""A service that ends again and again, and one that logs too much."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.hosts.site_host import (
    MAGAZINE_PAGES,
    PROGRAMS,
    WORDS,
    choose_pages,
    choose_scope,
    start_magazine,
    start_neighbors,
    start_web_clients,
)  # fmt: skip
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.scenario import Live, Scenario

# What a process manager with "restart: always" does.
SUPERVISOR = (
    'while :; do "$@" >>"$0" 2>&1; echo "exited with status $?, starting again" >>"$0"; sleep {pause}; done'
)


@contextmanager
def _record_that_ends_the_service(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a record of the list of offers lost its price in an import; an exception ends the process."""
    port, inner, rate = rng.randrange(7000, 9000), rng.randrange(9000, 9900), rng.randrange(90, 200)
    proxied, pause_s, records = rng.random() < 0.7, rng.choice((0.5, 1, 2)), rng.randrange(1500, 4000)
    offers = [
        {
            "id": index,
            "name": " ".join(rng.sample(WORDS, 2)),
            "price": {"amount": round(rng.uniform(1, 90), 2)},
        }
        for index in range(records)
    ]
    directory = environment.directory / "srv/offers"
    directory.mkdir(parents=True)
    source = directory / "offers.json"
    source.write_text(json.dumps(offers))
    (directory / "server.js").write_text((PROGRAMS / "offers.js").read_text())
    environment.host_sh("mkdir -p /run/offers")
    listen = ("127.0.0.1", inner) if proxied else (environment.host_address, port)
    supervisor = environment.on_host(
        ["sh", "-c", SUPERVISOR.format(pause=pause_s), "/run/offers/current.log",
         "node", str(directory / "server.js"), str(source), listen[0], str(listen[1])]
    )  # fmt: skip
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{listen[1]}")), "the offers")
    access_log, pid = "", supervisor.pid
    if proxied:
        upstream = build_upstream("offers", (f"127.0.0.1:{inner}",))
        nginx = Nginx(
            environment, port, NginxSettings(http_lines=upstream, server_lines=build_proxy("/", "offers"))
        )
        access_log, pid = nginx.access_log, nginx.pid
    neighbors = start_neighbors(environment, rng)
    load = start_web_clients(environment, rng, port, rate, ("/offers/{n}", "/basket/{n}"))
    wait_for(lambda: load.stats()["ok"] > 20, "answers to clients")
    healthy = load.baseline()
    for record in rng.sample(offers, rng.randrange(2, 5)):
        record["price"] = None
    source.write_text(json.dumps(offers))
    load.mark()
    parameters: dict[str, object] = {
        "port": port, "rate": rate, "proxied": proxied, "pause_s": pause_s, "records": records,
        "neighbors": neighbors, "healthy": healthy,
    }  # fmt: skip
    yield Live(environment.host, choose_scope(rng, pid, environment.app), parameters, load.stats, access_log)


@contextmanager
def _debug_log(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the log level, which a release left at DEBUG."""
    log = environment.directory / "log"
    log.mkdir()
    log.chmod(0o777)
    durable = rng.random() < 0.5
    fragments, rate = rng.randrange(20, 50), rng.randrange(60, 110)
    variables = {
        "FRAGMENTS": str(fragments), "LOG_FILE": str(log / "articles.log"), "LOG_SYNC": "1" if durable else "0",
        "LOG_LEVEL": "INFO",
    }  # fmt: skip
    host = start_magazine(environment, rng, variables)
    host.start_clients(rate, choose_pages(rng, MAGAZINE_PAGES, 5))
    host.measure_baseline()
    host.gunicorn.restart(LOG_LEVEL="DEBUG")
    yield host.build_live(fragments=fragments, durable=durable)


SCENARIOS = (
    Scenario(
        "crash-loop", "development", "crash-loop", ("crash-loop",),
        "A Node service ends with an exception on a broken record and is started again and again.",
        _record_that_ends_the_service, needs=("node", "nginx"), seconds=8.0, software=("node",),
    ),
    Scenario(
        "log-flood", "development", "log-flood", ("log-flood",),
        "A Python service writes a line for each step of each request, before it goes on.", _debug_log,
        needs=("gunicorn",), seconds=8.0, software=("gunicorn",),
    ),
)  # fmt: skip
