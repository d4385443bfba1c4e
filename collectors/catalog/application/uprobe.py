"""Calls of one function of a program or library: who calls it, how often, how long it takes."""

from __future__ import annotations

from collectors.contract import Collector, Cost, Needs, Option, Script, TargetAccess, Text, Tier
from collectors.parse.perf import probe_calls
from collectors.shell.target import LOW
from collectors.shell.tracing import PRELUDE, PROBE

# perf only finds the offset of the function in the file and defines nothing. It reads a file that others may have
# written, so it runs as `nobody`, for a bounded time.
_SH = (
    r"""
[ -n "${OPT_FUNCTION-}" ] && [ -f "${OPT_BINARY-}" ] || { echo "name a function and a binary" >&2; exit 69; }
case $(readlink -f "$OPT_BINARY") in
    /proc/* | /sys/* | /dev/*) echo "name the binary by its path on a disk" >&2; exit 69 ;;
esac
"""
    + PRELUDE
    + LOW
    + r"""
list=$t/uprobe_events
[ -w "$list" ] || { echo "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)" >&2; exit 69; }
[ -n "$low" ] || { echo "no setpriv (util-linux), which takes the rights of root from perf" >&2; exit 69; }
find_function() { timeout 20 $low perf probe -q -x "$OPT_BINARY" -D "$OPT_FUNCTION" 2> .perf; }
DEBUGINFOD_URLS= PERF_CONFIG=/dev/null
export DEBUGINFOD_URLS PERF_CONFIG
where=$(find_function \
    | sed -n 's/^p:[^ ]* \(\/[^ ]*:0x[0-9a-f]*\).*/\1/p' | head -n 1)
[ -n "$where" ] || { head -c 1000 .perf >&2; echo "no function $OPT_FUNCTION in $OPT_BINARY" >&2; exit 69; }
report "binary $OPT_BINARY"
"""
    + PROBE
)

COLLECTOR = Collector(
    id="uprobe",
    title=Text("Calls of a user function", "用户态函数调用"),
    why=Text(
        "How often a function of a program or library is called, by whom, and how long it takes.",
        "程序或库中某个函数被谁调用、多频繁、耗时多久。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "tracefs",
            Needs(
                tools=("perf", "awk", "sed", "setpriv", "timeout"),
                root=True,
                remedy="util-linux; mount -t tracefs tracefs /sys/kernel/tracing",
            ),
            sh=_SH,
            command_line="probe the function's entry and return in an instance of tracefs for {seconds} s; counts only",
            stop="TERM",
        ),
    ),
    parse=probe_calls.parse_probe_calls,
    cost=Cost(
        10.0,
        2_000,
        Text(
            "Some 2 µs for each call, and as much again for its return: not for functions called all the time.",
            "每次调用约 2 µs，返回再约 2 µs：不适合极其频繁调用的函数。",
        ),
    ),
    seconds_max=5,
    max_bytes=1 << 20,
    options=(
        Option(
            "function",
            r"[A-Za-z_][A-Za-z0-9_.]{0,127}",
            Text("Function, as its symbol is named", "函数（符号名）"),
            required=True,
        ),
        Option(
            "binary",
            r"/[A-Za-z0-9_./+-]{1,250}",
            Text("Program or library, with its whole path", "程序或库的完整路径"),
            required=True,
        ),
    ),
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES, TargetAccess.MEMORY}),
)
