"""The connection table of a stateful firewall is full, or only looks like it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.lab.load import wait_for
from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site

TABLE = "/proc/sys/net/netfilter/nf_conntrack_max"
COUNT = "cat /proc/sys/net/netfilter/nf_conntrack_count"


@contextmanager
def _short_connections(site: Site, rng: random.Random) -> Iterator[Live]:
    """A rush of short connections: each stays in the table for two minutes after its end."""
    port, rate, most = rng.randrange(7000, 9900), rng.randrange(120, 260), rng.randrange(150, 320)
    site.track_connections()
    server = site.serve("service.py", port, "--workers", 24)
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", rate, "--timeout-s", 2.0)
    healthy = load.baseline()
    site.janitor.set_global(TABLE, str(most))
    load.mark()
    parameters = {"port": port, "rate": rate, "nf_conntrack_max": most, "healthy": healthy}
    yield Live(site.host, site.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _idle_connections(site: Site, rng: random.Random) -> Iterator[Live]:
    """Somebody's connections that never say anything fill the table, under nftables."""
    port, held, rate = rng.randrange(7000, 9900), rng.randrange(400, 900), rng.randrange(30, 80)
    site.host_net.sh(
        "nft add table inet guard; nft add chain inet guard in '{ type filter hook input priority 0; }';"
        "nft add chain inet guard early '{ type filter hook prerouting priority -300; }';"
        "nft add chain inet guard late '{ type filter hook output priority -300; }';"
        "nft add rule inet guard early iifname mgmt0 notrack;"
        "nft add rule inet guard late oifname mgmt0 notrack;"
        "nft add rule inet guard in ct state established,related,new counter accept"
    )
    server = site.serve("evented.py", port, "--name", "chat")
    to = ("--to", f"{site.host_address}:{port}")
    load = site.load(*to, "--rate", rate, "--poisson", "--timeout-s", 1.5, "--seed", held)
    healthy = load.baseline()
    idle = site.load(*to, "--hold", held)
    wait_for(lambda: idle.stats()["requests"] >= held, "idle connections")
    most = int(site.host_sh(COUNT)) + rng.randrange(10, 60)
    site.janitor.set_global(TABLE, str(most))
    load.mark()
    parameters = {"port": port, "held": held, "rate": rate, "nf_conntrack_max": most, "healthy": healthy}
    yield Live(site.host, site.scope(rng, server.pid), parameters, load.stats)


@contextmanager
def _dropped_syns(site: Site, rng: random.Random) -> Iterator[Live]:
    """The table has room; a rule of the same firewall drops new connections."""
    port, rate, share = rng.randrange(7000, 9900), rng.randrange(100, 220), rng.uniform(0.3, 0.6)
    site.track_connections()
    server = site.serve("service.py", port, "--workers", 24)
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", rate, "--timeout-s", 2.0)
    healthy = load.baseline()
    site.host_net.sh(
        f"iptables -I INPUT -p tcp --syn --dport {port} -m statistic --mode random --probability {share:.2f} -j DROP"
    )
    load.mark()
    parameters = {"port": port, "rate": rate, "dropped_share": share, "healthy": healthy}
    yield Live(site.host, site.scope(rng, server.pid), parameters, load.stats)


SCENARIOS = (
    Scenario(
        "conntrack-full", "fault", "conntrack-full", ("conntrack-table-full",),
        "Short connections leave more entries in the table than it may hold; the service itself is idle.",
        _short_connections, ("iptables",), global_effect=("conntrack_max",),
    ),
    Scenario(
        "conntrack-full-blind", "blind", "conntrack-full", ("conntrack-table-full",),
        "Idle connections fill the table under an nftables firewall, and new ones find no room.",
        _idle_connections, ("nft",), global_effect=("conntrack_max",),
    ),
    Scenario(
        "conntrack-full-lookalike", "lookalike", "conntrack-full", ("firewall-drop",),
        "New connections time out beside a busy connection table, which has room: a rule drops them.",
        _dropped_syns, ("iptables",),
    ),
)  # fmt: skip
