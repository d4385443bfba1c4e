"""A host that calls strangers and is healthy: names that do not exist, a partner that stalls, a full volume."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.development.host_network import NXDOMAIN, NameServers
from lab.real.services.hosts.catalog_host import CatalogHost, choose_pages
from lab.real.services.hosts.site_host import mount_volume
from lab.scenario import Live, Scenario

DELIVER = """
import random, socket, sys, time
log = open(sys.argv[1], "a", buffering=1)
while True:
    name = f"hooks.{random.randrange(9000)}.example.net"
    try:
        socket.create_connection((name, 443), timeout=2).close()
    except OSError as error:
        log.write(f"{time.time():.3f} delivery to {name} postponed: {error}\\n")
    time.sleep(float(sys.argv[2]))
"""


@contextmanager
def _deliveries(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Deliveries to names that strangers have given up are postponed, next to a site and a volume full of archives."""
    names = NameServers(environment, rng, "timeout:1 attempts:2", cached=rng.random() < 0.5)
    names.change_answers(tuple(names.servers), share=1.0, code=NXDOMAIN, late_ms=[0, 2])
    mount_volume(environment, 48, "/run/archive")
    environment.host_sh("dd if=/dev/zero of=/run/archive/2019.tar bs=1M 2>/dev/null || :")
    late_ms = rng.randrange(250, 400)
    environment.serve(
        "evented.py", 8088, "--name", "partner", "--backlog", 4096, "--stall-ms", late_ms, "--every-ms", 2 * late_ms,
        client_side=True,
    )  # fmt: skip
    host = CatalogHost(
        environment, rng, workers=rng.randrange(3, 5), threads=8, proxied=True,
        variables={"STOCK_URL": f"http://{environment.client_address}:8088"},
    )  # fmt: skip
    log = environment.directory / "deliveries.log"
    pause_s = rng.uniform(0.3, 1.2)
    environment.on_host([sys.executable, "-B", "-c", DELIVER, str(log), f"{pause_s:.2f}"])
    host.start_clients(rng.randrange(60, 100), (*choose_pages(rng, total=8), "/stock/{n}"))
    host.measure_baseline()
    yield host.build_live(late_ms=late_ms, pause_s=round(pause_s, 2))


SCENARIOS = (
    Scenario(
        "deliveries-to-strangers", "healthy", "healthy", (),
        "Names that do not exist, a partner that stalls at any time, and a full volume that is not written to.",
        _deliveries, needs=("gunicorn", "nginx", "redis-server", "dnsmasq", "mkfs.ext4"),
        software=("nginx", "gunicorn"),
    ),
)  # fmt: skip
