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
from collectors.parse import perf_stat, stamps
from collectors.parse.perf_stat import Count
from collectors.perf_shell import PRELUDE

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
say "scope ${{scope%% *}}"
for events in {_SOFTWARE},{_HARDWARE},{_SYSCALLS} {_SOFTWARE},{_SYSCALLS} {_SOFTWARE}; do
    read -r up rest < /proc/uptime
    echo "$up" > started
    rm -f {_PART}
    "$perf" stat -x ';' $scope -e "$events" -I 1000 -o {_PART} -- sleep "$SECS" > record.log 2>&1
    say "stat_exit $?"
    grep -q -e ';context-switches' {_PART} 2> .none && break
done
echo "$perf stat -x ; $scope -e $events -I 1000 -- sleep $SECS" > "${{ARGV:-/dev/null}}"
cat record.log >&2
grep -q -e ';context-switches' {_PART} || {{ rm -f {_PART} started; exit 69; }}
"""
)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Totals of all events; over time only where the whole host was counted, because metrics are the host's."""
    part = parts.get(_PART)
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": _PART}),), readable=False)
    counts = list(perf_stat.read(part.read(_MAX_BYTES), _EVENTS))
    times = [one.time_s for one in counts if one.time_s > 0]
    table = perf_stat.totals(counts, max(times, default=0.0), "perf_stat", _PART)
    if table is None:
        return Parsed(warnings=(Sentence("warning.no_samples", {"part": _PART}),), readable=False)
    status = parts.get("status.txt")
    whole_host = status is not None and b"scope -a" in status.read(4096).split(b"\n")
    start = stamps.started_boot_ns(parts)
    series: list[Series] = []
    if whole_host and start is not None:
        for event, metric in _METRICS.items():
            series += _series(context, metric, start, [one for one in counts if _is(one, event)])
    facts = {"perf_stat_scope": "host" if whole_host else "target"}
    return Parsed(series=tuple(series), tables=(table,), facts=facts)


def _is(one: Count, event: str) -> bool:
    return one.event in {event, f"{event}:u"} and 0 < one.time_s < 1e6


def _series(context: Context, metric: str, start_ns: int, counts: Sequence[Count]) -> list[Series]:
    """Rates of one event, each over the time since the interval before it."""
    ordered = sorted(counts, key=lambda one: one.time_s)
    at_s = np.array([one.time_s for one in ordered])
    spans = np.diff(at_s, prepend=0.0)
    values = np.array([one.value for one in ordered]) / np.where(spans > 0, spans, np.nan)
    if not np.isfinite(values).any():
        return []
    t_ns = context.clock.to_utc("boottime", start_ns + (at_s * 1e9).astype(np.int64))
    lines = np.array([one.line for one in ordered], np.int32)
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
    ways=(
        Script(
            "perf",
            Needs(tools=("perf",), perf=True, mend="linux-perf"),
            sh=_SH,
            shows=f"perf stat -a (or -p of the target) -e {_SOFTWARE},{_HARDWARE},{_SYSCALLS} -I 1000"
            " -- sleep {seconds}",
            version="perf version",
        ),
    ),
    parse=parse,
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
