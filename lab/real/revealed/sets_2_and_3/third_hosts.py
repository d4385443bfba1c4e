"""Faults inside one service, or in what it uses: a third set."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.golang import GO, GoService
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.hosts.runtime_host import PROGRAMS, RuntimeHost
from lab.real.services.java import JavaService
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

BOOKINGS = """
CREATE TABLE bookings (id INTEGER PRIMARY KEY, house INTEGER NOT NULL, night INTEGER NOT NULL, guest TEXT NOT NULL);
CREATE INDEX bookings_house ON bookings (house, id);
"""


@contextmanager
def _labels_of_parcels(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a setting with which answers of the carrier are kept, and with them what they were read from."""
    host = RuntimeHost(environment, rng)
    carrier_port = draw_ports(rng, 1)[0]
    carrier = ApiServer(
        environment, environment.client_address, carrier_port, client_side=True,
        delay_ms=rng.uniform(5, 25), work_us=150, answer_bytes=rng.choice((200, 900)),
    )  # fmt: skip
    service = JavaService(environment, "Labels.java", host.port)
    settings: dict[str, object] = {
        "threads": rng.choice((32, 48, 64)), "carrier": carrier.address, "work": rng.randrange(1000, 3000),
    }  # fmt: skip
    service.write_settings(**settings, receipts="false")
    service.start("-Xmx256m", rng.choice(("-XX:+UseSerialGC", "-XX:+UseG1GC")))
    files = rng.choice((512, 640, 800))
    subprocess.run(["prlimit", "--pid", str(service.pid), f"--nofile={files}:{files}"], check=True)
    rate, mix = rng.randrange(70, 120), {"labels": rng.choice((3, 4)), "receipts": rng.choice((2, 3))}
    host.start_clients(rate, mix, warm_s=5.0)
    service.write_settings(**settings, receipts="true")
    time.sleep(files / (rate * mix["labels"] / sum(mix.values())) + 4.0)
    yield host.build_live(service.pid, service.access_log, open_files=files, dependency=carrier.address)


@contextmanager
def _points_ledger(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the number of books of the ledger, with which the service was started again."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    library = environment.directory / "srv" / "libledger.so"
    library.parent.mkdir(exist_ok=True)
    subprocess.run(
        ["gcc", "-O2", "-g", "-Wall", "-shared", "-fPIC", "-o", str(library), str(PROGRAMS / "ledger.c"), "-pthread"],
        check=True, timeout=60,
    )  # fmt: skip
    workers, threads = rng.choice((1, 2)), rng.choice((32, 48))
    rate, earn, others = rng.uniform(90, 140), rng.randrange(3, 5), rng.randrange(1, 3)
    # What one book of a worker can take in a second is about what arrives.
    confirm_us = int(1e6 * workers / (rate * earn / (earn + 2 * others)) * rng.uniform(0.9, 1.05))
    app = Gunicorn(
        environment, app_port, "points_app.py", workers=workers, threads=threads, address="127.0.0.1",
        variables={"LEDGER": str(library), "BOOKS": str(rng.choice((64, 128, 256))), "CONFIRM_US": str(confirm_us)},
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=build_upstream("points", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "points"),
        ),
    )
    paths = ["/earn/{n}"] * earn + ["/balance/{n}", "/rewards/{n}"] * others
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 4))
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    app.restart(BOOKS="1")
    time.sleep(4.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.list_workers()[0]),
        {
            "port": port, "healthy": healthy, "rate": rate, "workers": workers, "threads": threads,
            "confirm_us": confirm_us, "paths": paths, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


@contextmanager
def _bookings_file(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a pragma of the database file, of which the service has always written one row per request."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    image = LabApplication(environment, rng).disk(rng.randrange(300, 600))
    file = f"{DATA}/bookings/bookings.db"
    environment.host_sh(f"mkdir -p {DATA}/bookings")
    houses = rng.randrange(30, 90)
    draw = random.Random(houses)
    source = environment.directory / "bookings.db"
    with sqlite3.connect(source) as database:
        database.executescript(BOOKINGS)
        rows = ((draw.randrange(houses), number % 365, f"guest {number}") for number in range(20_000))
        database.executemany("INSERT INTO bookings (house, night, guest) VALUES (?, ?, ?)", rows)
    database.close()
    environment.host_sh(f"mv {source} {file}; chown -R www-data {DATA}/bookings; sync -f {file}")
    app = Gunicorn(
        environment, app_port, "bookings_app.py", workers=2, threads=rng.choice((8, 12, 16)), address="127.0.0.1",
        variables={"DATABASE": file, "HOUSES": str(houses), "JOURNAL": "WAL", "SYNCHRONOUS": "NORMAL"},
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=build_upstream("bookings", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "bookings"),
        ),
    )
    rate = rng.uniform(60, 100)
    writes, reads = 1, rng.randrange(4, 7)
    paths = ["/book/{n}"] * writes + [rng.choice(("/houses/{n}", "/prices/{n}")) for _ in range(reads)]
    load = start_requests(environment, rng, nginx.address, rate, *paths, options=("--timeout-s", 5))
    # A row that is written through costs two to three requests of the disk, which has time for more than that.
    iops = int(2.6 * rate * writes / len(paths) / rng.uniform(0.62, 0.76))
    slow_disk(environment.app, image, iops=iops)
    time.sleep(3.0)
    healthy = load.baseline(4.0)
    pragmas = rng.choice(({"SYNCHRONOUS": "FULL"}, {"SYNCHRONOUS": "EXTRA"}))
    app.restart(**pragmas)
    time.sleep(3.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.list_workers()[0]),
        {
            "port": port, "healthy": healthy, "rate": rate, "paths": paths, "iops": iops, "pragmas": pragmas,
            "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


def _read_cpu_s(group: Group) -> float:
    """Return the CPU seconds that a group has used."""
    words = group.file("cpuacct", "cpuacct.usage", "cpu.stat").read_text().split()
    return int(words[0]) / 1e9 if len(words) == 1 else int(words[words.index("usage_usec") + 1]) / 1e6


@contextmanager
def _sessions_elsewhere(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much CPU time the other machine, which keeps the sessions, gets from its own host."""
    host = RuntimeHost(environment, rng)
    port, keys = rng.choice((6379, 6390, 7100)), rng.randrange(20_000, 80_000)
    group = Group(f"{environment.clients.path}/sessions").create()
    address = environment.client_address
    environment.on_client(
        [*group.join_command(), "redis-server", "--port", str(port), "--bind", address, "--protected-mode", "no",
         "--save", "", "--enable-debug-command", "yes", "--dir", str(environment.directory)]
    )  # fmt: skip
    wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the sessions")
    environment.client_net.sh(f"redis-cli -h {address} -p {port} DEBUG POPULATE {keys} session 500")
    service = GoService(environment, "accounts.go", host.port, "-redis", f"{address}:{port}", "-keys", keys)
    service.write_settings(
        reads=rng.randrange(3, 6), writes=rng.randrange(3, 8), last_field=300, rounds=rng.randrange(600, 1500)
    )
    service.start()
    mix = {"sessions": rng.choice((3, 4)), "carts": rng.choice((0, 1)), "items": rng.choice((1, 2, 3))}
    rate, share, period_us = rng.randrange(120, 190), rng.uniform(0.62, 0.78), rng.choice((250_000, 400_000))
    before_s, began = _read_cpu_s(group), time.monotonic()
    host.start_clients(rate, mix)
    used = (_read_cpu_s(group) - before_s) / (time.monotonic() - began)
    group.limit_cpu(used * share, period_us)
    time.sleep(3.0)
    yield host.build_live(
        service.pid, service.access_log, dependency=f"{address}:{port}", used_cpus=used, share=share
    )


SCENARIOS = (
    Scenario(
        "parcel-labels", "development", "socket-leak", ("fd-leak-close-wait",),
        "A Java service keeps connections that its carrier has closed, until it may open no more files.",
        _labels_of_parcels, needs=("java", "javac", "prlimit"), seconds=10.0, software=("java",),
    ),
    Scenario(
        "loyalty-points", "development", "library-lock", ("lock-contention",),
        "Threads of a Python service wait for one lock of a C library, which is held while a terminal confirms.",
        _points_ledger, needs=("nginx", "gunicorn", "gcc"), seconds=10.0, software=("gunicorn",),
    ),
    Scenario(
        "room-bookings", "development", "durable-writes", ("sync-write-amplification",),
        "Each booking waits until SQLite has written its row through to the disk.", _bookings_file,
        needs=("nginx", "gunicorn", "mkfs.ext4"), seconds=10.0, software=("sqlite", "gunicorn"),
    ),
    Scenario(
        "account-sessions", "development", "cache-elsewhere", ("slow-dependency",),
        "The Redis of another host answers late, and a Go service waits for it.", _sessions_elsewhere,
        needs=("redis-server", GO), seconds=10.0, software=("go", "redis"),
    ),
)  # fmt: skip
