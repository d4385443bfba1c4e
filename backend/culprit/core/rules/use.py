"""Where each rule belongs in Gregg's USE method: which resource, and utilisation, saturation or errors.

Utilisation is how much of a thing is used, and by what; saturation is work that waits for it or is turned away
because it is full; errors are what it did wrong. https://www.brendangregg.com/usemethod.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Resource = Literal["cpu", "memory", "disk", "network", "application", "kernel"]
Letter = Literal["utilisation", "saturation", "errors"]

#: In the order of the grid. `kernel` is the kernel and the hardware under it.
RESOURCES: tuple[Resource, ...] = ("cpu", "memory", "disk", "network", "application", "kernel")
LETTERS: tuple[Letter, ...] = ("utilisation", "saturation", "errors")


@dataclass(frozen=True, slots=True)
class Place:
    """One column of the grid."""

    resource: Resource
    letter: Letter


_CPU: Mapping[Letter, str] = {
    "utilisation": """
        F-CPU-BUSY F-CPU-ONE-CORE F-FLAME-DIFF F-FLAME-HOT-FUNCTION F-HOST-OUTLIER F-PROC-SERVING-BUSY
        F-SOFTIRQ-HANDLER F-SOFTIRQ-HIGH F-SOFTIRQ-VECTOR F-THREAD-HOT F-THREAD-RUNTIME F-THREADS-SPREAD""",
    "saturation": """
        F-CPU-STEAL F-CPU-THROTTLED F-CPU-THROTTLED-WAITING F-KTHREAD-STARVES F-LOAD-HIGH F-SCHED-BURSTS
        F-SCHED-CTXSW F-SCHED-DELAY F-SCHED-NEIGHBOUR F-SCHED-RUNQ F-THREADS-OVERSUB""",
    "errors": "F-CPU-FREQ-CAPPED F-CPU-THERMAL",
}
_MEMORY: Mapping[Letter, str] = {
    "utilisation": """
        F-JVM-HEAP-FITS F-JVM-HEAP-OVER-LIMIT F-MEM-ANON-SHARE F-MEM-AVAILABLE F-MEM-GROWTH
        F-NUMA-BALANCING-CHURN F-NUMA-CPUSET-MISMATCH F-NUMA-CPUSET-PARTIAL F-NUMA-FAR-MEMORY F-NUMA-OTHER-NODE
        F-NUMA-OWN-PINNING F-NUMA-REMOTE-PMU""",
    "saturation": """
        F-FLAME-RECLAIM F-MEM-MAJFAULT F-MEM-MAJFAULT-PROCESS F-MEM-PSI F-MEM-PSI-CGROUP F-MEM-REFAULT-CGROUP
        F-MEM-REFAULT-HOST F-MEM-SWAP F-MEM-SWAP-THRASH F-MEM-SWAPPED-PROCESS F-NUMA-MISS""",
    "errors": """
        F-CONTAINER-EXIT-137 F-JVM-OOM-KILLED F-MEM-OOM-CGROUP F-MEM-OOM-CONTAINER F-MEM-OOM-EARLIER
        F-MEM-OOM-HOST""",
}
_DISK: Mapping[Letter, str] = {
    "utilisation": """
        F-DISK-BULK-WRITES F-DISK-FLUSHES F-DISK-READ-RATE F-DISK-READAHEAD F-DISK-UTIL
        F-DISK-WRITE-AMPLIFICATION F-FD-OSYNC F-FD-OSYNC-DATABASE F-FLAME-SYNC-WRITE-CPU F-FS-FULL
        F-FS-INODES F-IO-DUP-LINES F-IO-DUP-WRITE F-IO-FORCED-OUT F-IO-JAR-REREAD F-IO-SEEK-READS
        F-IO-TINY-READS F-SYSCALL-SYNC""",
    "saturation": """
        F-CPU-IOWAIT F-DISK-INFLIGHT F-DISK-QUOTA-PLATEAU F-DISK-SATURATED F-FLAME-SYNC-WRITE F-PROC-BLOCKED
        F-SYNC-WAIT F-SYNC-WAIT-DATABASE""",
    "errors": "F-DISK-ERRORS F-DISK-ILL F-FS-ERRORS",
}
_NETWORK: Mapping[Letter, str] = {
    "utilisation": """
        F-CNI-OVERLAY F-FLAME-NETFILTER F-FLAME-PACKET-PATH F-NET-CONNTRACK-FULL F-NET-PORT-EXHAUSTION
        F-NET-SMALL-PACKETS F-NET-TIMEWAIT-PRESSURE F-NET-UTIL F-SOFTIRQ-IMBALANCE""",
    "saturation": """
        F-FLAME-INET-HASH-CONNECT F-NET-BACKLOG-SMALL F-NET-CONNTRACK-DROP F-NET-CONNTRACK-LOG
        F-NET-LISTEN-OVERFLOW F-NET-PORT-NONE-LEFT F-NET-QDISC-AQM-DROP F-NET-QDISC-DROP F-NET-UDP-BUFFER-FULL
        F-SOFTNET-DROP F-SOFTNET-SQUEEZE F-SYSCALL-SLOW-CONNECT""",
    "errors": """
        F-DEP-HANDSHAKES-IGNORED F-NET-CONNECT-FAILS F-NET-EADDRNOTAVAIL F-NET-FW-DEFAULT-DROP F-NET-FW-DROP
        F-NET-FW-STATISTIC F-NET-FW-UNCOUNTED F-NET-FW-UNCOUNTED-LIMIT F-NET-IFACE-DROP F-NET-LINK-ERRORS
        F-NET-LINK-FLAP F-NET-LINK-HALF-DUPLEX F-NET-LOSS-ELSEWHERE F-NET-MSS-SMALL F-NET-MTU-MISMATCH
        F-NET-MTU-SMALL F-NET-MTU-TOO-LONG F-NET-NETEM-PRESENT F-NET-PROBE-LOSS F-NET-SYN-RETRANS""",
}
_APPLICATION: Mapping[Letter, str] = {
    "utilisation": """
        F-APP-SPAN-DOMINANT F-DB-BUSY F-DB-HOT-STATEMENT F-DB-ROWS-PER-CALL F-DB-SQL-CPU F-DB-TOP-OF-CPU F-FD-LEAK
        F-REDIS-HZ""",
    "saturation": """
        F-APP-KNEE F-APP-P99 F-DB-LOCK-WAIT F-DEP-ONE-PEER F-DEP-SLOW-CALL F-DEP-SLOW-REPLY F-FUTEX-CHAIN-END
        F-LOCK-FUTEX-BUSY F-LOCK-FUTEX-LONG F-LOCK-FUTEX-PILEUP F-LOCK-JAVA-MONITOR F-LOCK-OFFCPU
        F-LOCK-OWNER-READS F-LOG-POOL-LIMIT F-LOG-WORKER-LIMIT F-NET-ACCEPT-STANDING F-NET-QUEUE-STANDS
        F-REDIS-MAIN-THREAD F-REDIS-SLOWLOG F-REDIS-UPKEEP F-STRACE-LONGEST-CALL""",
    "errors": "F-APP-EPIPE F-APP-ERR F-APP-NON2XX F-APP-TIMEOUT-MODE F-LOG-BURST F-TCP-CLOSE-WAIT",
}
_KERNEL: Mapping[Letter, str] = {
    "utilisation": "F-CPU-SYS-HIGH F-KTHREAD-BUSY F-KTHREAD-HOT F-LIMIT-NEAR",
    "saturation": "F-LOAD-HIGH-CPU-LOW F-PROC-DSTATE",
    "errors": "F-CLOCK-OFFSET F-CLOCK-UNSYNCED F-HW-MACHINE-CHECK F-HW-MEMORY-ERRORS F-KERNEL-LOCKUP",
}
_GRID: Mapping[Resource, Mapping[Letter, str]] = {
    "cpu": _CPU,
    "memory": _MEMORY,
    "disk": _DISK,
    "network": _NETWORK,
    "application": _APPLICATION,
    "kernel": _KERNEL,
}

#: Rule → its place.
PLACES: Mapping[str, Place] = MappingProxyType(
    {
        rule: Place(resource, letter)
        for resource in RESOURCES
        for letter in LETTERS
        for rule in _GRID[resource][letter].split()
    }
)
#: Rules about the look itself, or about how a service is set up: no resource is used, full or wrong.
WITHOUT_PLACE = frozenset(
    {"F-CAPTURE-DISTURBED", "F-NUMA-NODES", "F-PERF-LOST", "F-PERF-UNKNOWN-FRAMES", "F-SEC-ROOT-SERVICE"}
)
