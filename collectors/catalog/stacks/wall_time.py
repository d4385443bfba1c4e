"""The whole time of threads in one graph: on the CPU and off it, from one recording."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.perf.recording import parse_events
from collectors.shell.perf import POSTLUDE, PRELUDE
from collectors.shell.perf_events import RECORD_EVENTS, SWITCH_RATE

_SH = (
    PRELUDE
    + POSTLUDE
    + SWITCH_RATE
    + r"""
[ "$rate" -le 60000 ] || { echo "$rate context switches a second: too many stacks to record" >&2; exit 69; }
report "switches_per_s $rate"
"""
    + RECORD_EVENTS
    + r"""
hz=99
max=$(cat /proc/sys/kernel/perf_event_max_sample_rate 2> .rate)
[ "${max:-$hz}" -ge "$hz" ] || hz=$max
report "frequency $hz"
# Who ends a wait is recorded too, which doubles the cost.
waking='-e sched:sched_waking'
[ "$rate" -le 30000 ] || waking=
record_events -e "cpu-clock/freq=$hz/" -e sched:sched_switch $waking -g
"""
)


def parse_wall_time(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the samples and switches are."""
    return parse_events("wall_time", parts)


COLLECTOR = Collector(
    id="wall_time",
    title=Text("On- and off-CPU time", "On-CPU 与 Off-CPU 时间"),
    why=Text(
        "Where the time of a thread goes, in one graph: what it runs, what it waits for, and when it waits for a CPU.",
        "线程的时间花在哪里（一张图）：运行什么、等待什么、何时在等待 CPU。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), root=True, perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf record -e cpu-clock/freq=99/ -e sched:sched_switch -e sched:sched_waking -a -g"
            " -k CLOCK_MONOTONIC -- sleep {seconds}",
            version="perf version",
        ),
    ),
    parse=parse_wall_time,
    cost=Cost(
        17.0,
        520_000,
        Text(
            "A stack is walked at every context switch, some 2 µs each, and 99 times a second on each CPU; refused on"
            " hosts that switch too often.",
            "每次上下文切换遍历一次调用栈（约 2 µs），每个 CPU 每秒另采样 99 次；切换过于频繁的主机会拒绝执行。",
        ),
    ),
    seconds_max=10,
    max_bytes=64 << 20,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.MEMORY}),
)
