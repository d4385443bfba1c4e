"""How often things happen, counted by perf and not recorded: switches, migrations, faults, system calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Series,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.perf import perf_stat
from collectors.parse.perf.perf_stat import EventCount
from collectors.parse.tables import report_times
from collectors.shell.perf import PRELUDE

_MAX_BYTES = 4 << 20
_PART = "stat.txt"
_SOFTWARE = "context-switches,cpu-migrations,page-faults,major-faults,minor-faults,task-clock"
_HARDWARE = "cycles,instructions,cache-references,cache-misses"
_SYSCALLS = "raw_syscalls:sys_enter"
_EVENTS = (*_SOFTWARE.split(","), *_HARDWARE.split(","), _SYSCALLS)
_METRICS = {
    "cpu-migrations": "sched.migrations_per_s",
    "page-faults": "mem.faults_per_s",
    _SYSCALLS: "syscall.calls_per_s",
}

# An event that this kernel lacks makes perf refuse all of them, so the likely ones to be missing go one by one.
_SH = (
    PRELUDE
    + rf"""
scope=-a
[ -z "${{TARGET_PIDS-}}" ] || scope="-p $(echo $TARGET_PIDS | tr ' ' , | cut -d , -f 1-64)"
report "scope ${{scope%% *}}"
for events in {_SOFTWARE},{_HARDWARE},{_SYSCALLS} {_SOFTWARE},{_SYSCALLS} {_SOFTWARE}; do
    read -r up rest < /proc/uptime
    echo "$up" > started
    rm -f {_PART}
    "$perf" stat -x ';' $scope -e "$events" -I 1000 -o {_PART} -- sleep "$SECS" > record.log 2>&1
    report "stat_exit $?"
    grep -q -e ';context-switches' {_PART} 2> .none && break
done
echo "$perf stat -x ; $scope -e $events -I 1000 -- sleep $SECS" > "${{ARGV:-/dev/null}}"
cat record.log >&2
grep -q -e ';context-switches' {_PART} || {{ rm -f {_PART} started; exit 69; }}
"""
)


def parse_perf_stat(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Totals of all events; over time only where the whole host was counted, because metrics are the host's."""
    part = parts.get(_PART)
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": _PART}),), readable=False)
    counts = list(perf_stat.parse_event_counts(part.read(_MAX_BYTES), _EVENTS))
    times = [count.time_s for count in counts if count.time_s > 0]
    table = perf_stat.sum_counts(counts, max(times, default=0.0), "perf_stat", _PART)
    if table is None:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": _PART}),), readable=False)
    status = parts.get("status.txt")
    whole_host = status is not None and b"scope -a" in status.read(4096).split(b"\n")
    start = report_times.read_start_ns(parts)
    series: list[Series] = []
    if whole_host and start is not None:
        for event, metric in _METRICS.items():
            series += _build_series(
                context, metric, start, [count for count in counts if _is_event(count, event)]
            )
    facts = {"perf_stat_scope": "host" if whole_host else "target"}
    return Parsed(series=tuple(series), tables=(table,), facts=facts)


def _is_event(event_count: EventCount, event: str) -> bool:
    return event_count.event in {event, f"{event}:u"} and 0 < event_count.time_s < 1e6


def _build_series(context: Context, metric: str, start_ns: int, counts: Sequence[EventCount]) -> list[Series]:
    """Rates of one event, each over the time since the interval before it."""
    ordered = sorted(counts, key=lambda count: count.time_s)
    at_s = np.array([item.time_s for item in ordered])
    spans = np.diff(at_s, prepend=0.0)
    values = np.array([item.value for item in ordered]) / np.where(spans > 0, spans, np.nan)
    if not np.isfinite(values).any():
        return []
    t_ns = context.clock.to_utc("boottime", start_ns + (at_s * 1e9).astype(np.int64))
    lines = np.array([item.line for item in ordered], np.int32)
    return [Series(metric, t_ns, values.reshape(-1, 1), part=_PART, lines=lines)]


COLLECTOR = Collector(
    id="perf_stat",
    title=Text("Event counts", "事件计数"),
    why=Text(
        "Migrations, faults, system calls and instructions per second: counted, so that it costs little.",
        "每秒的迁移、缺页、系统调用与指令数：只计数不记录，开销很小。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), perf=True, remedy="linux-perf"),
            sh=_SH,
            command_line=f"perf stat -a (or -p of the target) -e {_SOFTWARE},{_HARDWARE},{_SYSCALLS} -I 1000"
            " -- sleep {seconds}",
            version="perf version",
        ),
    ),
    parse=parse_perf_stat,
    cost=Cost(
        1.0,
        1_000,
        Text(
            "Counters only; each system call takes some 0.1 µs longer.",
            "只用计数器；每次系统调用约慢 0.1 µs。",
        ),
    ),
    yields=tuple(_METRICS.values()),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
