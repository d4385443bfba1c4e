"""Page faults of single processes: which of them wait for the disk to get their own pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import isnan

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.perf import perf_stat
from collectors.parse.tables.tokens import parse_seconds_ns, parse_whole, to_text
from collectors.shell.perf import PRELUDE

_MAX_BYTES = 4 << 20
_PART = "stat.txt"
_THREADS = "threads.txt"
_EVENTS = ("major-faults", "minor-faults")
_MAX_ROWS = 512
_COLUMNS = (
    Column("pid"),
    Column("comm"),
    Column("major_faults_per_s", "per_s"),
    Column("minor_faults_per_s", "per_s"),
    Column("major_faults"),
    Column("minor_faults"),
)

# perf names threads only, so the process of each thread is written to a second file.
_SH = (
    PRELUDE
    + rf"""
pids=$(echo ${{TARGET_PIDS-$TARGET_PID}} | tr ' ' , | cut -d , -f 1-64)
for pid in $(echo "$pids" | tr , ' '); do
    read -r comm < "/proc/$pid/comm" || continue
    for task in "/proc/$pid/task"/*; do echo "$pid ${{task##*/}} $comm"; done
done 2> .gone | head -n 5000 > {_THREADS}
"$perf" stat -x ';' --per-thread -e {",".join(_EVENTS)} -p "$pids" -o {_PART} -- sleep "$SECS" > record.log 2>&1
report "stat_exit $?"
cat record.log >&2
grep -q -e ';major-faults' {_PART} || {{ rm -f {_PART} {_THREADS}; exit 69; }}
"""
)
_PROC_SH = r"""
LC_ALL=C
export LC_ALL
reading() {
    read -r up rest < /proc/uptime
    echo "T $1 $up"
    for pid in ${TARGET_PIDS-$TARGET_PID}; do
        read -r line < "/proc/$pid/stat" || continue
        comm=${line#*\(}
        set -- "$1" ${line##*) }
        echo "P $1 $pid $9 ${11} ${comm%)*}"
    done 2> .gone
}
set -f
reading 1
sleep "$SECS"
reading 2
rm -f .gone
"""

Faults = tuple[int, str, float, float, int]  # pid, name, major, minor, line


def parse_perf_stat_faults(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Faults of each process, the most major ones first; by the kernel's own sums where perf cannot count."""
    if _PART in parts:
        result, seconds, part = _parse_perf(parts), context.seconds, _PART
    elif "stdout" in parts:
        result, seconds = _parse_proc(parts["stdout"].read(_MAX_BYTES))
        part = "stdout"
    else:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": _PART}),), readable=False)
    if not result or not seconds > 0:
        return Parsed(warnings=(Sentence("warning.too_few_samples"),), readable=False)
    result.sort(key=lambda item: (-item[2], -item[3], item[0]))
    rows = tuple((pid, comm, a / seconds, i / seconds, a, i) for pid, comm, a, i, _ in result[:_MAX_ROWS])
    lines = tuple(line for *_, line in result[:_MAX_ROWS])
    return Parsed(tables=(Table("process_faults", _COLUMNS, rows, part, lines),))


def _parse_perf(parts: Mapping[str, Part]) -> list[Faults]:
    """Sums over threads; a thread that did not run was `<not counted>`, which is zero faults."""
    owners: dict[str, tuple[int, str]] = {}
    threads = parts.get(_THREADS)
    for line in threads.read(_MAX_BYTES).split(b"\n")[:5_000] if threads is not None else []:
        pid_text, _, rest = line.partition(b" ")
        tid, _, comm = rest.partition(b" ")
        if (pid := parse_whole(pid_text)) is not None and parse_whole(tid) is not None:
            owners[to_text(tid, 12)] = (pid, to_text(comm, 64))
    sums: dict[int, dict[str, float]] = defaultdict(lambda: dict.fromkeys(_EVENTS, 0.0))
    reported: dict[int, tuple[str, int]] = {}
    for event_count in perf_stat.parse_event_counts(parts[_PART].read(_MAX_BYTES), _EVENTS):
        thread = event_count.before[-1] if event_count.before else ""
        displayed, _, thread_id = thread.rpartition("-")
        number = parse_whole(thread_id.encode("ascii", "replace"))
        pid, name = owners.get(thread_id, (-1 if number is None else number, displayed))
        event = event_count.event.partition(":")[0]
        sums[pid][event] += 0.0 if isnan(event_count.value) else event_count.value
        if pid not in reported or (event == _EVENTS[0] and event_count.value > 0):
            reported[pid] = (name, event_count.line)
    return [
        (pid, reported[pid][0], both[_EVENTS[0]], both[_EVENTS[1]], reported[pid][1])
        for pid, both in sums.items()
        if pid >= 0
    ]


def _parse_proc(text: bytes) -> tuple[list[Faults], float]:
    """Differences between both readings of fields 10 and 12 of /proc/PID/stat, and the time between them."""
    at_ns: dict[bytes, int] = {}
    first: dict[int, tuple[int, int]] = {}
    faults: list[Faults] = []
    for number, line in enumerate(text.split(b"\n")[:5_000], 1):
        tokens = line.split(b" ", 5)
        if tokens[0] == b"T" and len(tokens) == 3 and (now := parse_seconds_ns(tokens[2])) is not None:
            at_ns[tokens[1]] = now
        if tokens[0] != b"P" or len(tokens) != 6:
            continue
        pid, minor, major = (parse_whole(token) for token in tokens[2:5])
        if pid is None or minor is None or major is None:
            continue
        if tokens[1] == b"1":
            first[pid] = (major, minor)
        elif pid in first:
            before = first[pid]
            moved = (float(max(0, major - before[0])), float(max(0, minor - before[1])))
            faults.append((pid, to_text(tokens[5], 64), *moved, number))
    return faults, (at_ns.get(b"2", 0) - at_ns.get(b"1", 0)) / 1e9


COLLECTOR = Collector(
    id="perf_stat_faults",
    title=Text("Page faults by process", "进程缺页"),
    why=Text(
        "Which process waits for the disk to get back its own code and mapped files.",
        "哪个进程在等待磁盘换回自己的代码与映射文件。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "perf",
            Needs(tools=("perf",), perf=True, target=True, remedy="linux-perf"),
            sh=_SH,
            command_line="perf stat --per-thread -e major-faults,minor-faults -p PID -- sleep {seconds}",
            version="perf version",
        ),
        Script(
            "proc",
            Needs(files=("/proc/self/stat",), target=True, remedy="mount -t proc proc /proc"),
            sh=_PROC_SH,
            command_line="read /proc/PID/stat twice in {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_perf_stat_faults,
    cost=Cost(0.2, 1_000, Text("Two counters for each thread.", "每个线程两个计数器。")),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
