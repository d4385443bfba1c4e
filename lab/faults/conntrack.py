"""The connection table of a stateful firewall is full, or only looks like it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.scenario import Live, Scenario

TABLE = "/proc/sys/net/netfilter/nf_conntrack_max"
COUNT = "cat /proc/sys/net/netfilter/nf_conntrack_count"


@contextmanager
def _short_connections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A rush of short connections: each stays in the table for two minutes after its end."""
    port, rate, most = rng.randrange(7000, 9900), rng.randrange(120, 260), rng.randrange(150, 320)
    environment.track_connections()
    server = environment.serve("service.py", port, "--workers", 24)
    load = environment.load("--to", f"{environment.host_address}:{port}", "--rate", rate, "--timeout-s", 2.0)
    healthy = load.baseline()
    environment.cleanup.set_global(TABLE, str(most))
    load.mark()
    parameters = {"port": port, "rate": rate, "nf_conntrack_max": most, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _idle_connections(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Silent connections of another client fill the table, under nftables."""
    port, held, rate = rng.randrange(7000, 9900), rng.randrange(400, 900), rng.randrange(30, 80)
    environment.host_net.sh(
        "nft add table inet guard; nft add chain inet guard in '{ type filter hook input priority 0; }';"
        "nft add chain inet guard early '{ type filter hook prerouting priority -300; }';"
        "nft add chain inet guard late '{ type filter hook output priority -300; }';"
        "nft add rule inet guard early iifname mgmt0 notrack;"
        "nft add rule inet guard late oifname mgmt0 notrack;"
        "nft add rule inet guard in ct state established,related,new counter accept"
    )
    server = environment.serve("evented.py", port, "--name", "chat")
    to = ("--to", f"{environment.host_address}:{port}")
    load = environment.load(*to, "--rate", rate, "--poisson", "--timeout-s", 1.5, "--seed", held)
    healthy = load.baseline()
    idle = environment.load(*to, "--hold", held)
    wait_for(lambda: idle.stats()["requests"] >= held, "idle connections")
    most = int(environment.host_sh(COUNT)) + rng.randrange(10, 60)
    environment.cleanup.set_global(TABLE, str(most))
    load.mark()
    parameters = {"port": port, "held": held, "rate": rate, "nf_conntrack_max": most, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _dropped_syns(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The table has room; a rule of the same firewall drops new connections."""
    port, rate, share = rng.randrange(7000, 9900), rng.randrange(100, 220), rng.uniform(0.3, 0.6)
    environment.track_connections()
    server = environment.serve("service.py", port, "--workers", 24)
    load = environment.load("--to", f"{environment.host_address}:{port}", "--rate", rate, "--timeout-s", 2.0)
    healthy = load.baseline()
    environment.host_net.sh(
        f"iptables -I INPUT -p tcp --syn --dport {port} -m statistic --mode random --probability {share:.2f} -j DROP"
    )
    load.mark()
    parameters = {"port": port, "rate": rate, "dropped_share": share, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, server.pid), parameters, load.stats)


SCENARIOS = (
    Scenario(
        "conntrack-full", "fault", "conntrack-full", ("conntrack-table-full",),
        "Short connections leave more entries in the table than it may hold; the service itself is idle.",
        _short_connections, ("iptables",), global_effect=("conntrack_max",),
    ),
    Scenario(
        "conntrack-full-validation", "validation", "conntrack-full", ("conntrack-table-full",),
        "Idle connections fill the table under an nftables firewall, and new ones find no room.",
        _idle_connections, ("nft",), global_effect=("conntrack_max",),
    ),
    Scenario(
        "conntrack-full-decoy", "decoy", "conntrack-full", ("firewall-drop",),
        "New connections time out while the busy connection table has room: a rule drops them.",
        _dropped_syns, ("iptables",),
    ),
)  # fmt: skip
