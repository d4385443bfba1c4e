"""More packets than a CPU can receive, or many packets and a CPU that can."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import MAX_S, LabEnvironment
from lab.load import Load
from lab.scenario import Live, Scenario

LOAD_PPS = 100


def _service(environment: LabEnvironment, port: int) -> tuple[int, Load]:
    server = environment.serve("service.py", port, "--workers", 32)
    load = environment.load(
        "--to", f"{environment.host_address}:{port}", "--rate", LOAD_PPS, "--poisson", "--seed", port
    )
    return server.pid, load


def _use_single_queue(environment: LabEnvironment, cpu: int) -> None:
    """One CPU receives for eth0, as with a card of one queue; veth alone would let the sender's CPU do it."""
    environment.host_sh(f"echo {1 << cpu} >/sys/class/net/eth0/queues/rx-0/rps_cpus")


def _rule_list(environment: LabEnvironment, rules: int) -> None:
    """A list of banned addresses, which every packet passes. Without any, receiving costs less than sending."""
    lines = "".join(f"-A INPUT -s 203.0.{n // 250}.{n % 250} -j DROP\n" for n in range(rules))
    environment.host_net.sh(f"printf '*filter\n{lines}COMMIT\n' | iptables-restore")


def _flood(environment: LabEnvironment, first_port: int, ports: int, size: int, pps: int, cpu: int) -> None:
    """Sends from `cpu`, which is not the receiver's, as the world's CPUs are not. Ends with the environment at last."""
    binary = environment.compile("datagrams.c")
    environment.on_client(
        [
            "taskset",
            "-c",
            str(cpu),
            str(binary),
            *map(str, (environment.host_address, first_port, ports, size, pps, MAX_S)),
        ]
    )


@contextmanager
def _run_single_receiver(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """All packets of eth0 are steered to one CPU, and small ones come as fast as another CPU can send."""
    port, sink, size = rng.randrange(7000, 9900), rng.randrange(10_000, 20_000), rng.randrange(16, 90)
    pid, load = _service(environment, port)
    receiver, rules = rng.randrange(2), rng.randrange(60, 120)
    _use_single_queue(environment, receiver)
    _rule_list(environment, rules)
    environment.serve("datagram_sink.py", sink, "--pause-ms", 1)
    healthy = load.baseline()
    _flood(environment, sink, 1, size, 0, 1 - receiver)
    load.mark()
    parameters = {"port": port, "sink": sink, "payload_bytes": size, "rules": rules, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, pid), parameters, load.stats)


@contextmanager
def _long_chain(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Unwanted datagrams pass a list of hundreds of addresses before they are refused."""
    port, rules, size = rng.randrange(7000, 9900), rng.randrange(250, 600), rng.randrange(1, 200)
    pid, load = _service(environment, port)
    receiver = rng.randrange(2)
    _use_single_queue(environment, receiver)
    _rule_list(environment, rules)
    healthy = load.baseline()
    first = rng.randrange(30_000, 60_000)
    _flood(environment, first, 32, size, 0, 1 - receiver)
    load.mark()
    parameters = {
        "port": port,
        "rules": rules,
        "first_port": first,
        "payload_bytes": size,
        "healthy": healthy,
    }
    yield Live(environment.host, environment.scope(rng, pid), parameters, load.stats)


@contextmanager
def _taken_in(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Thousands of datagrams a second, every one of them received."""
    port, sink, pps = rng.randrange(7000, 9900), rng.randrange(10_000, 20_000), rng.randrange(6_000, 14_000)
    pid, load = _service(environment, port)
    healthy = load.baseline()
    environment.serve("datagram_sink.py", sink)
    _flood(environment, sink, 1, rng.randrange(60, 400), pps, 0)
    load.mark()
    parameters = {"port": port, "sink": sink, "datagrams_per_s": pps, "healthy": healthy}
    yield Live(environment.host, environment.scope(rng, pid), parameters, load.stats)


SCENARIOS = (
    Scenario(
        "netrx-flood", "fault", "netrx-flood", ("netrx-softirq-saturation",),
        "Small UDP packets saturate the one CPU that receives for eth0.",
        _run_single_receiver, ("gcc", "iptables-restore", "taskset"), global_effect=("softirq", "cpu"),
    ),
    Scenario(
        "netrx-flood-validation", "validation", "netrx-flood", ("netrx-softirq-saturation",),
        "Unwanted datagrams to many ports each pass hundreds of firewall rules.",
        _long_chain, ("gcc", "iptables-restore", "taskset"), global_effect=("softirq", "cpu"),
    ),
    Scenario(
        "netrx-flood-decoy", "decoy", "netrx-flood", (),
        "Thousands of datagrams per second, all of them taken in.", _taken_in, ("gcc", "taskset"),
        global_effect=("softirq",),
    ),
)  # fmt: skip
