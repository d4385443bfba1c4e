"""Watchers on hosts: a look-back buffer with the last minutes, and conditions that are checked once per second.

Pure: values in, the program for the host out. `scripts/watcher.sh` and `scripts/watcher.awk` run on the host.
PROTOCOL.md defines their output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from collectors.contract import Text
from collectors.runner.program import RunnerLimits, build_watcher_program
from collectors.runner.scope import PATTERNS, Scope

ConditionType = Literal[
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
ConditionOperator = Literal["over", "under"]
STARTS: tuple[ConditionType, ...] = ("unit_start", "container_start", "process_start", "group_start")
MAX_CONDITIONS = 4
#: A process name as the kernel stores it: at most 15 bytes.
_COMM = re.compile(r"[A-Za-z0-9_.:@+-]{1,15}")
_NONE = re.compile(r"")
_RESOURCE = re.compile(r"(cpu|memory|io)\.(some|full)")
_COUNTER = re.compile(r"[a-z0-9_]{1,60}")
_COLUMN = re.compile(r"(Tcp|TcpExt|Udp|Ip|IpExt)\.[A-Za-z0-9]{1,60}")
LIMIT_MAX = 1e12
#: Low enough to run for hours. Odd, so that it does not align with periodic work.
STACKS_HZ = 19
HISTORY_MAX = 60


@dataclass(frozen=True, slots=True)
class WatchedReading:
    """One kind of condition: its title, the unit of its readings, and the pattern of its key."""

    title: Text
    unit: str
    key: re.Pattern[str]
    example: str = ""


KINDS: Mapping[ConditionType, WatchedReading] = MappingProxyType(
    {
        "unit_start": WatchedReading(
            Text("A unit starts", "某单元启动"), "", PATTERNS["unit"], "feed.service"
        ),
        "container_start": WatchedReading(
            Text("A container starts", "某容器启动"), "", PATTERNS["container"], "feed-1"
        ),
        "process_start": WatchedReading(Text("A process starts", "某进程启动"), "", _COMM, "java"),
        "group_start": WatchedReading(
            Text("A control group gets its first process", "某 cgroup 有了首个进程"),
            "",
            PATTERNS["cgroup"],
            "/feed.slice",
        ),
        "stall_pct": WatchedReading(
            Text("Work waits for a resource (PSI)", "任务等待资源（PSI）"), "pct", _RESOURCE, "cpu.some"
        ),
        "load1": WatchedReading(Text("Load average of one minute", "1 分钟平均负载"), "", _NONE),
        "running": WatchedReading(Text("Runnable tasks", "可运行任务数"), "", _NONE),
        "blocked": WatchedReading(Text("Blocked tasks", "阻塞任务数"), "", _NONE),
        "busy_pct": WatchedReading(Text("CPUs busy", "CPU 忙碌"), "pct", _NONE),
        "steal_pct": WatchedReading(Text("CPU time stolen", "CPU 被窃取"), "pct", _NONE),
        "available_pct": WatchedReading(Text("Memory available", "可用内存"), "pct", _NONE),
        "group_memory_pct": WatchedReading(
            Text("Memory of a control group, of its limit", "cgroup 内存占其上限"),
            "pct",
            PATTERNS["cgroup"],
            "/feed.slice",
        ),
        "vm_per_s": WatchedReading(
            Text("A counter of /proc/vmstat", "/proc/vmstat 的计数器"), "per_s", _COUNTER, "pgmajfault"
        ),
        "tcp_per_s": WatchedReading(
            Text("A counter of the network stack", "网络协议栈的计数器"),
            "per_s",
            _COLUMN,
            "TcpExt.ListenDrops",
        ),
        "softnet_drops_per_s": WatchedReading(
            Text("Packets dropped before the stack", "进入协议栈前丢弃的包"), "per_s", _NONE
        ),
    }
)


@dataclass(frozen=True, slots=True)
class WatcherCondition:
    """A condition that holds when `required_hits` of its last `window_readings` readings are over or under the limit.

    A start condition holds at the first reading. Raise ValueError for values that are not allowed.
    """

    kind: ConditionType
    key: str = ""
    op: ConditionOperator = "over"
    limit: float = 1.0
    required_hits: int = 1
    window_readings: int = 1

    def __post_init__(self) -> None:
        if self.kind not in get_args(ConditionType) or self.op not in get_args(ConditionOperator):
            raise ValueError("no such condition")
        if not self.key.isascii() or not KINDS[self.kind].key.fullmatch(self.key):
            raise ValueError(f"{self.kind} does not take {self.key!r}")
        if self.kind in {"group_start", "group_memory_pct"}:
            Scope("cgroup", self.key)  # refuses paths that leave the cgroup tree
        if not math.isfinite(self.limit) or not 0 <= self.limit <= LIMIT_MAX:
            raise ValueError("the limit must be a number that is not negative")
        if not 1 <= self.required_hits <= self.window_readings <= HISTORY_MAX:
            raise ValueError("hits must be between 1 and the number of readings")
        if self.kind in STARTS and (self.op, self.limit, self.required_hits, self.window_readings) != (
            "over",
            1.0,
            1,
            1,
        ):
            raise ValueError("a start condition has no limit")

    @property
    def starts(self) -> bool:
        """Return whether this is a start condition."""
        return self.kind in STARTS

    def to_json(self) -> dict[str, Any]:
        """Return the condition as it is stored and sent."""
        return {
            name: getattr(self, name)
            for name in ("kind", "key", "op", "limit", "required_hits", "window_readings")
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WatcherCondition:
        """Return the condition that `to_json` wrote, or raise ValueError."""
        if not data.keys() <= {"kind", "key", "op", "limit", "required_hits", "window_readings"}:
            raise ValueError("not a condition")
        values = dict(data)
        if "limit" in values:
            values["limit"] = float(values["limit"])
        return cls(**values)

    def to_text(self) -> str:
        """Return the line that the script of the watcher reads."""
        return f"{self.kind} {self.op} {self.limit:.12g} {self.required_hits} {self.window_readings} {self.key or '-'}"


@dataclass(frozen=True, slots=True)
class LookbackBuffer:
    """What a look-back buffer keeps: readings of the last `seconds`, one per second, in `max_bytes` plus one reading.

    With `stacks` it also keeps stacks of all CPUs, `STACKS_HZ` times per second, in at most 16 MiB of kernel memory.
    """

    seconds: int
    max_bytes: int
    files: tuple[str, ...]
    stacks: bool = False

    def __post_init__(self) -> None:
        if not 30 <= self.seconds <= 1800 or not 1 << 18 <= self.max_bytes <= 64 << 20:
            raise ValueError("the look-back buffer must keep 30 to 1800 seconds in 256 KiB to 64 MiB")


def build_program(
    lookback: LookbackBuffer, conditions: Sequence[WatcherCondition], limits: RunnerLimits
) -> bytes:
    """Return the program for one host. Only the limits that the guard enforces apply. Raise ValueError."""
    if len(conditions) > MAX_CONDITIONS:
        raise ValueError("too many conditions")
    limits = replace(limits, pipe_ok=False, need_bytes=lookback.max_bytes + (2 << 20))
    lines = [condition.to_text() for condition in conditions]
    hz = STACKS_HZ if lookback.stacks else 0
    return build_watcher_program(
        limits,
        lookback_s=lookback.seconds,
        lookback_bytes=lookback.max_bytes,
        files=lookback.files,
        conditions=lines,
        stacks_hz=hz,
    )


def build_limits(
    run: str, lease: str, deadline_s: int, silence_s: int, lookback: LookbackBuffer
) -> RunnerLimits:
    """Return the limits of a watcher. Memory comes first: the buffer must not write to an overloaded disk."""
    return RunnerLimits(
        run=run,
        lease=lease,
        deadline_s=deadline_s,
        silence_s=silence_s,
        flush_s=2,
        need_bytes=lookback.max_bytes + (2 << 20),
        pipe_ok=False,
        cpu_pct=50 if lookback.stacks else 20,
        memory_bytes=(160 << 20 if lookback.stacks else 96 << 20) + lookback.max_bytes,
        tasks=64,
        directories=("/dev/shm", "/var/tmp", "/tmp"),  # noqa: S108
    )


@dataclass(frozen=True, slots=True)
class WatcherStatus:
    """The status that a watcher sends every few seconds: boottime in ns, its cost so far, one value per condition."""

    boot_ns: int
    cpu_ms: int
    rss_kb: int
    lookback_bytes: int
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ConditionMatch:
    """Condition `number` (from 1) started to hold at `boot_ns`, with this reading."""

    number: int
    boot_ns: int
    value: float | None


#: The line that a watcher sends when stacks were requested and perf cannot record them.
NO_STACKS = "note no stacks"
_WATCH = re.compile(r"watch ([0-9]{1,15}) ([0-9]{1,12}) ([0-9]{1,12}) ([0-9]{1,12})((?: \S{1,24}){0,8})")
_FIRE = re.compile(r"fire ([1-9]) ([0-9]{1,15}) (\S{1,24})")
_VALUE = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,12})?(e[+-]?[0-9]{1,2})?")
HUNDREDTH_NS = 10_000_000


def parse_line(line: str) -> WatcherStatus | ConditionMatch | None:
    """Return what a line of stderr means, or None for a line that is not from the watcher."""
    line = line.strip()
    if match := _WATCH.fullmatch(line):
        values = tuple(_parse_value(word) for word in match[5].split())
        return WatcherStatus(
            int(match[1]) * HUNDREDTH_NS, int(match[2]), int(match[3]), int(match[4]), values[:MAX_CONDITIONS]
        )
    if match := _FIRE.fullmatch(line):
        return ConditionMatch(int(match[1]), int(match[2]) * HUNDREDTH_NS, _parse_value(match[3]))
    return None


def _parse_value(word: str) -> float | None:
    return float(word) if _VALUE.fullmatch(word) else None


def parse_kind(word: str) -> ConditionType | None:
    """Return the kind with this name, or None."""
    return cast(ConditionType, word) if word in get_args(ConditionType) else None
