"""Further mechanisms of network faults: other programs, other protocols, other places than the first two."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.environment import LabEnvironment, build_python_command
from lab.load import Load, wait_for
from lab.scenario import Live, Scenario

SINK_PORT, BACKEND_PORT, UPSTREAM = 8125, 9000, 8088
CONNTRACK_MAX = "/proc/sys/net/netfilter/nf_conntrack_max"
CONNTRACK_COUNT = "cat /proc/sys/net/netfilter/nf_conntrack_count"


def _live(
    environment: LabEnvironment, rng: random.Random, pid: int, load: Load, count: Callable[[], float] | None = None,
    access_log: str = "", **parameters: object,
) -> Live:  # fmt: skip
    """`count` is a counter of the mechanism itself: what it has grown by since now is "counted" in the stats."""
    load.mark()
    before = count() if count else 0.0
    return Live(
        environment.host, environment.scope(rng, pid), parameters,
        lambda: load.stats() | ({"counted": count() - before} if count else {}), access_log,
    )  # fmt: skip


@contextmanager
def _microbursts(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Queue and rate stay as they were, and the rate is enough; an exporter sends as much as before, but in heaps."""
    port, rate, stored = rng.randrange(7000, 9900), rng.randrange(60, 100), rng.randrange(10, 20)
    mbit, limit_bytes = rng.randrange(30, 50), rng.randrange(60, 110) * 1000
    every_ms, spread_ms = rng.randrange(450, 700), rng.randrange(110, 190)
    burst = int(mbit * 1e6 / 8 * spread_ms / 1000 / 1442 * rng.uniform(1.6, 2.2))
    environment.host_net.sh(
        "tc qdisc add dev eth0 root handle 1: htb default 1;"
        f"tc class add dev eth0 parent 1: classid 1:1 htb rate {mbit}mbit burst 6k;"
        f"tc qdisc add dev eth0 parent 1:1 handle 10: bfifo limit {limit_bytes}"
    )
    environment.serve("datagram_sink.py", SINK_PORT, client_side=True)
    server = environment.serve(
        "service.py", port, "--workers", 48, "--answer-bytes", rng.randrange(3000, 9000)
    )
    load = environment.load("--to", f"{environment.host_address}:{port}", "--rate", rate, "--kept", stored)
    exporter = build_python_command(
        "shipper.py",
        "--to",
        f"{environment.client_address}:{SINK_PORT}",
        "--name",
        "exporter",
        "--reading-bytes",
        1400,
        "--burst",
        burst,
        "--every-ms",
        every_ms,
        "--spread-ms",
    )
    smooth = environment.on_host([*exporter, f"{every_ms * 0.95:.0f}"])
    healthy = load.baseline()
    smooth.kill()
    smooth.wait()
    environment.on_host([*exporter, str(spread_ms)])
    yield _live(
        environment,
        rng,
        server.pid,
        load,
        lambda: _number(environment.host_net.sh("tc -s qdisc show dev eth0"), r"dropped (\d+)"),
        port=port,
        rate=rate,
        mbit=mbit,
        limit_bytes=limit_bytes,
        burst=burst,
        every_ms=every_ms,
        spread_ms=spread_ms,
        healthy=healthy,
    )


@contextmanager
def _banned(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """An intrusion guard bans who connects too often: the one address behind which all clients are.

    Its rules have no counters; the set of banned addresses is empty again and again.
    """
    port, rate, ban_s = rng.randrange(7000, 9900), rng.randrange(80, 160), rng.randrange(1, 4)
    server = environment.serve(
        "service.py", port, "--workers", 48, "--answer-bytes", rng.randrange(500, 6000)
    )
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", port, "--timeout-s", 1.5
    )  # fmt: skip
    healthy = load.baseline()
    allowed = int(rate * rng.uniform(0.5, 0.8))
    environment.host_net.sh(
        "nft add table inet guard;"
        f"nft add set inet guard banned '{{ type ipv4_addr; flags dynamic,timeout; timeout {ban_s}s; }}';"
        "nft add chain inet guard in '{ type filter hook input priority -10; policy accept; }';"
        "nft add rule inet guard in iifname eth0 ip saddr @banned drop;"
        f"nft add rule inet guard in iifname eth0 tcp dport {port} 'tcp flags & (syn|ack) == syn' "
        f"limit rate over {allowed}/second burst {allowed} packets add @banned '{{ ip saddr }}' drop"
    )
    yield _live(
        environment,
        rng,
        server.pid,
        load,
        port=port,
        rate=rate,
        allowed=allowed,
        ban_s=ban_s,
        healthy=healthy,
    )


@contextmanager
def _policer(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The provider enforces a smaller contract: a policer, which never queues, on what comes from the host."""
    port, rate, answer_bytes = rng.randrange(7000, 9900), rng.randrange(50, 90), rng.randrange(15_000, 40_000)
    router = environment.insert_router()
    # On a real wire a burst is many packets, and a policer lets some of them pass.
    for net, device in (
        (environment.host_net, "eth0"),
        (router, "eth0"),
        (router, "eth1"),
        (environment.client_net, "eth0"),
    ):
        net.sh(f"ethtool -K {device} tso off gso off gro off")
    server = environment.serve("service.py", port, "--workers", 64, "--answer-bytes", answer_bytes)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", rate, "--timeout-s", 4.0
    )  # fmt: skip
    healthy = load.baseline()
    kbytes = int(rate * answer_bytes / 1000 * rng.uniform(0.7, 0.9))
    router.sh(
        "nft add table ip contract; nft add chain ip contract out '{ type filter hook forward priority 0; }';"
        f"nft add rule ip contract out iifname eth0 limit rate over {kbytes} kbytes/second "
        f"burst {rng.randrange(15, 30)} kbytes counter drop"
    )
    yield _live(
        environment, rng, server.pid, load, lambda: _number(router.sh("nft list table ip contract"), r"packets (\d+)"),
        port=port, rate=rate, answer_bytes=answer_bytes, kbytes_per_s=kbytes, healthy=healthy,
    )  # fmt: skip


@contextmanager
def _long_datagrams(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Datagrams have no segment size to agree upon: long requests never arrive, short ones are answered at once."""
    port, rate, mtu = rng.randrange(1600, 6900), rng.randrange(80, 200), rng.randrange(576, 1200)
    server = environment.serve("udp_directory.py", port)
    to = ("--to", f"{environment.host_address}:{port}", "--rate", rate, "--most", rng.randrange(1300, 1472))
    load = environment.load(*to, "--timeout-s", 1.0, "--seed", mtu, program="udp_directory.py")
    healthy = load.baseline()
    environment.host_net.sh(f"ip link set eth0 mtu {mtu}")
    dropped = Path("/sys/class/net/eth0/statistics/rx_dropped")
    yield _live(
        environment, rng, server.pid, load, lambda: float(environment.host_sh(f"cat {dropped}")),
        port=port, rate=rate, mtu=mtu, healthy=healthy,
    )  # fmt: skip


@contextmanager
def _backend_on_loopback(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """What overflows is not what clients connect to, but the backend that it asks over loopback."""
    port, backlog, refuse = rng.randrange(7000, 8900), rng.randrange(2, 7), rng.randrange(2)
    burst, rate, wait_ms = rng.randrange(30, 56), rng.randrange(150, 240), rng.uniform(2.0, 4.0)
    environment.host_sh(f"sysctl -qw net.ipv4.tcp_abort_on_overflow={refuse}")
    backend = build_python_command(
        "service.py", "--listen", f"127.0.0.1:{BACKEND_PORT}", "--name", "pricing", "--workers", 2,
        "--wait-ms", wait_ms, "--idle-s", 0.5, "--backlog",
    )  # fmt: skip
    first = environment.on_host([*backend, "1024"])
    _await_listener(environment, BACKEND_PORT)
    log = "/run/front/access.log"
    front = ("--name", "front", "--workers", 96, "--backlog", 2048, "--access-log", log)
    server = environment.serve("service.py", port, *front, "--upstream", f"127.0.0.1:{BACKEND_PORT}")
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--burst", burst, "--timeout-s", 2.5
    )
    healthy = load.baseline()
    first.kill()
    first.wait()
    environment.on_host([*backend, str(backlog)])
    _await_listener(environment, BACKEND_PORT)
    yield _live(
        environment,
        rng,
        server.pid,
        load,
        lambda: _overflows(environment),
        log,
        port=port,
        backlog=backlog,
        burst=burst,
        rate=rate,
        wait_ms=wait_ms,
        tcp_abort_on_overflow=refuse,
        healthy=healthy,
    )


@contextmanager
def _bound_first(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The range was always narrow; a release names its own address first, and bind() may not take TIME_WAIT over."""
    port, rate, ports = rng.randrange(7000, 9900), rng.randrange(150, 260), rng.randrange(450, 900)
    environment.serve("evented.py", UPSTREAM, "--name", "payments", "--backlog", 4096, client_side=True)
    low, log = rng.randrange(20000, 50000), "/run/gateway/access.log"
    environment.host_sh(
        f"sysctl -qw net.ipv4.tcp_tw_reuse=1 net.ipv4.ip_local_port_range='{low} {low + ports - 1}'"
    )
    upstream = f"{environment.client_address}:{UPSTREAM}"
    options = ("--name", "gateway", "--workers", 32, "--access-log", log, "--upstream", upstream)
    server = environment.serve("service.py", port, *options)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", ports
    )
    healthy = load.baseline(5.0)
    server = environment.replace(server, "service.py", port, *options, "--source", environment.host_address)
    time.sleep(ports / rate)  # until every port has been used
    yield _live(
        environment, rng, server.pid, load, access_log=log, port=port, rate=rate, range=(low, low + ports - 1),
        healthy=healthy,
    )  # fmt: skip


@contextmanager
def _port_per_datagram(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The host fills its own table: a log shipper opens a socket for every line, and each port is an entry."""
    port, rate, most = rng.randrange(7000, 9900), rng.randrange(20, 40), rng.randrange(1500, 2500)
    lines_per_s = rng.randrange(300, 500)
    environment.track_connections()
    environment.serve("datagram_sink.py", SINK_PORT, "--name", "syslog", client_side=True)
    server = environment.serve("evented.py", port, "--name", "portal")
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", rate, "--poisson", "--seed", most, "--timeout-s", 2.0
    )  # fmt: skip
    command = build_python_command(
        "shipper.py", "--to", f"{environment.client_address}:{SINK_PORT}", "--name", "logship", "--burst", 10,
        "--every-ms", 10_000 / lines_per_s,
    )  # fmt: skip
    shipper = environment.on_host(command)
    environment.cleanup.set_global(CONNTRACK_MAX, str(most))
    healthy = load.baseline()
    shipper.kill()
    shipper.wait()
    environment.on_host([*command, "--fresh"])
    wait_for(lambda: int(environment.host_sh(CONNTRACK_COUNT)) >= most, "the table to fill")
    yield _live(
        environment, rng, server.pid, load, lambda: _no_room(environment), port=port, rate=rate, nf_conntrack_max=most,
        lines_per_s=lines_per_s, healthy=healthy,
    )  # fmt: skip


def _number(text: str, pattern: str) -> float:
    """The largest number that `pattern` finds."""
    return max((float(match) for match in re.findall(pattern, text)), default=0.0)


def _no_room(environment: LabEnvironment) -> float:
    """Packets dropped because the table of connections was full."""
    head, *cpus = environment.host_sh("cat /proc/net/stat/nf_conntrack").splitlines()
    column = head.split().index("drop")
    return float(sum(int(line.split()[column], 16) for line in cpus))


def _overflows(environment: LabEnvironment) -> float:
    return _number(environment.host_sh("nstat -asz TcpExtListenOverflows"), r"ListenOverflows\s+(\d+)")


def _await_listener(environment: LabEnvironment, port: int) -> None:
    wait_for(lambda: f":{port} " in environment.host_net.sh(f"ss -Hltn sport = :{port}"), f"port {port}")


SCENARIOS = (
    Scenario(
        "qdisc-drop-holdout", "holdout", "qdisc-drop", ("qdisc-drop",),
        "An exporter sends its readings in bursts that overflow the queue it has in common with the service.",
        _microbursts, ("tc",),
    ),
    Scenario(
        "firewall-drop-holdout", "holdout", "firewall-drop", ("firewall-drop",),
        "A guard bans the one address of all clients for seconds at a time, without counters.", _banned, ("nft",),
        seconds=8.0,
    ),
    Scenario(
        "packet-loss-upstream-holdout", "holdout", "packet-loss-upstream", ("packet-loss-upstream",),
        "A policer at the next hop drops what exceeds a contract that is too small for the answers.", _policer,
        ("nft", "ethtool"), seconds=8.0,
    ),
    Scenario(
        "mtu-small-holdout", "holdout", "mtu-small", ("mtu-too-small",),
        "Datagrams longer than the MTU of eth0 never arrive; short ones are answered at once.", _long_datagrams,
    ),
    Scenario(
        "listen-overflow-holdout", "holdout", "listen-overflow", ("listen-queue-overflow",),
        "Bursts overflow the short accept queue of a backend on loopback; the front answers late or with 502.",
        _backend_on_loopback,
    ),
    Scenario(
        "port-exhaustion-holdout", "holdout", "port-exhaustion", ("ephemeral-port-exhaustion",),
        "A gateway binds its own address before it connects, and finds every port in TIME_WAIT.", _bound_first,
        seconds=8.0,
    ),
    Scenario(
        "conntrack-full-holdout", "holdout", "conntrack-full", ("conntrack-table-full",),
        "A log shipper takes a new port for every datagram, and fills the table of the host's own firewall.",
        _port_per_datagram, ("iptables",), global_effect=("conntrack_max",),
    ),
)  # fmt: skip
