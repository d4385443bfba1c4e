"""eth0 takes smaller packets than the network sends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.scenario import Live, Scenario

# Enough that workers who wait for a lost request never keep another one waiting.
WORKERS = ("--workers", 256, "--idle-s", 1)


@contextmanager
def _tiny(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A slip of the keyboard: an MTU of a hundred or so. Nothing of a usual size gets in."""
    port, rate, mtu = rng.randrange(7000, 9900), rng.randrange(60, 150), rng.randrange(80, 140)
    server = environment.serve("service.py", port, *WORKERS, "--answer-bytes", 3000)
    _no_offload(environment)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--timeout-s", 1.5, "--body-bytes", 600
    )  # fmt: skip
    healthy = load.baseline()
    environment.host_net.sh(f"ip link set eth0 mtu {mtu}")
    load.mark()
    parameters = {"port": port, "rate": rate, "mtu": mtu, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _below_the_network(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Uploads fail, short requests pass: the host's MTU is below what its route lets the others send."""
    port, rate, mtu = rng.randrange(7000, 9900), rng.randrange(40, 90), rng.randrange(900, 1350)
    server = environment.serve("service.py", port, "--name", "uploads", *WORKERS)
    _no_offload(environment)
    environment.host_net.sh("ip route change 10.80.0.0/24 dev eth0 src 10.80.0.1 advmss 1460")
    to = ("--to", f"{environment.host_address}:{port}", "--timeout-s", 2.0)
    environment.load(*to, "--rate", rate / 2, "--poisson")
    load = environment.load(*to, "--rate", rate, "--body-bytes", rng.randrange(4000, 20_000))
    healthy = load.baseline()
    # Taking the address off and on again is not needed: the route stays, with its promise of 1460 bytes.
    environment.host_net.sh(f"ip link set eth0 mtu {mtu}")
    load.mark()
    parameters = {"port": port, "rate": rate, "mtu": mtu, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _tunnel(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """An MTU below 1500 on both ends, as behind a tunnel: rare, agreed upon, harmless."""
    port, rate, mtu = rng.randrange(7000, 9900), rng.randrange(60, 150), rng.choice((1280, 1380, 1420, 1450))
    server = environment.serve("service.py", port, *WORKERS, "--answer-bytes", 8000)
    _no_offload(environment)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--body-bytes", 6000
    )
    healthy = load.baseline()
    environment.client_net.sh(f"ip link set eth0 mtu {mtu}")
    environment.host_net.sh(f"ip link set eth0 mtu {mtu}")
    load.mark()
    parameters = {"port": port, "rate": rate, "mtu": mtu, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


def _no_offload(environment: LabEnvironment) -> None:
    """veth passes a whole burst of segments as one; only without that do packets have the size of a real wire."""
    for net in (environment.host_net, environment.client_net):
        net.sh("ethtool -K eth0 tso off gso off gro off")


SCENARIOS = (
    Scenario(
        "mtu-small", "fault", "mtu-small", ("mtu-too-small",),
        "eth0 has an MTU of about a hundred: whole requests are dropped on arrival.", _tiny, ("ethtool",),
    ),
    Scenario(
        "mtu-small-validation", "validation", "mtu-small", ("mtu-too-small",),
        "eth0 has an MTU of about a thousand in a network of 1500: uploads hang, short requests pass.",
        _below_the_network, ("ethtool",),
    ),
    Scenario(
        "mtu-small-decoy", "decoy", "mtu-small", (),
        "Both ends have the MTU of a tunnel, and nothing is lost.", _tunnel, ("ethtool",),
    ),
)  # fmt: skip
