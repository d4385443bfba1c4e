"""On-CPU stacks of the whole host, 99 times a second on every CPU."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    PlanEntry,
    Script,
    Sentence,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.perf import perf_report
from collectors.parse.perf.recording import find_stacks
from collectors.shell.perf import POSTLUDE, PRELUDE

_MAX_BYTES = 192 << 20
FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,dso"

_SH = (
    PRELUDE
    + POSTLUDE
    + r"""
hz=99
max=$(cat /proc/sys/kernel/perf_event_max_sample_rate 2> .rate)
[ "${max:-$hz}" -ge "$hz" ] || hz=$max
cap=
has record --max-size && cap="--max-size=$((BYTES / 6 / 1024))K"
record() {
    rm -f perf.data
    "$perf" record -F "$hz" -a -g $clock $extra $cap "$@" -o perf.data -- sleep "$SECS" > record.log 2>&1
    code=$?
    echo "$perf record -F $hz -a -g $clock $extra $cap $* -o perf.data -- sleep $SECS" > "${ARGV:-/dev/null}"
    usable perf.data && recorded=1
}
recorded=
read -r began rest < /proc/uptime
if ! record; then
    read -r now rest < /proc/uptime
    [ $((${now%.*} - ${began%.*})) -lt $((SECS / 2 + 1)) ] && record -e cpu-clock
fi
cat record.log >&2
report "record_exit $code"
report "frequency $hz"
report "clock ${clock:-none}"
if [ -z "$recorded" ]; then
    rm -f perf.data header.txt
    grep -q -i -e permi -e 'not permitted' -e 'access to performance' record.log && exit 69
    exit 1
fi
if named_by_server; then
    kernel_symbols
else
    stats perf.data
    text perf.data $((BYTES * 3 / 4)) """
    + FIELDS
    + """ cat
fi
"""
)


def parse_perf_record(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the stacks are, how they were taken, and what was lost. A task of its own reads the stacks.

    perf's own pair of wall clock and CLOCK_MONOTONIC goes into the fact `perf_reference`: it is the best one.
    """
    reported_perf_report = perf_report.parse_perf_report(parts)
    warnings = [*reported_perf_report.warnings]
    profile = find_stacks("on_cpu", parts, reported_perf_report.clock)
    if profile is None:
        missing = Sentence("warning.part_missing", {"part": "script.txt"})
        return Parsed(facts=reported_perf_report.facts, warnings=(*warnings, missing), readable=False)
    return Parsed(profiles=(profile,), facts=reported_perf_report.facts, warnings=tuple(warnings))


COLLECTOR = Collector(
    id="perf_record",
    title=Text("CPU profile", "CPU 采样"),
    why=Text(
        "Which functions the CPUs run, as a flame graph: the whole host, kernel and programs.",
        "CPU 在运行哪些函数（火焰图）：整机、内核与程序。",
    ),
    tier=Tier.STANDARD,
    mandatory=True,
    exclusive=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf record -F 99 -a -g -k CLOCK_MONOTONIC -N --no-bpf-event -o perf.data"
            " -- sleep {seconds}; then nice perf script --no-inline, unless the server names functions",
            version="perf version",
        ),
    ),
    parse=parse_perf_record,
    cost=Cost(
        2.0,
        160_000,
        Text(
            "99 samples a second and CPU, 10 µs each. If the server cannot name functions, a niced pass names them.",
            "每 CPU 每秒 99 个样本，每个约 10 µs。若服务器无法解析函数名，则以低优先级在主机上解析。",
        ),
    ),
    seconds_max=30,
    max_bytes=_MAX_BYTES,
    plans=(PlanEntry("cpu", 15),),
    touches=frozenset({TargetAccess.COUNTERS, TargetAccess.FILES, TargetAccess.MEMORY}),
)
