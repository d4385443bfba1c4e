"""The queue of eth0 is shorter than what the host sends at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.environment import LabEnvironment
from lab.load import Load
from lab.scenario import Live, Scenario

AMPLE_BYTES = 2_000_000


def _service(
    environment: LabEnvironment, port: int, rng: random.Random, *load_options: object
) -> tuple[int, Load, dict[str, object]]:
    """A service with large answers: pid, load, what was chosen. Without options, connections are kept."""
    rate, stored, answer_bytes = rng.randrange(40, 70), rng.randrange(12, 25), rng.randrange(30_000, 60_000)
    server = environment.serve("service.py", port, "--workers", 48, "--answer-bytes", answer_bytes)
    load_options = load_options or ("--kept", stored)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, *load_options, "--timeout-s", 3.0
    )
    return server.pid, load, {"port": port, "rate": rate, "kept": stored, "answer_bytes": answer_bytes}


@contextmanager
def _token_bucket(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the limit of the queue. The rate is the same before and after, and is enough."""
    pid, load, chosen = _service(environment, rng.randrange(7000, 9900), rng)
    mbit, limit_bytes = rng.randrange(35, 50), rng.randrange(4, 9) * 1514
    tbf = f"dev eth0 root handle 1: tbf rate {mbit}mbit burst 5000 limit"
    environment.host_net.sh(f"tc qdisc add {tbf} {AMPLE_BYTES}")
    healthy = load.baseline()
    environment.host_net.sh(f"tc qdisc replace {tbf} {limit_bytes}")
    load.mark()
    chosen |= {"mbit": mbit, "limit_bytes": limit_bytes, "healthy": healthy}
    repair = partial(environment.host_net.sh, f"tc qdisc replace {tbf} {AMPLE_BYTES}")
    yield Live(
        environment.host, environment.scope(rng, pid), chosen, load.stats, repair=repair, mark=load.mark
    )


@contextmanager
def _short_class(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Traffic classes: the service's own has room for a handful of packets.

    TCP keeps two packets of a connection in a queue at most: only answers that are due together fill it.
    """
    burst = rng.randrange(5, 9)
    pid, load, chosen = _service(environment, rng.randrange(7000, 9900), rng, "--burst", burst)
    healthy = load.baseline()
    mbit, packets = rng.randrange(25, 40), rng.randrange(2, 6)
    environment.host_net.sh(
        "tc qdisc add dev eth0 root handle 1: htb default 20;"
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 500mbit;"
        f"tc class add dev eth0 parent 1: classid 1:20 htb rate {mbit}mbit burst 3k;"
        f"tc qdisc add dev eth0 parent 1:20 handle 20: pfifo limit {packets}"
    )
    load.mark()
    chosen |= {"mbit": mbit, "limit_packets": packets, "burst": burst, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, pid), chosen, load.stats)


@contextmanager
def _shaped_router(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The queue that drops is one hop away; the host's own has room."""
    router = environment.insert_router()
    pid, load, chosen = _service(environment, rng.randrange(7000, 9900), rng)
    environment.host_net.sh(f"tc qdisc add dev eth0 root tbf rate 400mbit burst 50000 limit {AMPLE_BYTES}")
    healthy = load.baseline()
    mbit, limit_bytes = rng.randrange(30, 45), rng.randrange(4, 9) * 1514
    router.sh(f"tc qdisc add dev eth1 root tbf rate {mbit}mbit burst 5000 limit {limit_bytes}")
    load.mark()
    chosen |= {"mbit": mbit, "limit_bytes": limit_bytes, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, pid), chosen, load.stats)


SCENARIOS = (
    Scenario(
        "qdisc-drop", "fault", "qdisc-drop", ("qdisc-drop",),
        "A token bucket with a queue of a few packets drops bursts of answers; its rate is enough.",
        _token_bucket, ("tc",),
    ),
    Scenario(
        "qdisc-drop-validation", "validation", "qdisc-drop", ("qdisc-drop",),
        "The service's traffic class has a queue of a handful of packets.", _short_class, ("tc",),
    ),
    Scenario(
        "qdisc-drop-decoy", "decoy", "qdisc-drop", ("packet-loss-upstream",),
        "A host with shaping retransmits, but the queue that drops is the next router's.", _shaped_router, ("tc",),
    ),
)  # fmt: skip
