"""Local ports towards one destination: none left, or one hard to find."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.scenario import Live, Scenario

FILL_S = 60.0
UPSTREAM = 8088
DEFAULT_RANGE = (32768, 60999)


def _range(environment: LabEnvironment, low: int, high: int) -> None:
    environment.host_sh(f"sysctl -qw net.ipv4.ip_local_port_range='{low} {high}'")


def _past(environment: LabEnvironment, *options: object) -> Load:
    """TIME_WAIT sockets of another program of this host, in place when this returns."""
    past = environment.load(*options, on_host=True, program="time_wait_sockets.py")
    wait_for(lambda: past.log.exists() and past.log.stat().st_size > 0, "TIME_WAIT sockets", FILL_S)
    return past


@contextmanager
def _short_connections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Each request asks upstream over a connection of its own; the port range was made small."""
    port, rate, ports = rng.randrange(7000, 9900), rng.randrange(250, 350), rng.randrange(500, 1200)
    environment.serve("evented.py", UPSTREAM, "--name", "stock", client_side=True)
    upstream = f"{environment.client_address}:{UPSTREAM}"
    log = "/run/orders/access.log"
    server = environment.serve(
        "service.py", port, "--workers", 24, "--upstream", upstream, "--access-log", log
    )
    load = environment.load("--to", f"{environment.host_address}:{port}", "--rate", rate)
    healthy = load.baseline()
    low = rng.randrange(20000, 50000)
    _range(environment, low, low + ports - 1)
    load.mark()
    parameters = {"port": port, "rate": rate, "range": (low, low + ports - 1), "healthy": healthy}
    repair = partial(_range, environment, *DEFAULT_RANGE)
    yield Live(
        environment.host, environment.scope(rng, server.pid), parameters, load.stats, log, repair, load.mark
    )


@contextmanager
def _kept_connections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A pool that never gives a connection back holds every port that is not reserved for others."""
    free, rate = rng.randrange(900, 1800), rng.randrange(40, 90)
    environment.serve("evented.py", UPSTREAM, "--name", "broker", "--backlog", 4096, client_side=True)
    to = ("--to", f"{environment.client_address}:{UPSTREAM}")
    load = environment.load(*to, "--rate", rate, "--poisson", "--name", "publisher", on_host=True)
    healthy = load.baseline()
    low, high = 32768, 60999
    environment.host_sh(f"sysctl -qw net.ipv4.ip_local_reserved_ports={low}-{high - free}")
    pool = environment.load(*to, "--hold", free, "--name", "consumer", on_host=True)
    wait_for(lambda: pool.stats()["requests"] >= free, "the pool to fill", FILL_S)
    load.mark()
    parameters = {"free_ports": free, "rate": rate, "reserved": (low, high - free), "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, load.process.pid), parameters, load.stats)


@contextmanager
def _many_destinations(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """More TIME_WAIT sockets than ports in the range, but towards so many destinations that each has plenty."""
    ports, rate, hosts = rng.randrange(900, 1200), rng.randrange(200, 280), rng.randrange(24, 32)
    environment.client_net.sh("".join(f"ip addr add 10.80.0.{10 + n}/24 dev eth0;" for n in range(hosts)))
    to = [f"10.80.0.{10 + n}:{UPSTREAM}" for n in range(hosts)]
    environment.serve("evented.py", UPSTREAM, "--name", "shard", "--any", client_side=True)
    load = environment.load(
        "--to", ",".join(to), "--rate", rate, "--hang-up", "--name", "crawler", on_host=True
    )
    healthy = load.baseline()
    low = rng.randrange(20000, 50000)
    _range(environment, low, low + ports - 1)
    for destination in to:
        _past(environment, "--to", destination, "--count", 60)
    load.mark()
    parameters = {"rate": rate, "destinations": hosts, "range": (low, low + ports - 1), "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, load.process.pid), parameters, load.stats)


def _search(
    environment: LabEnvironment, rng: random.Random, *options: object, past_port: int, spare_odd: int
) -> Iterator[Live]:
    """Requests of a service that asks upstream, while all but a few ports lie in TIME_WAIT."""
    port, rate, spare = rng.randrange(7000, 9900), rng.randrange(90, 150), rng.randrange(3, 6)
    low = rng.randrange(10_000, 18_000)
    high = 65000
    for upstream_port in {UPSTREAM, past_port}:
        environment.serve("evented.py", upstream_port, "--name", "stock", "--backlog", 4096, client_side=True)
    upstream = f"{environment.client_address}:{UPSTREAM}"
    log = "/run/orders/access.log"
    server = environment.serve(
        "service.py", port, "--workers", 2, "--upstream", upstream, "--upstream-reset", "--access-log", log, *options
    )  # fmt: skip
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", port
    )
    healthy = load.baseline()
    _range(environment, low, high)
    _past(
        environment,
        "--to",
        f"{environment.client_address}:{past_port}",
        "--spare",
        spare,
        "--spare-odd",
        spare_odd,
    )
    load.mark()
    parameters = {"port": port, "rate": rate, "range": (low, high), "spare_ports": spare, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats, log)


@contextmanager
def _search_in_connect(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    yield from _search(environment, rng, past_port=UPSTREAM, spare_odd=1)


@contextmanager
def _search_in_bind(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The service binds its address first: bind() has to find a port that is free towards everybody."""
    yield from _search(
        environment, rng, "--source", environment.host_address, past_port=UPSTREAM + 1, spare_odd=0
    )


@contextmanager
def _slow_far_side(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """connect() is slow and TIME_WAIT sockets abound, but it is the far side that does not keep up."""
    port, rate, past = rng.randrange(7000, 9900), rng.randrange(90, 150), rng.randrange(1500, 4000)
    workers = 2
    # A fifth more work than it can do.
    wait_ms = 1000 * workers / rate * 1.2
    service = ("--name", "stock", "--backlog", 6, "--workers")
    far = environment.serve("service.py", UPSTREAM, *service, 32, "--wait-ms", 2, client_side=True)
    log = "/run/orders/access.log"
    server = environment.serve(
        "service.py",
        port,
        "--workers",
        64,
        "--upstream",
        f"{environment.client_address}:{UPSTREAM}",
        "--access-log",
        log,
    )
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--timeout-s", 4.0
    )
    environment.serve("evented.py", UPSTREAM + 1, client_side=True)
    _past(environment, "--to", f"{environment.client_address}:{UPSTREAM + 1}", "--count", past)
    healthy = load.baseline()
    far.kill()
    far.wait()
    environment.serve("service.py", UPSTREAM, *service, workers, "--wait-ms", wait_ms, client_side=True)
    load.mark()
    parameters = {"port": port, "rate": rate, "time_wait": past, "far_wait_ms": wait_ms, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats, log)


SCENARIOS = (
    Scenario(
        "port-exhaustion", "fault", "port-exhaustion", ("ephemeral-port-exhaustion",),
        "A small port range and one short connection per request to one destination: none is left.",
        _short_connections, seconds=8.0,
    ),
    Scenario(
        "port-exhaustion-validation", "validation", "port-exhaustion", ("ephemeral-port-exhaustion",),
        "Established connections of a leaking pool hold every port that is not reserved.", _kept_connections,
    ),
    Scenario(
        "port-exhaustion-decoy", "decoy", "port-exhaustion", (),
        "More TIME_WAIT sockets than ports, spread over so many destinations that no connection lacks a port.",
        _many_destinations, seconds=8.0,
    ),
    Scenario(
        "port-search", "fault", "port-search", ("timewait-port-search",),
        "All but a few ports are in TIME_WAIT, and connect() burns CPU to find one; nothing fails.",
        _search_in_connect, global_effect=("cpu",),
    ),
    Scenario(
        "port-search-validation", "validation", "port-search", ("timewait-port-search",),
        "A service binds its address before it connects, and another program's TIME_WAIT fills the range.",
        _search_in_bind, global_effect=("cpu",),
    ),
    Scenario(
        "port-search-decoy", "decoy", "port-search", ("slow-dependency",),
        "connect() takes a second while thousands of sockets are in TIME_WAIT: the far side is slow.", _slow_far_side,
        seconds=8.0,
    ),
)  # fmt: skip
