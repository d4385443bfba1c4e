"""Calls of one kernel function: who calls it, how often, how long it takes."""

from __future__ import annotations

from collectors.contract import Collector, Cost, Needs, Option, Script, TargetAccess, Text, Tier
from collectors.parse.perf import probe_calls
from collectors.shell.tracing import PRELUDE, PROBE

_SH = (
    r"""
[ -n "${OPT_FUNCTION-}" ] || { echo "name a function" >&2; exit 69; }
"""
    + PRELUDE
    + r"""
list=$t/kprobe_events
[ -w "$list" ] || { echo "this kernel has no kprobes (CONFIG_KPROBE_EVENTS), or is locked down" >&2; exit 69; }
where=$OPT_FUNCTION
"""
    + PROBE
)

COLLECTOR = Collector(
    id="perf_probe",
    title=Text("Calls of a kernel function", "内核函数调用"),
    why=Text(
        "How often a kernel function is called, by whom, and how long it takes.",
        "某个内核函数被谁调用、多频繁、耗时多久。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "tracefs",
            Needs(tools=("awk", "sed"), root=True, remedy="mount -t tracefs tracefs /sys/kernel/tracing"),
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
            "Below 1 µs for each call and return: not for functions called a million times a second.",
            "每次调用与返回不到 1 µs：不适合每秒调用百万次的函数。",
        ),
    ),
    seconds_max=5,
    max_bytes=1 << 20,
    options=(
        Option(
            "function",
            r"[A-Za-z_][A-Za-z0-9_.]{0,127}",
            Text("Kernel function, as in /proc/kallsyms", "内核函数（/proc/kallsyms 中的名称）"),
            required=True,
        ),
    ),
    touches=frozenset({TargetAccess.COUNTERS}),
)
