"""What shows that a scenario is what it says, where requests alone do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Stats = Mapping[str, float]

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
}
