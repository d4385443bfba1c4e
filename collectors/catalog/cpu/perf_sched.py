"""Every switch and wake-up of the scheduler, for a few seconds."""

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
    ProfileSource,
    Sampled,
    Script,
    Sentence,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.perf import perf_report, timehist
from collectors.parse.proc import sampled, schedstat
from collectors.shell.perf import POSTLUDE, PRELUDE

_MAX_BYTES = 64 << 20
_MAX_SECONDS = 5
RAW = "sched.data"
_FIELDS = "comm,pid,tid,cpu,time,event,trace"
_SCHEDSTAT_FILES = ("/proc/[0-9]*/task/[0-9]*/schedstat", "/proc/[0-9]*/task/[0-9]*/comm")

_SH = (
    PRELUDE
    + POSTLUDE
    + r"""
ctxt() { while read -r key value rest; do [ "$key" != ctxt ] || echo "$value"; done < /proc/stat; }
cpus=$(getconf _NPROCESSORS_ONLN 2> .getconf || echo 8)
# 280 bytes a switch were measured, 274 with 4 kB of other records a CPU and second
first=$(ctxt)
sleep 1
rate=$(($(ctxt) - first))
raw=$((BYTES * 2 / 5))
report "switches_per_s $rate"
[ "$rate" -le 1000000 ] || { echo "$rate context switches a second: too many to record" >&2; exit 69; }
tenths=$((raw * 10 / (rate * 300 + cpus * 4096 + 65536)))
[ "$tenths" -le $((SECS * 10)) ] || tenths=$((SECS * 10))
[ "$tenths" -le 50 ] || tenths=50
[ "$tenths" -ge 2 ] || tenths=2
span=$((tenths / 10)).$((tenths % 10))
[ $((tenths % 10)) -ne 0 ] || span=$((tenths / 10))
report "seconds $span"
cap=
has record --max-size && cap="--max-size=$((raw / 1024))K"
pages=4096
while [ $((pages * cpus)) -gt 32768 ] && [ "$pages" -gt 128 ]; do pages=$((pages / 2)); done
while :; do
    rm -f sched.data
    "$perf" sched record $clock -m "$pages" $extra $cap -o sched.data -- sleep "$span" > record.log 2>&1
    code=$?
    usable sched.data && break
    grep -q -i -e mmap -e mlock -e 'Operation not permitted' record.log && [ "$pages" -gt 16 ] || break
    pages=$((pages / 4))
done
echo "$perf sched record $clock -m $pages $extra $cap -o sched.data -- sleep $span" > "${ARGV:-/dev/null}"
cat record.log >&2
report "record_exit $code"
report "pages $pages"
report "clock ${clock:-none}"
usable sched.data || { rm -f sched.data header.txt; exit 69; }
! read_by_server || exit 0
stats sched.data
$limit $nice "$perf" sched timehist -i sched.data -s 2> .timehist | head -c 1048576 > timehist.txt
[ -s timehist.txt ] || rm -f timehist.txt
text sched.data $((BYTES / 2)) """
    + _FIELDS
    + """ 'grep -v sched:sched_stat_runtime:'
"""
)


def parse_perf_sched(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the events are, what was lost, and perf's own summary to check against, if the host printed it.

    The fallback reads what the kernel adds up by task: time on a CPU and time waiting for one.
    """
    if sampled.PART in parts:
        return schedstat.parse_schedstat(parts, context, _MAX_BYTES)
    reported_perf_report = perf_report.parse_perf_report(parts)
    text = parts.get("script.txt")
    tables = timehist.parse_timehist(parts)
    part = "script.txt" if text is not None and text.size else RAW
    if part not in parts:
        missing = Sentence("warning.part_missing", {"part": "script.txt"})
        return Parsed(
            tables=tables,
            facts=reported_perf_report.facts,
            warnings=(*reported_perf_report.warnings, missing),
            readable=False,
        )
    profile = ProfileSource(
        kind="sched",
        reader="perf_sched",
        part=part,
        unit="ns",
        clock=reported_perf_report.clock,
        raw_part=RAW if RAW in parts else None,
    )
    facts = {**reported_perf_report.facts, **timehist.sum_timehist(parts)}
    return Parsed(tables=tables, profiles=(profile,), facts=facts, warnings=reported_perf_report.warnings)


COLLECTOR = Collector(
    id="perf_sched",
    title=Text("Scheduling", "调度"),
    why=Text(
        "How long each task waited for a CPU, and which task ran in its place. Proves oversubscription.",
        "每个任务等待 CPU 多久、期间谁在运行：CPU 超卖的直接证据。",
    ),
    tier=Tier.DEEP,
    mandatory=True,
    exclusive=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), files=("/proc/stat",), perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf sched record -k CLOCK_MONOTONIC -m 4096 -o sched.data -- sleep {seconds}"
            " (less where tasks switch often); then perf script and timehist -s, unless the server reads sched.data",
            version="perf version",
        ),
        Sampled(
            "schedstat",
            Needs(files=("/proc/self/schedstat",), remedy="a kernel built with CONFIG_SCHED_INFO"),
            files=_SCHEDSTAT_FILES,
            once=True,
        ),
    ),
    parse=parse_perf_sched,
    cost=Cost(
        20.0,
        8_000_000,
        Text(
            "Every context switch is recorded: busy hosts lose 15 to 30 % of throughput for up to 5 s.",
            "记录每一次上下文切换：繁忙主机在至多 5 秒内损失 15% 至 30% 的吞吐。",
        ),
    ),
    seconds_max=_MAX_SECONDS,
    max_bytes=_MAX_BYTES,
    plans=(PlanEntry("sched", 5),),
    touches=frozenset({TargetAccess.COUNTERS}),
)
