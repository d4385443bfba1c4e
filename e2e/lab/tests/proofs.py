"""What shows that a scenario is what it says, where requests alone do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Stats = Mapping[str, float]


def _failed(stats: Stats) -> float:
    """The share of requests without a good answer."""
    return 1 - stats["ok"] / stats["requests"] if stats["requests"] else 1.0


# Scenarios whose clients cannot see the illness (yet), or that suffer from something that is none of the causes.
PROOFS: dict[str, Callable[[Stats], bool]] = {
    # Requests of the lab outweigh the kernel's workers: they get slower, but not always by much.
    "kernel-thread-blind": lambda sick: sick["kernel_cpu_s"] > 3,
    "memory-leak": lambda sick: sick["grown_mb"] > 20,
    "memory-leak-blind": lambda sick: sick["grown_mb"] > 20,
    "memory-leak-lookalike": lambda sick: sick["grown_mb"] < 5,
    "duplicate-logging": lambda sick: sick["bytes.console.log"] > 10_000,
    "duplicate-logging-blind": lambda sick: sick["bytes.access.log.0"] == sick["bytes.access.log.1"] > 1000,
    "numa-remote": lambda sick: sick["counted_per_s"] > 1000,
    "numa-remote-blind": lambda sick: sick["counted_per_s"] > 200,
    "swap-thrash-lookalike": lambda sick: sick["counted_per_s"] < 20,
    "hardware-error-blind": lambda sick: sick["logged"] > 3,
    "clock-off": lambda sick: sick["off_ms"] > 10_000,
    "clock-off-blind": lambda sick: sick["off_ms"] > 50,
    "clock-off-lookalike": lambda sick: sick["off_ms"] < 10,
    "memcg-oom-lookalike": lambda sick: sick["killed"] > 1,
    # Faults whose mechanism has a counter of its own: it must have moved, and clients must have noticed.
    "qdisc-drop-unseen": lambda sick: sick["counted"] > 100 and sick["p99_ms"] > 150,
    "firewall-drop-unseen": lambda sick: _failed(sick) > 0.1,
    "packet-loss-upstream-unseen": lambda sick: sick["counted"] > 100 and sick["p99_ms"] > 400,
    "mtu-small-unseen": lambda sick: sick["counted"] > 50 and _failed(sick) > 0.1,
    "listen-overflow-unseen": lambda sick: (
        sick["counted"] > 20 and (_failed(sick) > 0.02 or sick["p99_ms"] > 900)
    ),
    "port-exhaustion-unseen": lambda sick: sick["error.http_502"] > 50,
    "conntrack-full-unseen": lambda sick: sick["counted"] > 50 and _failed(sick) > 0.3,
    "memcg-oom-unseen": lambda sick: sick["killed"] > 0 and _failed(sick) > 0.1,
    "major-faults-unseen": lambda sick: (
        sick["counted"] > 100 and (sick["p50_ms"] > 20 or _failed(sick) > 0.2)
    ),
    "memory-leak-unseen": lambda sick: sick["counted"] > 15,
    "osync-log-unseen": lambda sick: sick["p50_ms"] > 10 or _failed(sick) > 0.1,
    "disk-saturation-unseen": lambda sick: sick["counted"] > 300 and sick["p99_ms"] > 60,
    "dstate-unseen": lambda sick: sick["blocked_tasks"] > 10 and _failed(sick) > 0.5,
    "small-reads-unseen": lambda sick: sick["counted"] > 100_000 and sick["p50_ms"] > 7,
    "slow-dependency-unseen": lambda sick: sick["p99_ms"] > 900,
}
