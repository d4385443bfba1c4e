"""Proofs that a scenario has its fault, where requests alone do not show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Stats = Mapping[str, float]


def _failed(stats: Stats) -> float:
    """The share of requests without a good answer."""
    return 1 - stats["ok"] / stats["requests"] if stats["requests"] else 1.0


# Scenarios whose clients cannot notice the fault (yet), or that suffer from something that is none of the causes.
PROOFS: dict[str, Callable[[Stats], bool]] = {
    # Requests of the lab outweigh the kernel's workers: they get slower, but not always by much.
    "kernel-thread-validation": lambda unhealthy: unhealthy["kernel_cpu_s"] > 3,
    "memory-leak": lambda unhealthy: unhealthy["grown_mb"] > 20,
    "memory-leak-validation": lambda unhealthy: unhealthy["grown_mb"] > 20,
    "memory-leak-decoy": lambda unhealthy: unhealthy["grown_mb"] < 5,
    "duplicate-logging": lambda unhealthy: unhealthy["bytes.console.log"] > 10_000,
    "duplicate-logging-validation": lambda unhealthy: (
        unhealthy["bytes.access.log.0"] == unhealthy["bytes.access.log.1"] > 1000
    ),
    "numa-remote": lambda unhealthy: unhealthy["counted_per_s"] > 1000,
    "numa-remote-validation": lambda unhealthy: unhealthy["counted_per_s"] > 200,
    "swap-thrash-decoy": lambda unhealthy: unhealthy["counted_per_s"] < 20,
    "hardware-error-validation": lambda unhealthy: unhealthy["logged"] > 3,
    "clock-off": lambda unhealthy: unhealthy["off_ms"] > 10_000,
    "clock-off-validation": lambda unhealthy: unhealthy["off_ms"] > 50,
    "clock-off-decoy": lambda unhealthy: unhealthy["off_ms"] < 10,
    "memcg-oom-decoy": lambda unhealthy: unhealthy["killed"] > 1,
    # Faults whose mechanism has a counter of its own: it must have moved, and clients must have noticed.
    "qdisc-drop-holdout": lambda unhealthy: unhealthy["counted"] > 100 and unhealthy["p99_ms"] > 150,
    "firewall-drop-holdout": lambda unhealthy: _failed(unhealthy) > 0.1,
    "packet-loss-upstream-holdout": lambda unhealthy: (
        unhealthy["counted"] > 100 and unhealthy["p99_ms"] > 400
    ),
    "mtu-small-holdout": lambda unhealthy: unhealthy["counted"] > 50 and _failed(unhealthy) > 0.1,
    "listen-overflow-holdout": lambda unhealthy: (
        unhealthy["counted"] > 20 and (_failed(unhealthy) > 0.02 or unhealthy["p99_ms"] > 900)
    ),
    "port-exhaustion-holdout": lambda unhealthy: unhealthy["error.http_502"] > 50,
    "conntrack-full-holdout": lambda unhealthy: unhealthy["counted"] > 50 and _failed(unhealthy) > 0.3,
    "memcg-oom-holdout": lambda unhealthy: unhealthy["killed"] > 0 and _failed(unhealthy) > 0.1,
    "major-faults-holdout": lambda unhealthy: (
        unhealthy["counted"] > 100 and (unhealthy["p50_ms"] > 20 or _failed(unhealthy) > 0.2)
    ),
    "memory-leak-holdout": lambda unhealthy: unhealthy["counted"] > 15,
    "osync-log-holdout": lambda unhealthy: unhealthy["p50_ms"] > 10 or _failed(unhealthy) > 0.1,
    "disk-saturation-holdout": lambda unhealthy: unhealthy["counted"] > 300 and unhealthy["p99_ms"] > 60,
    "dstate-holdout": lambda unhealthy: unhealthy["blocked_tasks"] > 10 and _failed(unhealthy) > 0.5,
    "small-reads-holdout": lambda unhealthy: unhealthy["counted"] > 100_000 and unhealthy["p50_ms"] > 7,
    "slow-dependency-holdout": lambda unhealthy: unhealthy["p99_ms"] > 900,
}
