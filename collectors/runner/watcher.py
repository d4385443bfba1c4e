"""What waits on a host: a ring that keeps the last minutes, and conditions that are looked at once a second.

Pure: values in, the program that travels to the host out. `host/standby.sh` and `host/standby.awk` are what runs
there; PROTOCOL.md says what they say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from collectors.bundle import Limits, standby_program
from collectors.contract import Text
from collectors.scope import PATTERNS, Scope

Kind = Literal[
    "unit_start",
    "container_start",
    "process_start",
    "group_start",
    "stall_pct",
    "load1",
    "running",
    "blocked",
    "busy_pct",
    "steal_pct",
    "available_pct",
    "group_memory_pct",
    "vm_per_s",
    "tcp_per_s",
    "softnet_drops_per_s",
]
Op = Literal["over", "under"]
STARTS: tuple[Kind, ...] = ("unit_start", "container_start", "process_start", "group_start")
MAX_CONDITIONS = 4
#: A process's name as the kernel keeps it: at most 15 bytes.
_COMM = re.compile(r"[A-Za-z0-9_.:@+-]{1,15}")
_NONE = re.compile(r"")
_RESOURCE = re.compile(r"(cpu|memory|io)\.(some|full)")
_COUNTER = re.compile(r"[a-z0-9_]{1,60}")
_COLUMN = re.compile(r"(Tcp|TcpExt|Udp|Ip|IpExt)\.[A-Za-z0-9]{1,60}")
LIMIT_MAX = 1e12
#: Few enough to be paid for hours, odd so that it keeps step with nothing.
STACKS_HZ = 19
HISTORY_MAX = 60


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind of condition: what it is called, in what unit its readings are, and what its key must match."""

    title: Text
    unit: str
    key: re.Pattern[str]
    example: str = ""


KINDS: Mapping[Kind, Watched] = MappingProxyType(
    {
        "unit_start": Watched(Text("A unit starts", "某单元启动"), "", PATTERNS["unit"], "feed.service"),
        "container_start": Watched(
            Text("A container starts", "某容器启动"), "", PATTERNS["container"], "feed-1"
        ),
        "process_start": Watched(Text("A process starts", "某进程启动"), "", _COMM, "java"),
        "group_start": Watched(
            Text("A control group gets its first process", "某 cgroup 有了首个进程"),
            "",
            PATTERNS["cgroup"],
            "/feed.slice",
        ),
        "stall_pct": Watched(
            Text("Work waits for a resource (PSI)", "任务等待资源（PSI）"), "pct", _RESOURCE, "cpu.some"
        ),
        "load1": Watched(Text("Load average of one minute", "1 分钟平均负载"), "", _NONE),
        "running": Watched(Text("Runnable tasks", "可运行任务数"), "", _NONE),
        "blocked": Watched(Text("Blocked tasks", "阻塞任务数"), "", _NONE),
        "busy_pct": Watched(Text("CPUs busy", "CPU 忙碌"), "pct", _NONE),
        "steal_pct": Watched(Text("CPU time stolen", "CPU 被窃取"), "pct", _NONE),
        "available_pct": Watched(Text("Memory available", "可用内存"), "pct", _NONE),
        "group_memory_pct": Watched(
            Text("Memory of a control group, of its limit", "cgroup 内存占其上限"),
            "pct",
            PATTERNS["cgroup"],
            "/feed.slice",
        ),
        "vm_per_s": Watched(
            Text("A counter of /proc/vmstat", "/proc/vmstat 的计数器"), "per_s", _COUNTER, "pgmajfault"
        ),
        "tcp_per_s": Watched(
            Text("A counter of the network stack", "网络协议栈的计数器"),
            "per_s",
            _COLUMN,
            "TcpExt.ListenDrops",
        ),
        "softnet_drops_per_s": Watched(
            Text("Packets dropped before the stack", "进入协议栈前丢弃的包"), "per_s", _NONE
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Condition:
    """It holds where in `hits` of its last `of` readings, one a second, the value was `over` or `under` the limit.

    Something that starts holds at once. Raises ValueError on what no host should be asked.
    """

    kind: Kind
    key: str = ""
    op: Op = "over"
    limit: float = 1.0
    hits: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or self.op not in get_args(Op):
            raise ValueError("no such condition")
        if not self.key.isascii() or not KINDS[self.kind].key.fullmatch(self.key):
            raise ValueError(f"{self.kind} does not take {self.key!r}")
        if self.kind in {"group_start", "group_memory_pct"}:
            Scope("cgroup", self.key)  # no way out of the tree of control groups
        if not math.isfinite(self.limit) or not 0 <= self.limit <= LIMIT_MAX:
            raise ValueError("a limit is a number that is not negative")
        if not 1 <= self.hits <= self.of <= HISTORY_MAX:
            raise ValueError("hits of readings")
        if self.kind in STARTS and (self.op, self.limit, self.hits, self.of) != ("over", 1.0, 1, 1):
            raise ValueError("something that starts has no limit")

    @property
    def starts(self) -> bool:
        """Whether it waits for something to begin."""
        return self.kind in STARTS

    def to_json(self) -> dict[str, Any]:
        """As it is stored and sent."""
        return {name: getattr(self, name) for name in ("kind", "key", "op", "limit", "hits", "of")}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Condition:
        """The reverse. Raises ValueError."""
        if not told.keys() <= {"kind", "key", "op", "limit", "hits", "of"}:
            raise ValueError("not a condition")
        given = dict(told)
        if "limit" in given:
            given["limit"] = float(given["limit"])
        return cls(**given)

    def spelled(self) -> str:
        """The line that the watcher reads."""
        return f"{self.kind} {self.op} {self.limit:.12g} {self.hits} {self.of} {self.key or '-'}"


@dataclass(frozen=True, slots=True)
class Ring:
    """What is kept: the last `seconds` of readings, once a second, in at most `max_bytes` and one reading more.

    With `stacks` also those of all CPUs, `STACKS_HZ` times a second, in at most 16 MiB of the kernel's memory.
    """

    seconds: int
    max_bytes: int
    files: tuple[str, ...]
    stacks: bool = False

    def __post_init__(self) -> None:
        if not 30 <= self.seconds <= 1800 or not 1 << 18 <= self.max_bytes <= 64 << 20:
            raise ValueError("a ring is small")


def program(ring: Ring, conditions: Sequence[Condition], limits: Limits) -> bytes:
    """The program for one host; of its `limits` those count that the guard enforces. Raises ValueError."""
    if len(conditions) > MAX_CONDITIONS:
        raise ValueError("too many conditions")
    limits = replace(limits, pipe_ok=False, need_bytes=ring.max_bytes + (2 << 20))
    lines = [one.spelled() for one in conditions]
    hz = STACKS_HZ if ring.stacks else 0
    return standby_program(
        limits,
        ring_s=ring.seconds,
        ring_bytes=ring.max_bytes,
        files=ring.files,
        conditions=lines,
        stacks_hz=hz,
    )


def limits(run: str, lease: str, deadline_s: int, silence_s: int, ring: Ring) -> Limits:
    """What the host enforces by itself. Memory first: what is kept must not become writes of a disk in trouble."""
    return Limits(
        run=run,
        lease=lease,
        deadline_s=deadline_s,
        silence_s=silence_s,
        flush_s=2,
        need_bytes=ring.max_bytes + (2 << 20),
        pipe_ok=False,
        cpu_pct=50 if ring.stacks else 20,
        memory_bytes=(160 << 20 if ring.stacks else 96 << 20) + ring.max_bytes,
        tasks=64,
        directories=("/dev/shm", "/var/tmp", "/tmp"),  # noqa: S108
    )


@dataclass(frozen=True, slots=True)
class Watching:
    """What the watcher says every few seconds: boottime in ns, its cost so far, and one value per condition."""

    boot_ns: int
    cpu_ms: int
    rss_kb: int
    ring_bytes: int
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Fired:
    """Condition `number` (from 1) began to hold at `boot_ns`, with that reading."""

    number: int
    boot_ns: int
    value: float | None


#: What it says where stacks were asked for and perf cannot record any.
NO_STACKS = "note no stacks"
_WATCH = re.compile(r"watch ([0-9]{1,15}) ([0-9]{1,12}) ([0-9]{1,12}) ([0-9]{1,12})((?: \S{1,24}){0,8})")
_FIRE = re.compile(r"fire ([1-9]) ([0-9]{1,15}) (\S{1,24})")
_VALUE = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,12})?(e[+-]?[0-9]{1,2})?")
HUNDREDTH_NS = 10_000_000


def said(line: str) -> Watching | Fired | None:
    """What a line of stderr says, or None where it is no word of the watcher's."""
    line = line.strip()
    if match := _WATCH.fullmatch(line):
        values = tuple(_value(word) for word in match[5].split())
        return Watching(
            int(match[1]) * HUNDREDTH_NS, int(match[2]), int(match[3]), int(match[4]), values[:MAX_CONDITIONS]
        )
    if match := _FIRE.fullmatch(line):
        return Fired(int(match[1]), int(match[2]) * HUNDREDTH_NS, _value(match[3]))
    return None


def _value(word: str) -> float | None:
    return float(word) if _VALUE.fullmatch(word) else None


def of_kind(word: str) -> Kind | None:
    """The kind of that name."""
    return cast(Kind, word) if word in get_args(Kind) else None
