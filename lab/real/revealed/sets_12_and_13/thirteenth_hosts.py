"""Memory of a container, a CPU in common, and a line between two sites: a thirteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.real.services.towns.far_site import FarSite
from lab.real.services.towns.hotel_host import Hotel
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer
from lab.scenario import Live, Scenario

STATEMENTS = "echo \"SELECT * FROM orders WHERE created_at > now() - interval '{minutes} minutes';\""
EXPORT = (
    "while :; do {statement} | psql -q -A -t -o {file} -h {address} -p {port} -U jobs postgres; sleep 1; done"
)


def _count_kept_bytes(group: Group) -> int:
    """Return the memory of a group that the kernel cannot take back without swap."""
    lines = group.file("memory", "memory.stat", "memory.stat").read_text().splitlines()
    figures = {name: int(value) for name, value in (line.split() for line in lines)}
    return sum(figures.get(name, 0) for name in ("rss", "shmem", "anon"))


@contextmanager
def _statements_of_a_year(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many bills an export reads, which psql keeps in the memory of the container of PostgreSQL."""
    town = Town(environment, rng)
    pod = town.create_group(rng.choice(("postgres", "clinic-db", "db")))
    orders, words = rng.randrange(240_000, 280_000), rng.randrange(14, 18)
    threads = rng.choice((8, 12))
    postgres = PostgresServer(
        environment,
        rng,
        orders=orders,
        note_words=words,
        group=pod,
        settings={"max_connections": threads * 2 + 30},
    )
    port, app_port = town.take_ports(2)
    variables = {"DATABASE": postgres.dsn, "CUSTOMERS": str(postgres.sizes["customers"])}
    app = Gunicorn(
        environment, app_port, "towns/statements_app.py", address="127.0.0.1", workers=2, threads=threads,
        variables=variables,
    )  # fmt: skip
    lines = NginxSettings(
        http_lines=build_upstream("clinic", (f"127.0.0.1:{app_port}",)),
        server_lines=build_proxy("/", "clinic"),
    )
    nginx = Nginx(environment, port, lines)
    values = {"file": environment.directory / "bills.txt", "address": postgres.address, "port": postgres.port}
    loop = EXPORT.format(statement=STATEMENTS.format(minutes=rng.randrange(1_000, 3_000)), **values)
    export = environment.on_host(["sh", "-c", loop], pod)
    pod.file("memory", "memory.oom_control", "memory.oom.group").write_text("1")
    megabytes = (_count_kept_bytes(pod) >> 20) + rng.randrange(60, 80) + 5 * threads
    pod.limit_memory(megabytes << 20)
    paths = ["/patients/{n}"] * rng.randrange(3, 5) + ["/sums/{n}"] * rng.randrange(1, 3) + ["/hours/{n}"]
    town.start_clients(nginx.address, rng.uniform(40, 55), paths, warm_s=5.0)
    environment.stop(export)
    loop = EXPORT.format(statement=STATEMENTS.format(minutes=orders), **values)
    environment.on_host(["sh", "-c", loop], pod)
    time.sleep(10.0)
    pid = rng.choice((postgres.pid, app.pid))
    yield town.build_group_live(pid, pod, megabytes=megabytes, orders=orders, words=words, threads=threads)


@contextmanager
def _recorded_calls(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the scheduling policy of the program that packs recorded calls."""
    hotel = Hotel(Town(environment, rng), rng.randrange(18_000, 26_000), rng.uniform(0.4, 0.7))
    recorder = hotel.start_recorder()
    hotel.start_clients(rng.uniform(40, 60))
    environment.stop(recorder)
    priority = rng.randrange(10, 60)
    hotel.start_recorder(priority)
    time.sleep(4.0)
    yield hotel.town.build_group_live(hotel.caddy.pid, hotel.pod, "", priority=priority)


@contextmanager
def _scans_of_branches(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the size of the packets that the line to the other site takes."""
    site = FarSite(environment, rng)
    # The firewall in front of the line sends no messages about it.
    site.router.sh("iptables -A OUTPUT -p icmp -j DROP")
    town = Town(environment, rng)
    port, app_port = town.take_ports(2)
    app = ApiServer(
        environment, "127.0.0.1", app_port,
        delay_ms=rng.uniform(2, 9), work_us=rng.uniform(300, 900), answer_bytes=rng.randrange(3_000, 30_000),
    )  # fmt: skip
    settings = HaproxySettings(
        backend="deeds", servers=(app.address,),
        frontend_lines="acl scan path_beg /scans\n    use_backend scans if scan",
        more_lines=f"backend scans\n    option httpchk GET /health\n    server site2 {site.address} check inter 2s",
    )  # fmt: skip
    haproxy = Haproxy(environment, port, settings)
    high = rng.randrange(9_000, 60_000)
    requests = [f"POST /scans/{{n}} 200 {high}"] * 2 + ["GET /scans/{n} 0 0"] * rng.randrange(1, 3)
    requests += ["GET /deeds/{n} 0 0"] * rng.randrange(2, 4)
    town.start_senders(haproxy.address, rng.uniform(40, 60), requests, "page {n}: signed and sealed, {v}")
    mtu = rng.choice((1280, 1320, 1380, 1400, 1420))
    site.move_line(mtu)
    time.sleep(6.0)
    yield town.build_live(haproxy.pid, "", mtu=mtu)


SCENARIOS = (
    Scenario(
        "clinic-statements", "development", "statements-of-a-year", ("memcg-oom-disabled",),
        "An export fills the container of PostgreSQL, in which the kernel ends no process; backends wait for memory.",
        _statements_of_a_year, needs=(POSTGRES, "psql", "gunicorn", "nginx"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"),
    ),
    Scenario(
        "hotel-exchange", "development", "recorded-calls", ("real-time-task", "cpu-neighbour-contention"),
        "A program that packs recorded calls has the real-time policy of the exchange; a Caddy shares its CPU.",
        _recorded_calls, needs=("caddy", "chrt", "gzip"), seconds=10.0, software=("caddy",), global_effect=("cpu",),
    ),
    Scenario(
        "notary-scans", "development", "scans-of-branches", ("mtu-too-small",),
        "The line to another site takes smaller packets than the host sends, and no message reports it; uploads hang.",
        _scans_of_branches, needs=("haproxy", "iptables"), seconds=10.0, software=("haproxy",),
    ),
)  # fmt: skip
