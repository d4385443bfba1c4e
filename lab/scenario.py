"""Contract of a scenario (a faulty or healthy host of the lab), for faults, the runner and the score."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from lab.environment import LabEnvironment
from lab.hosts import LabHost

Kind = Literal["fault", "validation", "holdout", "decoy", "healthy", "development"]

CAUSES = frozenset(
    {
        "memcg-oom-kill",
        "jvm-heap-over-limit",
        "qdisc-drop",
        "firewall-drop",
        "mtu-too-small",
        "netrx-softirq-saturation",
        "conntrack-table-full",
        "listen-queue-overflow",
        "worker-pool-exhausted",
        "ephemeral-port-exhaustion",
        "timewait-port-search",
        "thread-oversubscription",
        "cpu-quota-throttling",
        "cpu-neighbour-contention",
        "numa-remote-memory",
        "sync-write-amplification",
        "major-fault-thrashing",
        "slow-dependency",
        "lock-contention",
        "fd-leak-close-wait",
        "small-read-pattern",
        "duplicate-logging",
        "dstate-pileup",
        "cpu-hot-function",
        "database-hot-sql",
        "disk-saturation",
        "swap-thrashing",
        "packet-loss-upstream",
        "memory-leak",
        "kernel-thread-busy",
        "cpu-frequency-limited",
        "hypervisor-steal",
        "hardware-error",
        "nic-link-degraded",
        "failing-disk",
        "clock-unsynchronised",
        # Of real software (lab/real):
        "cpu-exhausted",
        "cpuset-too-small",
        "disk-full",
        "inodes-exhausted",
        "deleted-open-file",
        "file-descriptor-limit",
        "process-limit",
        "certificate-expired",
        "request-limit",
        "many-small-calls",
        "connection-limit",
        "database-connection-limit",
        "database-lock-wait",
        "idle-in-transaction",
        "checkpoint-storm",
        "missing-index",
        "blocked-event-loop",
        "gc-pauses",
        "slow-name-resolution",
        "failing-name-resolution",
        "io-throttled-by-cgroup",
        "hanging-file-system",
        "link-saturated",
        "syn-backlog-overflow",
        "neighbour-table-full",
        "slow-receiver",
        "memcg-page-cache-thrashing",
        "slab-growth",
        "fork-copy-on-write",
        "log-flood",
        "tracer-attached",
        "crash-loop",
        "scheduled-job",
        "recent-change",
        "connection-churn",
        "connections-refused",
        "tls-handshakes",
        "worker-leak",
        "vacuum-blocked",
        "transaction-id-wraparound",
        "replication-lag",
        "synchronous-replica-wait",
        "connection-pool-exhausted",
        "persistence-stall",
        "cache-memory-limit",
        "heap-almost-full",
        # Of the kernel, its limits, and what was left on:
        "journal-stall",
        "dirty-limit-reached",
        "memory-high-throttling",
        "memcg-oom-disabled",
        "direct-reclaim-stall",
        "output-pipe-full",
        "log-receiver-blocked",
        "file-lock-held",
        "fanotify-permission-wait",
        "audit-backlog",
        "entropy-missing",
        "block-device-suspended",
        "process-stopped",
        "cgroup-frozen",
        "filesystem-frozen",
        "firewall-rules-many",
        "kernel-tracing-on",
        "filesystem-read-only",
        "array-rebuild",
        "block-session-lost",
        "volume-rate-limit",
        "page-tables-large",
        "memory-file-system-large",
        "huge-pages-unused",
        "memory-fragmented",
        "transparent-huge-pages",
        "swap-despite-free-memory",
        "socket-memory-limit",
        "time-wait-table-full",
        "nic-ring-drops",
        "irq-imbalance",
        "single-queue-nic",
        "real-time-task",
        "cpus-unavailable",
        "slow-clock-source",
    }
)


@dataclass(slots=True)
class Live:
    """A scenario that is running, with its fault in place.

    scope: what an engineer would name: {} for the whole host, {"cgroup": "/lab/x/app"} or {"pid": "..."}.
    parameters: what was chosen at random; "healthy" holds the clients' stats from before the fault.
    stats: what clients saw since the fault: requests, ok, errors, timeouts, p50_ms, p99_ms, and more by name.
    access_log: a log of the application, lines of `epoch_s method path status latency_ms`; "" without one.
    repair: removes the fault while the load goes on, as the right fix would; None without a repair.
    inject: puts the fault in place again after a repair; None where that is not possible.
    mark: stats count from here on; there where a repair is.
    """

    host: LabHost
    scope: dict[str, str]
    parameters: dict[str, object]
    stats: Callable[[], dict[str, float]]
    access_log: str = ""
    repair: Callable[[], None] | None = None
    mark: Callable[[], None] = lambda: None
    inject: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A fault, or a kind of healthy host.

    family: the fault it belongs to; "healthy" for the healthy ones.
    causes: the true causes, words of CAUSES; () on healthy ones. Naming one of them first is right.
    software: the real software at fault, such as ("nginx", "php-fpm"); () for programs of the lab.
    summary: one sentence: what is wrong and what is normal.
    needs: programs it cannot do without; where one is missing the scenario is skipped with the reason.
    seconds: how long the fault must have lasted before it shows.
    global_effect: what it does to the whole machine, or to the memory of the group in which all applications of a
        environment run (`app-memory`); never two scenarios with one effect at a time.
    own_host: it starts a host of its own and does not change the environment, so that no other fault can be added.
    """

    id: str
    kind: Kind
    family: str
    causes: tuple[str, ...]
    summary: str
    run: Callable[[LabEnvironment, random.Random], AbstractContextManager[Live]]
    needs: tuple[str, ...] = ()
    seconds: float = 5.0
    global_effect: tuple[str, ...] = ()
    own_host: bool = False
    software: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.causes) - CAUSES
        if unknown:
            raise ValueError(f"{self.id}: unknown causes {sorted(unknown)}")
