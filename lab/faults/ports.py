"""Local ports towards one destination: none left, or one hard to find."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from e2e.lab.load import Load, wait_for
from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site

FILL_S = 60.0
UPSTREAM = 8088
USUAL_RANGE = (32768, 60999)


def _range(site: Site, low: int, high: int) -> None:
    site.host_sh(f"sysctl -qw net.ipv4.ip_local_port_range='{low} {high}'")


def _past(site: Site, *options: object) -> Load:
    """TIME_WAIT sockets of another program of this host, in place when this returns."""
    past = site.load(*options, on_host=True, program="past.py")
    wait_for(lambda: past.log.exists() and past.log.stat().st_size > 0, "TIME_WAIT sockets", FILL_S)
    return past


@contextmanager
def _short_connections(site: Site, rng: random.Random) -> Iterator[Live]:
    """Each request asks upstream over a connection of its own; somebody made the range small."""
    port, rate, ports = rng.randrange(7000, 9900), rng.randrange(250, 350), rng.randrange(500, 1200)
    site.serve("evented.py", UPSTREAM, "--name", "stock", client_side=True)
    upstream = f"{site.client_address}:{UPSTREAM}"
    log = "/run/orders/access.log"
    server = site.serve("service.py", port, "--workers", 24, "--upstream", upstream, "--access-log", log)
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", rate)
    healthy = load.baseline()
    low = rng.randrange(20000, 50000)
    _range(site, low, low + ports - 1)
    load.mark()
    parameters = {"port": port, "rate": rate, "range": (low, low + ports - 1), "healthy": healthy}
    cure = partial(_range, site, *USUAL_RANGE)
    yield Live(site.host, site.scope(rng, server.pid), parameters, load.stats, log, cure, load.mark)


@contextmanager
def _kept_connections(site: Site, rng: random.Random) -> Iterator[Live]:
    """A pool that never gives a connection back holds every port that is not reserved for others."""
    free, rate = rng.randrange(900, 1800), rng.randrange(40, 90)
    site.serve("evented.py", UPSTREAM, "--name", "broker", "--backlog", 4096, client_side=True)
    to = ("--to", f"{site.client_address}:{UPSTREAM}")
    load = site.load(*to, "--rate", rate, "--poisson", "--name", "publisher", on_host=True)
    healthy = load.baseline()
    low, high = 32768, 60999
    site.host_sh(f"sysctl -qw net.ipv4.ip_local_reserved_ports={low}-{high - free}")
    pool = site.load(*to, "--hold", free, "--name", "consumer", on_host=True)
    wait_for(lambda: pool.stats()["requests"] >= free, "the pool to fill", FILL_S)
    load.mark()
    parameters = {"free_ports": free, "rate": rate, "reserved": (low, high - free), "healthy": healthy}
    yield Live(site.host, site.scope(rng, load.process.pid), parameters, load.stats)


@contextmanager
def _many_destinations(site: Site, rng: random.Random) -> Iterator[Live]:
    """More TIME_WAIT sockets than ports in the range, but towards so many destinations that each has plenty."""
    ports, rate, hosts = rng.randrange(900, 1200), rng.randrange(200, 280), rng.randrange(24, 32)
    site.client_net.sh("".join(f"ip addr add 10.80.0.{10 + n}/24 dev eth0;" for n in range(hosts)))
    to = [f"10.80.0.{10 + n}:{UPSTREAM}" for n in range(hosts)]
    site.serve("evented.py", UPSTREAM, "--name", "shard", "--any", client_side=True)
    load = site.load("--to", ",".join(to), "--rate", rate, "--hang-up", "--name", "crawler", on_host=True)
    healthy = load.baseline()
    low = rng.randrange(20000, 50000)
    _range(site, low, low + ports - 1)
    for destination in to:
        _past(site, "--to", destination, "--count", 60)
    load.mark()
    parameters = {"rate": rate, "destinations": hosts, "range": (low, low + ports - 1), "healthy": healthy}
    yield Live(site.host, site.scope(rng, load.process.pid), parameters, load.stats)


def _search(
    site: Site, rng: random.Random, *options: object, past_port: int, spare_odd: int
) -> Iterator[Live]:
    """Requests of a service that asks upstream, while all but a few ports lie in TIME_WAIT."""
    port, rate, spare = rng.randrange(7000, 9900), rng.randrange(90, 150), rng.randrange(3, 6)
    low = rng.randrange(10_000, 18_000)
    high = 65000
    for upstream_port in {UPSTREAM, past_port}:
        site.serve("evented.py", upstream_port, "--name", "stock", "--backlog", 4096, client_side=True)
    upstream = f"{site.client_address}:{UPSTREAM}"
    log = "/run/orders/access.log"
    server = site.serve(
        "service.py", port, "--workers", 2, "--upstream", upstream, "--upstream-reset", "--access-log", log, *options
    )  # fmt: skip
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", rate, "--poisson", "--seed", port)
    healthy = load.baseline()
    _range(site, low, high)
    _past(site, "--to", f"{site.client_address}:{past_port}", "--spare", spare, "--spare-odd", spare_odd)
    load.mark()
    parameters = {"port": port, "rate": rate, "range": (low, high), "spare_ports": spare, "healthy": healthy}
    yield Live(site.host, site.scope(rng, server.pid), parameters, load.stats, log)


@contextmanager
def _search_in_connect(site: Site, rng: random.Random) -> Iterator[Live]:
    yield from _search(site, rng, past_port=UPSTREAM, spare_odd=1)


@contextmanager
def _search_in_bind(site: Site, rng: random.Random) -> Iterator[Live]:
    """The service binds its address first: bind() has to find a port that is free towards everybody."""
    yield from _search(site, rng, "--source", site.host_address, past_port=UPSTREAM + 1, spare_odd=0)


@contextmanager
def _slow_far_side(site: Site, rng: random.Random) -> Iterator[Live]:
    """connect() is slow and TIME_WAIT sockets abound, but it is the far side that does not keep up."""
    port, rate, past = rng.randrange(7000, 9900), rng.randrange(90, 150), rng.randrange(1500, 4000)
    workers = 2
    # A fifth more work than it can do.
    wait_ms = 1000 * workers / rate * 1.2
    service = ("--name", "stock", "--backlog", 6, "--workers")
    far = site.serve("service.py", UPSTREAM, *service, 32, "--wait-ms", 2, client_side=True)
    log = "/run/orders/access.log"
    server = site.serve(
        "service.py", port, "--workers", 64, "--upstream", f"{site.client_address}:{UPSTREAM}", "--access-log", log
    )  # fmt: skip
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", rate, "--poisson", "--timeout-s", 4.0)
    site.serve("evented.py", UPSTREAM + 1, client_side=True)
    _past(site, "--to", f"{site.client_address}:{UPSTREAM + 1}", "--count", past)
    healthy = load.baseline()
    far.kill()
    far.wait()
    site.serve("service.py", UPSTREAM, *service, workers, "--wait-ms", wait_ms, client_side=True)
    load.mark()
    parameters = {"port": port, "rate": rate, "time_wait": past, "far_wait_ms": wait_ms, "healthy": healthy}
    yield Live(site.host, site.scope(rng, server.pid), parameters, load.stats, log)


SCENARIOS = (
    Scenario(
        "port-exhaustion", "fault", "port-exhaustion", ("ephemeral-port-exhaustion",),
        "A small port range and one short connection per request to one destination: none is left.",
        _short_connections, seconds=8.0,
    ),
    Scenario(
        "port-exhaustion-blind", "blind", "port-exhaustion", ("ephemeral-port-exhaustion",),
        "Established connections of a leaking pool hold every port that is not reserved.", _kept_connections,
    ),
    Scenario(
        "port-exhaustion-lookalike", "lookalike", "port-exhaustion", (),
        "More TIME_WAIT sockets than ports, spread over so many destinations that nobody lacks one.",
        _many_destinations, seconds=8.0,
    ),
    Scenario(
        "port-search", "fault", "port-search", ("timewait-port-search",),
        "All but a few ports are in TIME_WAIT, and connect() burns CPU to find one; nothing fails.",
        _search_in_connect, global_effect=("cpu",),
    ),
    Scenario(
        "port-search-blind", "blind", "port-search", ("timewait-port-search",),
        "A service binds its address before it connects, and another program's TIME_WAIT fills the range.",
        _search_in_bind, global_effect=("cpu",),
    ),
    Scenario(
        "port-search-lookalike", "lookalike", "port-search", ("slow-dependency",),
        "connect() takes a second beside thousands of TIME_WAIT sockets: the far side is slow.", _slow_far_side,
        seconds=8.0,
    ),
)  # fmt: skip
