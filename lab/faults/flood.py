"""More packets than a CPU can receive, or many packets and a CPU that can."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.lab.load import Load
from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import MAX_S, Site

LOAD_PPS = 100


def _service(site: Site, port: int) -> tuple[int, Load]:
    server = site.serve("service.py", port, "--workers", 32)
    load = site.load("--to", f"{site.host_address}:{port}", "--rate", LOAD_PPS, "--poisson", "--seed", port)
    return server.pid, load


def _one_queue(site: Site, cpu: int) -> None:
    """One CPU receives for eth0, as with a card of one queue; veth alone would let the sender's CPU do it."""
    site.host_sh(f"echo {1 << cpu} >/sys/class/net/eth0/queues/rx-0/rps_cpus")


def _rule_list(site: Site, rules: int) -> None:
    """A list of banned addresses, which every packet passes. Without any, receiving costs less than sending."""
    lines = "".join(f"-A INPUT -s 203.0.{n // 250}.{n % 250} -j DROP\n" for n in range(rules))
    site.host_net.sh(f"printf '*filter\n{lines}COMMIT\n' | iptables-restore")


def _flood(site: Site, first_port: int, ports: int, size: int, pps: int, cpu: int) -> None:
    """Sends from `cpu`, which is not the receiver's, as the world's CPUs are not. Ends with the site at last."""
    binary = site.compile("datagrams.c")
    site.on_client(
        [
            "taskset",
            "-c",
            str(cpu),
            str(binary),
            *map(str, (site.host_address, first_port, ports, size, pps, MAX_S)),
        ]
    )


@contextmanager
def _one_receiver(site: Site, rng: random.Random) -> Iterator[Live]:
    """All packets of eth0 are steered to one CPU, and small ones come as fast as another CPU can send."""
    port, sink, size = rng.randrange(7000, 9900), rng.randrange(10_000, 20_000), rng.randrange(16, 90)
    pid, load = _service(site, port)
    receiver, rules = rng.randrange(2), rng.randrange(60, 120)
    _one_queue(site, receiver)
    _rule_list(site, rules)
    site.serve("datagram_sink.py", sink, "--pause-ms", 1)
    healthy = load.baseline()
    _flood(site, sink, 1, size, 0, 1 - receiver)
    load.mark()
    parameters = {"port": port, "sink": sink, "payload_bytes": size, "rules": rules, "healthy": healthy}
    yield Live(site.host, site.scope(rng, pid), parameters, load.stats)


@contextmanager
def _long_chain(site: Site, rng: random.Random) -> Iterator[Live]:
    """Datagrams nobody wants pass a list of hundreds of addresses before they are refused."""
    port, rules, size = rng.randrange(7000, 9900), rng.randrange(250, 600), rng.randrange(1, 200)
    pid, load = _service(site, port)
    receiver = rng.randrange(2)
    _one_queue(site, receiver)
    _rule_list(site, rules)
    healthy = load.baseline()
    first = rng.randrange(30_000, 60_000)
    _flood(site, first, 32, size, 0, 1 - receiver)
    load.mark()
    parameters = {
        "port": port,
        "rules": rules,
        "first_port": first,
        "payload_bytes": size,
        "healthy": healthy,
    }
    yield Live(site.host, site.scope(rng, pid), parameters, load.stats)


@contextmanager
def _taken_in(site: Site, rng: random.Random) -> Iterator[Live]:
    """Thousands of datagrams a second, every one of them received."""
    port, sink, pps = rng.randrange(7000, 9900), rng.randrange(10_000, 20_000), rng.randrange(6_000, 14_000)
    pid, load = _service(site, port)
    healthy = load.baseline()
    site.serve("datagram_sink.py", sink)
    _flood(site, sink, 1, rng.randrange(60, 400), pps, 0)
    load.mark()
    parameters = {"port": port, "sink": sink, "datagrams_per_s": pps, "healthy": healthy}
    yield Live(site.host, site.scope(rng, pid), parameters, load.stats)


SCENARIOS = (
    Scenario(
        "netrx-flood", "fault", "netrx-flood", ("netrx-softirq-saturation",),
        "Small UDP packets saturate the one CPU that receives for eth0.",
        _one_receiver, ("gcc", "iptables-restore", "taskset"), global_effect=("softirq", "cpu"),
    ),
    Scenario(
        "netrx-flood-blind", "blind", "netrx-flood", ("netrx-softirq-saturation",),
        "Unwanted datagrams to many ports each pass hundreds of firewall rules.",
        _long_chain, ("gcc", "iptables-restore", "taskset"), global_effect=("softirq", "cpu"),
    ),
    Scenario(
        "netrx-flood-lookalike", "lookalike", "netrx-flood", (),
        "Thousands of datagrams per second, all of them taken in.", _taken_in, ("gcc", "taskset"),
        global_effect=("softirq",),
    ),
)  # fmt: skip
