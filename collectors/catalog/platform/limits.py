"""How near the host, its control groups and its processes are to limits that make calls fail."""

from __future__ import annotations

from collections.abc import Mapping

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
from collectors.parse.tables import tagged_tables
from collectors.parse.tables.tagged_tables import TaggedRow
from collectors.parse.tables.tokens import to_text
from collectors.shell.dedent import strip_indent

_MAX_BYTES = 1 << 20
_COLUMNS = (
    Column("name"),
    Column("used"),
    Column("max"),
    Column("used_pct", "pct"),
    Column("scope"),
    Column("where"),
    Column("comm"),
)
#: pids.events counts the forks that a limit refused. RLIMIT_NPROC counts the tasks of a user and does not bind root;
#: processes of a user can have different limits, and the lowest of 20 of them counts. A process with a limit of 0 or 1
#: was confined on purpose to start no other, as sandboxes do.
#: Files below /proc/sys are read by cat: some shells read a byte at a time, and those files give only the first.
#: FDSize bounds the open files of a process from above and costs nothing: only where it is greatest are they counted.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
T='	'
limited() {
  while read -r x d k o x; do
    case $k,$o, in cgroup2,* | cgroup,*,pids,*) ;; *) continue ;; esac
    echo "=$d"
    g=${TARGET_CGROUP-}
    while [ -n "$g" ]; do echo "$g"; g=${g%/*}; done
    (cd "$d" && find . -name pids.max -exec grep -Lx max {} +)
  done </proc/self/mounts 2>/dev/null | awk -v t="$T" 'sub(/^=/, "") { d = $0; n = 0; next }
    sub(/^\./, "") { sub(/\/pids\.max$/, "") }
    !seen[d, $0]++ && n++ < 200 { print d t $0 }'
}
read_groups() {
  printf '%s\n' "$L" | while IFS=$T read -r d p; do
    m= u= n=
    [ -r "$d$p/pids.max" ] && read -r m <"$d$p/pids.max" && read -r u <"$d$p/pids.current" || continue
    [ ! -r "$d$p/pids.events" ] || read -r x n <"$d$p/pids.events"
    printf '%s\t' "$p" "$m" "$u"
    echo "$n"
  done 2>/dev/null
}
L=$(limited)
B=$(read_groups)
sleep "$SECS" &
wait $!
emit() { printf "l\t%s\t%s\t%s\t%s\t%s\t%s\n" "$@"; }
printf "limit\tname\tused\tmax\tscope\twhere\tcomm\n"
read -r a a a b x </proc/loadavg
# The shell reads byte by byte, of which these files give only the first.
set -- $(cat /proc/sys/fs/file-nr /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max)
emit open_files $(($1 - $2)) "$3" host "" ""
emit threads "${b#*/}" "$4" host "" ""
emit pids "${b#*/}" "$5" host "" ""
{ printf '%s\n' "$B"; echo =; read_groups; } | awk -F '\t' '
  $0 == "=" { late = 1; next }
  !late { n[$1] = $4; next }
  $2 != "max" { printf "l\ttasks_of_group\t%s\t%s\tcgroup\t%s\t\n", $3, $2, $1 }
  $4 != "" && n[$1] != "" && $4 >= n[$1] { printf "l\trefused_tasks_of_group\t%s\t\tcgroup\t%s\t\n", $4 - n[$1], $1 }'
grep -sE '^(FDSize|Uid|Threads):' /proc/[0-9]*/status >.status
F=$(awk '$1 ~ /:FDSize:$/ { split($1, w, "/"); size[w[3]] = $2 + 0 }
  $1 ~ /:Uid:$/ && $2 != 0 && m++ < 300 && n[$2]++ < 20 { sub(/status:.*/, "limits"); print }
  END {
    for (print "="; i < 20; i++) {
      k = ""
      for (p in size) if (k == "" || size[p] > size[k]) k = p
      if (k == "") exit
      print k
      delete size[k]
    }
  }' .status)
P=${F#*=}
F=${F%%=*}
{ cat .status; [ -z "$F" ] || grep -sH '^Max processes' $F; } | awk '
  { split($1, w, "/"); p = w[3] }
  $1 ~ /:Uid:$/ { u[p] = $2 }
  $1 ~ /:Threads:$/ && p in u { tasks[u[p]] += $2 }
  $1 ~ /:Max$/ && $3 != "unlimited" && $3 > 1 && (!(u[p] in most) || $3 < most[u[p]]) { most[u[p]] = $3 }
  END { for (x in most) if (x in tasks) printf "l\ttasks_of_user\t%s\t%s\tuser\t%s\t\n", tasks[x], most[x], x }'
F= G= n=0
{
  for p in $P ${TARGET_PIDS-}; do
    case "$F " in *" /proc/$p/limits "*) continue ;; esac
    [ $n -lt 100 ] || break
    n=$((n + 1))
    F="$F /proc/$p/limits" G="$G /proc/$p/comm"
    [ -r /proc/$p/fd ] || continue
    set -- /proc/$p/fd/*
    if [ -L "$1" ]; then echo "$p $#"; else echo "$p 0"; fi
  done
  [ -z "$F" ] || { grep -sH '^Max open files' $F; grep -sH '' $G; }
} | awk '
  /^[0-9]/ { u[$1] = $2; next }
  { i = index($0, ":"); split($0, w, "/"); p = w[3]; v = substr($0, i + 1) }
  substr($0, 1, i) ~ /s:$/ { split(v, l, " "); m[p] = l[4]; next }
  !(p in c) { gsub(/[[:cntrl:]]/, "", v); c[p] = v
    printf "l\topen_files_of_process\t%s\t%s\tprocess\t%s\t%s\n", u[p], m[p], p, v }'
"""


def parse_limits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each limit; `max` is None where there is none, `used` where it may not be seen.

    `refused_tasks_of_group` has no maximum: `used` is how many forks the limit of the group refused in the capture.

    `scope` is host, cgroup, process or user, `where` the path, the pid or the uid. Limits of processes and users are
    the soft ones.
    """
    matching_tagged_tables = tagged_tables.read_tagged_tables(parts, _MAX_BYTES)
    rows = matching_tagged_tables.of("limit")
    if not rows:
        return Parsed(
            warnings=(*matching_tagged_tables.warnings, Sentence("warning.too_few_samples")), readable=False
        )
    cells = tuple(_build_cells(row) for row in rows)
    table = Table("limits", _COLUMNS, cells, lines=tuple(row.line for row in rows))
    return Parsed(tables=(table,), warnings=matching_tagged_tables.warnings)


def _build_cells(row: TaggedRow) -> tuple[str | int | float | None, ...]:
    used, limit = row.number("used"), row.number("max")
    return (
        row.text("name", 60),
        used,
        limit,
        100.0 * used / limit if used is not None and limit else None,
        row.text("scope", 20),
        to_text(row.raw("where"), 1000) or None,
        row.text("comm", 64) or None,
    )


COLLECTOR = Collector(
    id="limits",
    title=Text("Limits", "系统限额"),
    why=Text(
        "Open files, threads and process ids against their limits, of the host, of groups, of users and of processes.",
        "打开文件数、线程数、进程号相对于限额的用量：主机、控制组、用户与进程。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "find", "grep", "sed", "sort"),
                files=("/proc/sys/fs/file-nr",),
                remedy="mount -t proc proc /proc; findutils, grep, sed, awk",
            ),
            sh=strip_indent(_SH),
            command_line="cat /proc/sys/fs/file-nr /proc/PID/limits pids.{max,events}, echo "
            "/proc/PID/fd/* | wc -w, after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_limits,
    cost=Cost(
        0.2,
        100,
        Text(
            "One sample at the end. Open files are counted for 20 processes, or for those of the target.",
            "结束时读取一次；统计 20 个进程或目标进程的打开文件数。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
