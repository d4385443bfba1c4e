"""Hosts that are busy and healthy in further ways: no client is worse off."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.web_neighbours import (
    ApiServer,
    choose_scope,
    draw_ports,
    start_neighbours,
    start_requests,
)
from lab.scenario import Live, Scenario

# The classes of the host's link: what people wait for, and transfers with a rate and a short queue of their own.
CLASSES = """
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate {link}mbit quantum 60000
tc class add dev eth0 parent 1: classid 1:20 htb rate {transfers}mbit ceil {transfers}mbit quantum 6000
tc qdisc add dev eth0 parent 1:20 pfifo limit {packets}
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip sport {port} 0xffff flowid 1:20
"""
# Reads the volume from its beginning to its end, again and again, past the page cache.
SCRUB = """
while :; do for f in {data}/archive/*; do dd if=$f iflag=direct bs={block}k status=none | sha256sum; done; done
"""


@contextmanager
def _shaped_transfers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Transfers at night have a class of their own on the link, whose queue is full and drops; the API has its own."""
    port, api_port, transfer_port = draw_ports(rng, 3)
    neighbours = start_neighbours(environment, rng)
    api = ApiServer(
        environment, "127.0.0.1", api_port,
        delay_ms=rng.uniform(4, 15), work_us=rng.uniform(300, 900), answer_bytes=rng.randrange(3_000, 12_000),
    )  # fmt: skip
    haproxy = Haproxy(
        environment, port,
        HaproxySettings(frontend="public", backend=rng.choice(("offers", "lists")), servers=(api.address,)),
    )  # fmt: skip
    link, transfers, packets = rng.randrange(400, 800), rng.randrange(8, 25), rng.randrange(2, 5)
    for line in CLASSES.format(
        link=link, transfers=transfers, packets=packets, port=transfer_port
    ).splitlines():
        environment.host_net.sh(line)
    archive = environment.directory / "outbox"
    environment.host_sh(f"mkdir {archive}; truncate -s 20G {archive}/2026-11-26.tar")
    at = f"{environment.host_address}:{transfer_port}"
    environment.on_host(["busybox", "httpd", "-f", "-p", at, "-h", str(archive)])
    wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{transfer_port}")), "the archive")
    rate = rng.uniform(90, 160)
    load = start_requests(
        environment, rng, haproxy.address, rate, "/offers/{n}", "/lists/{n}", "/offers/{n}/history"
    )
    wait_for(lambda: load.stats()["ok"] > 30, "answers to clients")
    time.sleep(1.5)
    healthy = load.baseline(4.0)
    count = rng.randrange(3, 7)
    for _ in range(count):
        environment.on_client(["curl", "-s", "-o", "/dev/null", f"http://{at}/2026-11-26.tar"])
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, haproxy.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "link_mbit": link, "transfers_mbit": transfers,
            "packets": packets, "transfers": count, "neighbours": neighbours,
        },
        load.stats,
    )  # fmt: skip


@contextmanager
def _scrub_and_updates(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A volume that no request needs is read all the time, at its limit; apps wait for updates, as they should."""
    port, app_port = draw_ports(rng, 2)
    neighbours = start_neighbours(environment, rng)
    application = LabApplication(environment, rng)
    image = application.disk(rng.randrange(500, 900))
    files = rng.randrange(8, 20)
    environment.host_sh(
        f"mkdir {DATA}/archive; for n in $(seq {files}); do head -c 16M /dev/urandom >{DATA}/archive/day-$n.bin; done;"
        f"sync -f {DATA}"
    )
    wait_s = rng.uniform(2, 5)
    workers, threads = 2, rng.choice((48, 64))
    app = Gunicorn(
        environment, app_port, "orders_app.py", workers=workers, threads=threads, address="127.0.0.1",
        variables={"WAIT_S": f"{wait_s:.1f}"},
    )  # fmt: skip
    nginx = Nginx(
        environment,
        port,
        NginxSettings(
            http_lines=build_upstream("orders", (f"127.0.0.1:{app.port}",)),
            server_lines=build_proxy("/", "orders"),
        ),
    )
    rate = rng.uniform(50, 90)
    pages = ["/orders/{n}"] * rng.randrange(1, 4) + ["/invoices/{n}"] * rng.randrange(1, 3)
    load = start_requests(environment, rng, nginx.address, rate, *pages)
    updates = rng.uniform(4, 9)
    start_requests(
        environment, rng, nginx.address, updates, "/orders/{n}/updates", options=("--timeout-s", 30)
    )
    time.sleep(wait_s + 1.0)
    healthy = load.baseline(4.0)
    group = application.group(rng.choice(("archive", "scrub")))
    megabytes = rng.randrange(4, 11)
    group.weigh(128)
    slow_disk(group, image, bytes_per_s=megabytes << 20)
    readers = rng.randrange(1, 4)
    words = SCRUB.format(data=DATA, block=rng.choice((256, 512, 1024)))
    for _ in range(readers):
        environment.on_host(["sh", "-c", words], group)
    time.sleep(2.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, app.list_workers()[0]),
        {
            "port": port, "healthy": healthy, "rate": rate, "pages": pages, "updates": updates, "wait_s": wait_s,
            "threads": threads, "mb_per_s": megabytes, "readers": readers, "neighbours": neighbours,
        },
        load.stats,
        ACCESS_LOG,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "offers-and-archive", "healthy", "healthy", (), "Transfers are shaped on purpose; the API has its own class.",
        _shaped_transfers, needs=("haproxy", "tc", "curl", "busybox"), software=("haproxy",), seconds=10.0,
    ),
    Scenario(
        "orders-and-archive", "healthy", "healthy", (),
        "A volume that no request needs is read at its limit, and apps wait for updates by design.",
        _scrub_and_updates, needs=("nginx", "gunicorn", "mkfs.ext4"), software=("gunicorn", "nginx"), seconds=10.0,
    ),
)  # fmt: skip
