"""Services of several tiers with one thing wrong behind what clients ask: a fifth set."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services import apache
from lab.real.services.apache import Apache, ApacheSettings, build_proxy
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.hosts.ferry_host import FerryCompany
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_upstream
from lab.real.services.nginx import build_proxy as build_location
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.web_neighbours import (
    PROGRAMS,
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

# What the shop of a company logs of each request, for its other departments.
LINES = (
    '{\\"at\\":\\"%{%FT%T}t\\",\\"peer\\":\\"%a\\",\\"request\\":\\"%r\\",\\"status\\":%>s,\\"bytes\\":%B,\\"us\\":%D,'
    '\\"referer\\":\\"%{Referer}i\\",\\"agent\\":\\"%{User-Agent}i\\",\\"consent\\":\\"%{Cookie}i\\",'
    '\\"site\\":\\"%v\\",\\"handler\\":\\"%R\\",\\"pid\\":%P,\\"file\\":\\"%f\\",\\"labels\\":\\"{labels}\\"}'
)


@contextmanager
def _smaller_memory(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much memory the Redis of the fares may use."""
    company = FerryCompany(environment, rng)
    paths = ["/tours/{n}"] * rng.randrange(4, 8) + ["/harbors/{n}"] * rng.randrange(1, 4)
    company.start_clients(rng.uniform(60, 100), paths)
    used = company.count_used_bytes()
    allowed_mb = int(used * rng.uniform(0.3, 0.5)) >> 20
    company.redis.run("CONFIG", "SET", "maxmemory", f"{allowed_mb}mb")
    time.sleep(4.0)
    yield company.build_live(
        rng.choice((company.redis.pid, company.node.pid)), used_mb=used >> 20, allowed_mb=allowed_mb
    )


@contextmanager
def _deposits(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many connections the desk keeps, or when in a reservation its release takes a deposit."""
    way = rng.choice(("settings", "release"))
    port, desk_port, bank_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    postgres = PostgresServer(environment, rng)
    bank = ApiServer(
        environment, environment.client_address, bank_port, client_side=True,
        delay_ms=rng.uniform(250, 420), work_us=150, answer_bytes=400,
    )  # fmt: skip
    rate, reserve, others = rng.uniform(50, 80), rng.randrange(2, 4), rng.randrange(4, 7)
    # Connections that are in use at a time when a reservation keeps one until the bank has answered.
    needed = rate * reserve / (reserve + others) * bank.settings["delay_ms"] / 1000
    few = max(2, int(needed * rng.uniform(0.5, 0.7)))
    settings = {
        "database": f"postgresql+psycopg://web@127.0.0.1:{postgres.port}/postgres", "bank": f"http://{bank.address}",
        "connections": few if way == "release" else max(20, int(needed * 3)), "wait_s": rng.choice((3, 5, 10)),
        "release": 7 if way == "release" else 8,
        "products": postgres.sizes["products"], "customers": postgres.sizes["customers"],
    }  # fmt: skip
    file, log = environment.directory / "desk.json", environment.directory / "desk.log"
    command = [
        sys.executable, "-B", str(PROGRAMS / "reservations.py"), "--port", str(desk_port), "--settings", str(file),
        "--log", str(log),
    ]  # fmt: skip

    def start_desk(**changes: object) -> subprocess.Popen[bytes]:
        file.write_text(json.dumps(settings | changes))
        desk = environment.on_host(command)
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{desk_port}")), "the desk", 30.0)
        return desk

    desk = start_desk()
    nginx = Nginx(
        environment, port,
        NginxSettings(
            http_lines=build_upstream("desk", (f"127.0.0.1:{desk_port}",)), server_lines=build_location("/", "desk")
        ),
    )  # fmt: skip
    paths = ["/reserve/{n}"] * reserve + [rng.choice(("/rooms/{n}", "/stays/{n}")) for _ in range(others)]
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    environment.stop(desk)
    desk = start_desk(**({"release": 8} if way == "release" else {"connections": few}))
    time.sleep(4.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, desk.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "way": way, "few": few, "needed": needed,
            "bank_ms": bank.settings["delay_ms"], "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
        mark=load.mark,
    )  # fmt: skip


@contextmanager
def _third_server(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: one of the servers behind HAProxy was stopped to copy its memory, and was not continued."""
    port, tariff_port, *ports = draw_ports(rng, 2 + rng.randrange(2, 5))
    neighbours = start_neighbours(environment, rng)
    tariffs = ApiServer(
        environment, environment.client_address, tariff_port, client_side=True,
        delay_ms=rng.uniform(4, 15), work_us=150, answer_bytes=rng.choice((700, 2500)),
    )  # fmt: skip
    environment.host_sh("mkdir -p /run/freight")
    servers: list[subprocess.Popen[bytes]] = []
    work = rng.randrange(100, 300)
    for number in ports:
        words = {
            "ADDRESS": "127.0.0.1", "PORT": number, "TARIFFS": f"http://{tariffs.address}", "WORK": work,
            "ACCESS_LOG": f"/run/freight/access-{number}.log",
        }  # fmt: skip
        command = [
            "env",
            *(f"{name}={value}" for name, value in words.items()),
            "node",
            str(PROGRAMS / "freight.mjs"),
        ]
        servers.append(environment.on_host(command))
    for number in ports:
        wait_for(lambda at=number: bool(environment.host_net.sh(f"ss -Hltn sport = :{at}")), "a server")
    haproxy = Haproxy(
        environment, port,
        HaproxySettings(
            frontend=rng.choice(("www", "edge")), backend=rng.choice(("freight", "quotes")), balance="roundrobin",
            servers=tuple(f"127.0.0.1:{number}" for number in ports),
        ),
    )  # fmt: skip
    rate = rng.uniform(50, 90)
    paths = ["/quotes/{n}"] * rng.randrange(1, 4) + ["/parcels/{n}"] * rng.randrange(1, 3)
    load = start_requests(environment, rng, haproxy.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(2.0)
    healthy = load.baseline(4.0)
    os.kill(rng.choice(servers).pid, signal.SIGSTOP)
    time.sleep(5.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, haproxy.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "servers": len(ports),
            "neighbours": neighbours,
        },
        load.stats,
        f"/run/freight/access-{ports[0]}.log",
        mark=load.mark,
    )  # fmt: skip


@contextmanager
def _lines_for_others(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the log server of the company takes the lines that Apache hands on through a program."""
    port, api_port, log_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    archive = environment.directory / "archive"
    archive.mkdir()
    (archive / "open").touch()
    environment.on_client(
        [sys.executable, "-B", str(PROGRAMS / "clients" / "log_server.py"), "--listen",
         f"{environment.client_address}:{log_port}", "--directory", str(archive)]
    )  # fmt: skip
    wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{log_port}")), "the log server")
    api = ApiServer(
        environment, "127.0.0.1", api_port, delay_ms=rng.uniform(4, 12), work_us=rng.uniform(300, 900),
        answer_bytes=rng.randrange(2_000, 9_000),
    )  # fmt: skip
    labels = " ".join(
        f"{word}={rng.randrange(16**8):08x}" for word in rng.sample(("rack", "zone", "unit", "lot"), 3)
    )
    program = f"{shutil.which('busybox')} nc {environment.client_address} {log_port}"
    mpm = rng.choice(("event", "prefork"))
    settings = ApacheSettings(
        mpm=mpm, workers=rng.choice((64, 96, 128)), name=rng.choice(("shop.example", "www.example")),
        server_lines=build_proxy("/api/", api.address)
        + f'CustomLog "|{program}" "{LINES.replace("{labels}", labels * rng.randrange(3, 7))}"\n',
    )  # fmt: skip
    server = Apache(environment, port, settings, environment.directory / "www")
    rate = rng.uniform(80, 130)
    paths = rng.sample(("/api/trips/{n}", "/api/prices/{n}", "/api/maps/{n}", "/api/cards/{n}"), 3)
    load = start_requests(environment, rng, server.address, rate, *paths, options=("--timeout-s", 4))
    wait_for(lambda: load.stats()["ok"] > 50, "answers to clients")
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    (archive / "open").unlink()
    wait_for(lambda: load.stats()["timeouts"] > 20, "the effect", 60.0)
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, server.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "mpm": mpm, "workers": settings.workers,
            "neighbours": neighbours,
        },
        load.stats,
        apache.ACCESS_LOG,
        mark=load.mark,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "ferry-fares", "development", "remembered-fares", ("cache-memory-limit",),
        "The Redis of a Node service may use less memory than the fares need; the others are worked out each time.",
        _smaller_memory, needs=("redis-server", "node", "nginx", "gunicorn"), seconds=10.0,
        software=("redis", "node", "gunicorn", "nginx"),
    ),
    Scenario(
        "hotel-deposits", "development", "hotel-deposits", ("connection-pool-exhausted",),
        "Reservations keep the few connections of a service to PostgreSQL while a bank answers; all pages wait.",
        _deposits, needs=(POSTGRES, "nginx"), seconds=10.0, software=("python", "postgresql", "nginx"),
    ),
    Scenario(
        "freight-servers", "development", "freight-servers", ("process-stopped",),
        "One of several Node servers behind HAProxy does not go on since its memory was copied.", _third_server,
        needs=("haproxy", "node"), seconds=10.0, software=("node", "haproxy"),
    ),
    Scenario(
        "trips-shared-log", "development", "shared-log", ("output-pipe-full", "log-receiver-blocked"),
        "Apache hands its lines to a program whose log server reads no more; all workers wait to write a line.",
        _lines_for_others, needs=("apache2", "busybox"), seconds=10.0, software=("apache2",),
    ),
)  # fmt: skip
