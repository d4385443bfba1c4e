"""Waits for locks in futex(2), by the address of the lock."""

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
from collectors.shell.perf_events import EVENT_RATE, RECORD_EVENTS

#: Operations that wait, each plain, PRIVATE, with CLOCK_REALTIME, and with both: those that wake have no stack.
_COMMANDS = (0, 6, 9, 11, 13)
_WAITS = " || ".join(f"op=={command + flags}" for command in _COMMANDS for flags in (0, 128, 256, 384))

_SH = (
    PRELUDE
    + POSTLUDE
    + "event=syscalls:sys_enter_futex"
    + EVENT_RATE
    + r"""
[ "$rate" -le 50000 ] || { echo "$rate calls of futex a second: too many to record" >&2; exit 69; }
report "calls_per_s $rate"
"""
    + RECORD_EVENTS
    + f"""
waits='{_WAITS}'
"""
    + r"""
[ -z "${TARGET_PIDS-}" ] || scope="-p $(echo $TARGET_PIDS | tr ' ' , | cut -d , -f 1-64)"
# With -d, perf notes where data is mapped too: locks are in it. Of many processes, that would be most of the recording.
data=-d
[ -n "${TARGET_PIDS-}" ] || [ "$(ls -d /proc/[0-9]* | wc -l)" -le 800 ] || data=
record_events $data -e syscalls:sys_enter_futex --filter "$waits" -e syscalls:sys_exit_futex/call-graph=no/ -g
"""
)


def parse_futex_waits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the waits are."""
    return parse_events("futex", parts)


COLLECTOR = Collector(
    id="futex_waits",
    title=Text("Waits for locks", "锁等待"),
    why=Text(
        "Which lock threads wait for, by its address: how long, and with which stacks.",
        "线程在等待哪一把锁（按地址）：等待多久、调用栈是什么。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(
                tools=("perf",), root=True, perf=True, remedy="linux-perf, and a kernel with FTRACE_SYSCALLS"
            ),
            sh=_SH,
            command_line="perf record -d -e syscalls:sys_enter_futex (calls that wait)"
            " -e syscalls:sys_exit_futex/call-graph=no/ -a (or -p of the target) -g -k CLOCK_MONOTONIC"
            " -- sleep {seconds}",
            version="perf version",
        ),
    ),
    parse=parse_futex_waits,
    cost=Cost(
        8.0,
        400_000,
        Text(
            "A stack is walked for each wait, some 2 µs, and each call costs 1 µs more; refused on hosts with too"
            " many calls.",
            "每次等待遍历一次调用栈（约 2 µs），每次调用另增加 1 µs；调用过多的主机会拒绝执行。",
        ),
    ),
    seconds_max=10,
    max_bytes=64 << 20,
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.MEMORY}),
)
