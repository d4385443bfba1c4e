"""Which processes grow: resident, anonymous and swapped memory of each, read several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
from collectors.parse.tables.tokens import parse_seconds_ns, parse_whole, to_text

_MAX_BYTES = 16 << 20
_MAX_LINES = 400_000
_MAX_ROWS = 200
_FIELDS = 8
_COLUMNS = (
    Column("pid"),
    Column("comm"),
    Column("rss_first_kb", "kb"),
    Column("rss_last_kb", "kb"),
    Column("growth_kb_per_s", "kb_per_s"),
    Column("rising_pct", "pct"),
    Column("readings"),
    Column("seen_s", "s"),
    Column("anon_first_kb", "kb"),
    Column("anon_last_kb", "kb"),
    Column("anon_growth_kb_per_s", "kb_per_s"),
    Column("anon_slowest_kb_per_s", "kb_per_s"),
    Column("file_kb", "kb"),
    Column("swap_first_kb", "kb"),
    Column("swap_last_kb", "kb"),
    Column("threads_first"),
    Column("threads_last"),
)

# grep reads, because mawk ends at the first process that is gone. Of more than 400 processes the largest are followed.
_SH = r"""
LC_ALL=C
export LC_ALL
cd /proc || exit 69
trap : TERM
n=$((SECS / 2))
[ "$n" -ge 3 ] || n=3
[ "$n" -le 6 ] || n=6
i=0
set -- [0-9]*/status
many=
[ $# -le 400 ] || many=$(grep -sH '' [0-9]*/statm | sort -t ' ' -k2,2nr | sed -n '1,400s|/.*|/status|p')
{
    while :; do
        read -r up rest < uptime
        echo "= $up"
        if [ -n "$many" ]; then set -- $many; else set -- [0-9]*/status; fi
        grep -sHE '^(Name|VmRSS|RssAnon|RssFile|VmSwap|Threads):' "$@"
        i=$((i + 1))
        [ "$i" -le "$n" ] || break
        sleep $((SECS * i / n - SECS * (i - 1) / n)) || break
    done
} | (trap '' TERM; exec awk '
    /^=/ { print; next }
    { f = substr($1, index($1, ":") + 1) }
    f == "Name:" { name = substr($0, index($0, "\t") + 1); rss = ""; anon = file = swap = "-"; next }
    f == "VmRSS:" { rss = $2 }
    f == "RssAnon:" { anon = $2 }
    f == "RssFile:" { file = $2 }
    f == "VmSwap:" { swap = $2 }
    f == "Threads:" && rss != "" {
        print substr($0, 1, index($0, "/") - 1), rss, anon, file, swap, $2, "x", name
        rss = ""
    }')
"""

Row = tuple[str | int | float | None, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One process at one moment; sizes in kB, None where the kernel does not tell them (before 4.5)."""

    boot_ns: int
    line: int
    rss: int
    anon: int | None
    file: int | None
    swap: int | None
    threads: int


def parse_proc_mem(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Processes by growth, those that grew most first. `rising_pct` is the share of steps that went up, and
    `anon_slowest_kb_per_s` the growth in the slowest one: what starts or fills a cache rests in some of them.

    Source: /proc/PID/status, see proc(5). A process whose name changed is not the same one any more.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    processes, unreadable = _read_lines(part.read(_MAX_BYTES))
    names = [
        (name, pid, readings)
        for (pid, name), readings in processes.items()
        if len(readings) > 1 and readings[-1].boot_ns > readings[0].boot_ns
    ]
    warnings = [Sentence("warning.lines_unreadable", {"count": unreadable})] if unreadable else []
    if not names:
        return Parsed(warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    names.sort(key=lambda name: (-abs(name[2][-1].rss - name[2][0].rss), -name[2][-1].rss, name[1]))
    stored_names = names[:_MAX_ROWS]
    rows = tuple(_build_row(pid, name, readings) for name, pid, readings in stored_names)
    lines = tuple(readings[-1].line for _, _, readings in stored_names)
    return Parsed(tables=(Table("proc_memory", _COLUMNS, rows, lines=lines),), warnings=tuple(warnings))


def _read_lines(text: bytes) -> tuple[dict[tuple[int, str], list[_Reading]], int]:
    processes: dict[tuple[int, str], list[_Reading]] = {}
    boot_ns: int | None = None
    unreadable = 0
    for number, line in enumerate(text.split(b"\n")[:_MAX_LINES], 1):
        if line.startswith(b"= "):
            boot_ns = parse_seconds_ns(line[2:].strip())
            continue
        tokens = line.split(b" ", _FIELDS - 1)
        pid, rss = (parse_whole(token) for token in tokens[:2]) if len(tokens) == _FIELDS else (None, None)
        if pid is None or rss is None or boot_ns is None:
            unreadable += bool(line)
            continue
        anon, file, swap, threads = (parse_whole(token) for token in tokens[2:6])
        readings = processes.setdefault((pid, to_text(tokens[7], 64)), [])
        if not readings or readings[-1].boot_ns <= boot_ns:
            readings.append(_Reading(boot_ns, number, rss, anon, file, swap, threads or 0))
    return processes, unreadable


def _build_row(pid: int, name: str, readings: Sequence[_Reading]) -> Row:
    first, last = readings[0], readings[-1]
    elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
    steps = [after.rss > before.rss for before, after in pairwise(readings)]
    grown = None if first.anon is None or last.anon is None else (last.anon - first.anon) / elapsed_s
    rates = [
        (after.anon - before.anon) * 1e9 / (after.boot_ns - before.boot_ns)
        for before, after in pairwise(readings)
        if before.anon is not None and after.anon is not None and after.boot_ns > before.boot_ns
    ]
    return (
        *(pid, name, first.rss, last.rss, (last.rss - first.rss) / elapsed_s),
        *(100.0 * sum(steps) / len(steps), len(readings), elapsed_s, first.anon, last.anon, grown),
        min(rates, default=None),
        *(last.file, first.swap, last.swap, first.threads, last.threads),
    )


COLLECTOR = Collector(
    id="proc_mem",
    title=Text("Memory by process", "进程内存"),
    why=Text(
        "Which processes hold memory and which grow: resident, anonymous and swapped, read several times.",
        "哪些进程占用内存、哪些在增长：常驻、匿名与换出内存，多次读取。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/self/status",), remedy="mount -t proc proc /proc"),
            sh=_SH,
            command_line="read /proc/[0-9]*/status four to seven times in {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_proc_mem,
    cost=Cost(
        0.2,
        5_000,
        Text("Seven scans of all processes at most.", "最多扫描所有进程七次。"),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
