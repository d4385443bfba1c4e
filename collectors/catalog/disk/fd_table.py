"""What processes hold open: how each file was opened, how fast it is read or written, and how near the limit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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

_MAX_BYTES = 8 << 20
_MAX_LINES = 60_000
_MAX_ROWS = 2_000
#: include/uapi/asm-generic/fcntl.h; O_SYNC is two bits, of which one is O_DSYNC.
_O_SYNC = 0o4010000
_O_DSYNC = 0o10000
_O_APPEND = 0o2000
#: The one flag among these that differs by architecture.
_O_DIRECT = {"aarch64": 0o200000, "armv7l": 0o200000, "ppc64le": 0o400000, "ppc64": 0o400000}
_O_DIRECT_ELSEWHERE = 0o40000
_OCTAL = re.compile(rb"[0-7]{1,12}")
_COLUMNS = (
    Column("pid"),
    Column("comm"),
    Column("fd"),
    Column("kind"),
    Column("path"),
    Column("flags"),
    Column("access"),
    Column("o_sync"),
    Column("o_dsync"),
    Column("o_direct"),
    Column("o_append"),
    Column("pos_delta_bytes_per_s", "bytes_per_s"),
    Column("deleted"),
)
_COUNTS = (
    Column("pid"),
    Column("comm"),
    Column("open_first"),
    Column("open_last"),
    Column("limit"),
    Column("used_pct", "pct"),
    Column("growth"),
    Column("files"),
    Column("sockets"),
    Column("pipes"),
    Column("anon"),
)

# `ls` and one awk: no fork for each descriptor; `-R` for the headings, which a single directory lacks. Processes are
# the target's, and of the host the 15 that moved most bytes in one second, the 10 with the largest tables, and the 10
# whose tables are largest for their own limit, as one that leaks under a small limit moves nothing in the end. With a
# target, more files of each are read. The name of a file may hold a line end, and then what is like a line of `ls`.
_SH = r"""
LC_ALL=C
export LC_ALL
cd /proc || exit 69
per=150 all=2000
[ -z "${TARGET_PIDS-}" ] || per=300 all=5000
moved() {
    echo "$1"
    grep -Hs -e char -e ^read_b -e ^write_b [0-9]*/io
}
pids=$( { moved 1; sleep 1; moved 2; echo 3
    grep -s -e ^FDSize: -e '^Max open files' [0-9]*/status [0-9]*/limits; } | awk -F '[/: \t]+' '
    NF == 1 { part = $1; next }
    part == 1 { before[$1] += $4 }
    part == 2 { after[$1] += $4 }
    $2 == "status" { size[$1] = $4 + 0 }
    $2 == "limits" { most[$1] = $6 + 0 }
    function print_greatest(a, n,  p, k) {
        while (n-- > 0) {
            k = ""
            for (p in a) if (k == "" || a[p] > a[k]) k = p
            if (k == "") return
            print k
            delete a[k]
        }
    }
    END {
        for (p in after) if ((p in before) && after[p] > before[p]) grown[p] = after[p] - before[p]
        for (p in size) if (most[p] > 0) share[p] = size[p] / most[p]
        print_greatest(grown, 15); print_greatest(share, 10); print_greatest(size, 10)
    }')
SECS=$((SECS - 1))
dirs= n=0
for one in ${TARGET_PIDS-} $pids; do
    case "$dirs " in *" $one/fd "*) continue ;; esac
    [ $n -lt 512 ] || break
    n=$((n + 1)) dirs="$dirs $one/fd"
done
[ -n "$dirs" ] || exit 69
reading() {
    read -r up rest < uptime
    echo "T $1 $up"
    ls -lnR $dirs 2> /dev/null | awk -v t="$1" -v per="$per" -v most="$all" '
        /^[0-9]+\/fd:$/ { p = substr($0, 1, index($0, "/") - 1); n[p] = 0; next }
        p != "" && (a = index($0, " -> ")) {
            path = substr($0, a + 4); c = split(substr($0, 1, a - 1), w, " "); fd = w[c]
            if (fd !~ /^[0-9]+$/) next
            k = path ~ /^socket:/ ? "s" : path ~ /^pipe:/ ? "p" : path ~ /^\/memfd:|^\/proc\/|^[^\/]/ ? "a" : "f"
            num[p, k]++; n[p]++
            if (k != "f" || m[p]++ >= per || all++ >= most) next
            f = p "/fdinfo/" fd; pos = flags = "-"
            while ((getline l < f) > 0) { split(l, v); if (v[1] == "pos:") pos = v[2]
                else if (v[1] == "flags:") { flags = v[2]; break } }
            close(f)
            print "F", t, p, fd, pos, flags, substr(path, 1, 300)
        }
        END { for (p in n) {
            f = p "/limits"; lim = "-"
            while ((getline l < f) > 0) if (l ~ /^Max open files/) { split(l, v); lim = v[4] }
            close(f)
            c = "-"; f = p "/comm"; getline c < f; close(f)
            print "C", t, p, n[p], lim, num[p, "f"] + 0, num[p, "s"] + 0, num[p, "p"] + 0, num[p, "a"] + 0, c
        } }'
}
echo "A $(uname -m)"
reading 1
[ "$SECS" -lt 1 ] || sleep "$SECS"
reading 2
"""

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class _Fd:
    line: int
    position: int | None
    flags: int | None
    flags_text: str
    path: str


@dataclass(frozen=True, slots=True)
class _Count:
    line: int
    limit: int | None
    total: int
    kinds: tuple[int, ...]
    comm: str


@dataclass(slots=True)
class _Scans:
    """Both readings: descriptors by (pid, fd), counts by pid, when, and the machine."""

    fds: tuple[dict[tuple[int, int], _Fd], dict[tuple[int, int], _Fd]] = field(
        default_factory=lambda: ({}, {})
    )
    counts: tuple[dict[int, _Count], dict[int, _Count]] = field(default_factory=lambda: ({}, {}))
    boot_ns: list[int | None] = field(default_factory=lambda: [None, None])
    machine: str = ""
    unreadable: int = 0


def parse_fd_table(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Files of the last reading, those opened for synchronous writes and those that move first; and counts.

    Sockets, pipes, memfds and files of /proc are only counted. A position moves with read and write, not with pread
    and pwrite. Source: /proc/PID/fdinfo, see proc(5); flags are octal.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    scans = _read_lines(part.read(_MAX_BYTES))
    warnings = [Sentence("warning.lines_unreadable", {"count": scans.unreadable})] if scans.unreadable else []
    if not scans.counts[1]:
        return Parsed(warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    tables = [_build_count_table(scans)]
    if scans.fds[1]:
        tables.append(_build_fd_table(scans))
    return Parsed(tables=tuple(tables), warnings=tuple(warnings))


def _read_lines(text: bytes) -> _Scans:
    scans = _Scans()
    for number, line in enumerate(text.split(b"\n")[:_MAX_LINES], 1):
        kind, _, rest = line.partition(b" ")
        if kind == b"A":
            scans.machine = to_text(rest, 40)
            continue
        turn, _, rest = rest.partition(b" ")
        at = {b"1": 0, b"2": 1}.get(turn)
        if at is None:
            scans.unreadable += bool(line)
        elif kind == b"T":
            scans.boot_ns[at] = parse_seconds_ns(rest.strip())
        elif not (
            (kind == b"F" and _read_fd(scans, at, number, rest)) or _read_count(scans, at, number, kind, rest)
        ):
            scans.unreadable += 1
    return scans


def _read_fd(scans: _Scans, at: int, number: int, rest: bytes) -> bool:
    tokens = rest.split(b" ", 4)
    pid, fd = (parse_whole(token) for token in tokens[:2]) if len(tokens) == 5 else (None, None)
    if pid is None or fd is None:
        return False
    flags = int(tokens[3], 8) if _OCTAL.fullmatch(tokens[3]) else None
    scans.fds[at][pid, fd] = _Fd(
        number, parse_whole(tokens[2]), flags, to_text(tokens[3], 12), to_text(tokens[4], 300)
    )
    return True


def _read_count(scans: _Scans, at: int, number: int, kind: bytes, rest: bytes) -> bool:
    tokens = rest.split(b" ", 7)
    if kind != b"C" or len(tokens) != 8:
        return False
    pid, total, *kinds = (parse_whole(token) for token in (*tokens[:2], *tokens[3:7]))
    if pid is None or total is None:
        return False
    known = tuple(count or 0 for count in kinds)
    scans.counts[at][pid] = _Count(number, parse_whole(tokens[2]), total, known, to_text(tokens[7], 64))
    return True


def _build_count_table(scans: _Scans) -> Table:
    first, last = scans.counts
    rows: list[tuple[Cell, ...]] = []
    order = sorted(last, key=lambda pid: (-last[pid].total, pid))[:_MAX_ROWS]
    for pid in order:
        now, before = last[pid], first.get(pid)
        used = 100.0 * now.total / now.limit if now.limit else None
        growth = now.total - before.total if before else None
        rows.append(
            (pid, now.comm, before.total if before else None, now.total, now.limit, used, growth, *now.kinds)
        )
    return Table("fd_counts", _COUNTS, tuple(rows), lines=tuple(last[pid].line for pid in order))


def _build_fd_table(scans: _Scans) -> Table:
    began, ended = scans.boot_ns
    elapsed_s = (ended - began) / 1e9 if began is not None and ended is not None and ended > began else None
    direct = _O_DIRECT.get(scans.machine, _O_DIRECT_ELSEWHERE)
    results: list[tuple[tuple[Cell, ...], int]] = []
    for (pid, fd), now in scans.fds[1].items():
        before = scans.fds[0].get((pid, fd))
        moved = None
        if before and before.path == now.path and elapsed_s and None not in {before.position, now.position}:
            moved = ((now.position or 0) - (before.position or 0)) / elapsed_s
        counted = scans.counts[1].get(pid)
        deleted = now.path.endswith(" (deleted)")
        head = (pid, counted.comm if counted else "", fd, "file", now.path.removesuffix(" (deleted)"))
        results.append(((*head, *_decode_flags(now, direct), moved, int(deleted)), now.line))
    results.sort(key=lambda item: (-int(item[0][8] or 0), -abs(float(item[0][11] or 0)), item[1]))
    stored = results[:_MAX_ROWS]
    return Table("fds", _COLUMNS, tuple(row for row, _ in stored), lines=tuple(line for _, line in stored))


def _decode_flags(fd: _Fd, direct: int) -> tuple[Cell, ...]:
    """flags, access, o_sync, o_dsync (which O_SYNC includes), o_direct, o_append; None where unknown."""
    flags = fd.flags
    if flags is None:
        return (fd.flags_text, None, None, None, None, None)
    return (
        *(fd.flags_text, ("r", "w", "rw", "")[flags & 3], int(flags & _O_SYNC == _O_SYNC)),
        *(int(bool(flags & _O_DSYNC)), int(bool(flags & direct)), int(bool(flags & _O_APPEND))),
    )


COLLECTOR = Collector(
    id="fd_table",
    title=Text("Open files", "打开的文件"),
    why=Text(
        "Which files are open and how: synchronous logs, files read again and again, descriptors that leak.",
        "打开了哪些文件、以何种方式：同步写日志、反复读取的文件、泄漏的描述符。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "ls"),
                files=("/proc/self/fdinfo",),
                root=True,
                remedy="mount -t proc proc /proc",
            ),
            sh=_SH,
            command_line="read /proc/PID/fd and fdinfo of the target or of 35 processes, twice in {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_fd_table,
    cost=Cost(
        0.4,
        3_000,
        Text(
            "Two samples of up to 2,000 files, or 5,000 of a target.",
            "读取两次，至多 2000 个文件；有目标时至多 5000 个。",
        ),
    ),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
