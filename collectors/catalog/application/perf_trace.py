"""How long the threads of the target spend in which system calls, without stopping them with ptrace."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

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
from collectors.parse.tables.tokens import parse_amount, parse_counter, parse_whole, to_text

_MAX_BYTES = 4 << 20
_MAX_LINES = 40_000
_MAX_ROWS = 2_000
_THREAD = re.compile(rb"\s{1,8}(.{1,60}) \((\d{1,10})\), (\d{1,15}) events?\b")
_COLUMNS = (
    *(Column("pid"), Column("tid"), Column("comm"), Column("syscall"), Column("calls"), Column("errors")),
    *(Column("total", "ms"), Column("min", "ms"), Column("avg", "ms"), Column("max", "ms")),
    *(Column("rate", "per_s"),),
)
_NUMBERS = ("calls", "errors", "total", "min", "avg", "max")

#: perf trace ends with 0 where it may not open its tracepoints; what counts is that it wrote a summary.
_SH = """
LC_ALL=C DEBUGINFOD_URLS= PERF_CONFIG=/dev/null
export LC_ALL DEBUGINFOD_URLS PERF_CONFIG
p=
for t in ${TARGET_PIDS:-${TARGET_PID-}}; do
  [ -d "/proc/$t" ] && p="$p,$t"
done
[ -n "$p" ] || { echo "no process to look at" >&2; exit 69; }
s=$SECS
[ "$s" -le 10 ] || s=10
for t in ${TARGET_PIDS:-${TARGET_PID-}}; do
  for k in "/proc/$t"/task/[0-9]*; do echo "task $t ${k##*/}"; done
done 2> /dev/null | head -n 5000 > .tasks
echo "perf trace -s -p ${p#,} -- sleep $s" > "${ARGV:-/dev/null}"
perf trace -s -o .sum -p "${p#,}" -- sleep "$s" 2> .err
if grep -q 'syscall .*calls' .sum; then
  echo "seconds $s"
  cat .tasks
  head -c 4000000 .sum
elif grep -q 'Summary of events' .sum; then
  echo "seconds $s"
  echo "quiet"
else
  head -n 5 .err >&2
  echo "perf trace wrote no summary: it needs raw_syscalls in tracefs" >&2
  exit 69
fi
"""


def parse_perf_trace(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `syscalls`, the most time first. The times of perf trace are milliseconds.

    Columns are found by the header of each block: `errors` came with perf 5.5, `stddev` is left out.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    seconds = context.seconds
    lines = part.read(_MAX_BYTES).split(b"\n")[:_MAX_LINES]
    if lines[0].startswith(b"seconds ") and parse_counter(lines[0][8:].strip()) > 0:
        seconds = parse_counter(lines[0][8:].strip())
    rows = sorted(_build_rows(lines, seconds), key=lambda pair: -float(pair[1][6] or 0))[:_MAX_ROWS]
    if not rows and b"quiet" not in lines:
        nothing = Sentence("warning.nothing_known", {"part": "stdout"})
        return Parsed(warnings=(nothing,), readable=False)
    table = Table("syscalls", _COLUMNS, tuple(row for _, row in rows), lines=tuple(n for n, _ in rows))
    return Parsed(tables=(table,) if rows else ())


Row = tuple[str | int | float | None, ...]


def _build_rows(lines: list[bytes], seconds: float) -> Iterator[tuple[int, Row]]:
    process_of: dict[int, int] = {}
    thread: tuple[int, str] | None = None
    header: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if match := _THREAD.match(line[:300]):
            thread, header = (int(match[2]), to_text(match[1], 40)), []
            continue
        tokens = line[:500].split()
        if tokens[:1] == [b"task"] and len(tokens) == 3 and len(process_of) < _MAX_LINES:
            process, task = parse_whole(tokens[1]), parse_whole(tokens[2])
            if process is not None and task is not None:
                process_of[task] = process
        if tokens[:2] == [b"syscall", b"calls"]:
            header = tokens
        elif thread and header and len(tokens) == len(header) and parse_counter(tokens[1]) > 0:
            named = dict(zip(header, tokens, strict=True))
            cells: dict[str, float | None] = {}
            for name in _NUMBERS:
                value = parse_amount(named.get(name.encode(), b""))
                cells[name] = None if math.isnan(value) else value
            calls = int(cells["calls"] or 0)
            errors = None if cells["errors"] is None else int(cells["errors"])
            yield (
                number,
                (
                    *(process_of.get(thread[0]), thread[0], thread[1], to_text(tokens[0], 60), calls, errors),
                    *(cells[name] for name in _NUMBERS[2:]),
                    calls / seconds if seconds > 0 else None,
                ),
            )


COLLECTOR = Collector(
    id="perf_trace",
    title=Text("perf trace", "perf trace"),
    why=Text(
        "Which system calls the threads of the target spend their time in: locks, disks, sockets, sleep.",
        "目标的各线程把时间花在哪些系统调用上：锁、磁盘、套接字或睡眠。",
    ),
    tier=Tier.STANDARD,
    exclusive=True,
    methods=(
        Script(
            "perf",
            Needs(
                tools=("perf",),
                perf=True,
                target=True,
                remedy="root, tracefs at /sys/kernel/tracing, and perf",
            ),
            sh=_SH,
            command_line="perf trace -s -p PIDS -- sleep {seconds} (at most 10)",
            version="perf --version",
        ),
    ),
    parse=parse_perf_trace,
    cost=Cost(
        5.0,
        2_000,
        Text(
            "About 2 us a system call: it halves the throughput of a target that makes 50 000 a second.",
            "目标每次系统调用约增加 2 微秒；每秒 5 万次调用时吞吐约减半。",
        ),
    ),
    seconds_max=10,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
