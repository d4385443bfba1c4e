"""Packets that are dropped: the host's own rules, or a router on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.environment import LabEnvironment
from lab.load import Load
from lab.scenario import Live, Scenario


def _service(
    environment: LabEnvironment, port: int, rate: float, *, kept: int = 0, answer_bytes: int = 4000
) -> tuple[int, Load]:
    """A healthy service and its clients: the service's pid, the load."""
    server = environment.serve("service.py", port, "--workers", 48, "--answer-bytes", answer_bytes)
    how = ("--kept", kept) if kept else ("--poisson", "--seed", port)
    return server.pid, environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--timeout-s", 3.0, *how
    )


def _live(
    environment: LabEnvironment, rng: random.Random, pid: int, load: Load, **parameters: object
) -> Live:
    load.mark()
    return Live(environment.host, environment.scope(rng, pid), parameters, load.stats)


@contextmanager
def _random_rules(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Rules that drop at random, in and out, as a bad rollout of a firewall test did."""
    port, rate, share = rng.randrange(7000, 9900), rng.randrange(80, 160), rng.uniform(0.15, 0.35)
    pid, load = _service(environment, port, rate)
    healthy = load.baseline()
    drop = f"-m statistic --mode random --probability {share:.3f} -j DROP"
    environment.host_net.sh(f"iptables -A INPUT -i eth0 {drop}; iptables -A OUTPUT -o eth0 {drop}")
    live = _live(environment, rng, pid, load, port=port, rate=rate, dropped_share=share, healthy=healthy)
    live.mark = load.mark
    live.repair = partial(
        environment.host_net.sh, f"iptables -D INPUT -i eth0 {drop}; iptables -D OUTPUT -o eth0 {drop}"
    )
    yield live


@contextmanager
def _rate_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A packet rate limit of an earlier, quieter year."""
    port, rate = rng.randrange(7000, 9900), rng.randrange(100, 200)
    pid, load = _service(environment, port, rate)
    healthy = load.baseline()
    limit_pps = int(rate * rng.uniform(2.5, 3.5))  # a request takes about five packets in
    environment.host_net.sh(
        "nft add table inet edge; nft add chain inet edge in '{ type filter hook prerouting priority -150; }';"
        f"nft add rule inet edge in iifname eth0 limit rate over {limit_pps}/second burst 10 packets counter drop"
    )
    yield _live(environment, rng, pid, load, port=port, rate=rate, limit_pps=limit_pps, healthy=healthy)


@contextmanager
def _lossy_router(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The loss is on the way; nothing on the host drops anything, but it has to send again."""
    port, rate, share = rng.randrange(7000, 9900), rng.randrange(60, 120), rng.uniform(0.1, 0.25)
    router = environment.insert_router()
    pid, load = _service(environment, port, rate, answer_bytes=20_000)
    healthy = load.baseline()
    router.sh(f"iptables -A FORWARD -m statistic --mode random --probability {share:.3f} -j DROP")
    yield _live(environment, rng, pid, load, port=port, rate=rate, dropped_share=share, healthy=healthy)


@contextmanager
def _narrow_router(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A link on the way is too narrow and its buffer too short for the answers that pass it."""
    port, rate, stored = rng.randrange(7000, 9900), rng.randrange(50, 80), rng.randrange(20, 36)
    answer_bytes, mbit = rng.randrange(40_000, 70_000), rng.randrange(22, 30)
    router = environment.insert_router()
    pid, load = _service(environment, port, rate, kept=stored, answer_bytes=answer_bytes)
    healthy = load.baseline()
    router.sh(
        f"tc qdisc add dev eth1 root tbf rate {mbit}mbit burst 3000 limit {rng.randrange(6, 12) * 1500}"
    )
    yield _live(environment, rng, pid, load, port=port, rate=rate, kept=stored, mbit=mbit, healthy=healthy)


@contextmanager
def _ingress_rule(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The host itself drops, at the device's ingress hook, where no list of iptables shows it."""
    port, rate, percent = rng.randrange(7000, 9900), rng.randrange(60, 120), rng.randrange(25, 42)
    pid, load = _service(environment, port, rate, answer_bytes=20_000)
    healthy = load.baseline()
    environment.host_net.sh(
        "nft add table netdev shield;"
        "nft add chain netdev shield in '{ type filter hook ingress device eth0 priority 0; }';"
        f"nft add rule netdev shield in ip protocol tcp numgen random mod 100 '<' {percent} counter drop"
    )
    yield _live(environment, rng, pid, load, port=port, rate=rate, dropped_percent=percent, healthy=healthy)


SCENARIOS = (
    Scenario(
        "firewall-drop", "fault", "firewall-drop", ("firewall-drop",),
        "iptables drops packets of eth0 at random, in and out; the service is as it was.",
        _random_rules, ("iptables",),
    ),
    Scenario(
        "firewall-drop-validation", "validation", "firewall-drop", ("firewall-drop",),
        "An nftables packet rate limit is below what healthy traffic needs.", _rate_limit, ("nft",),
    ),
    Scenario(
        "firewall-drop-decoy", "decoy", "firewall-drop", ("packet-loss-upstream",),
        "Requests are lost and the host retransmits, but every counter and rule of its own is clean.",
        _lossy_router, ("iptables",),
    ),
    Scenario(
        "packet-loss-upstream", "fault", "packet-loss-upstream", ("packet-loss-upstream",),
        "A router between host and clients drops at random.", _lossy_router, ("iptables",),
    ),
    Scenario(
        "packet-loss-upstream-validation", "validation", "packet-loss-upstream", ("packet-loss-upstream",),
        "A narrow link with a short buffer behind the next hop loses bursts of large answers.",
        _narrow_router, ("tc",),
    ),
    Scenario(
        "packet-loss-upstream-decoy", "decoy", "packet-loss-upstream", ("firewall-drop",),
        "It looks like loss on the way, but the host's own ingress hook drops.", _ingress_rule, ("nft",),
    ),
)  # fmt: skip
