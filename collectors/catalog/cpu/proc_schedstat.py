"""How long runnable threads waited for a CPU, by process and by control group."""

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

_MAX_BYTES = 4 << 20
_DELAYS = (
    Column("threads"),
    Column("run_s"),
    Column("wait_s"),
    Column("switches"),
    Column("delay_ms_per_switch", "ms"),
    Column("wait_share_pct", "pct"),
)
_COLUMNS = (Column("pid"), Column("comm"), Column("cgroup"), *_DELAYS)
_CGROUP_COLUMNS = (Column("cgroup"), Column("processes"), *_DELAYS)
#: Differences are made by thread, on the host: the sums of a process fall when a thread ends. Threads that end
#: before the second look are not counted.
_SH = r"""
LC_ALL=C
export LC_ALL
S='/proc/[0-9]*/task/[0-9]*/schedstat' C='/proc/[0-9]*/comm' G='/proc/[0-9]*/cgroup'
all() {
  e=$1
  shift
  if [ $# -le 10000 ]; then grep -sHE "$e" "$@"; else printf '%s\n' "$@" | head -n 30000 | xargs grep -sHE "$e"; fi
}
look() {
  read -r u x </proc/uptime
  echo "@ $u"
  all '' $S
}
{
  trap : TERM
  look
  sleep "$SECS" &
  wait $!
  look
  echo @ end
  all '' $C
  all '^[0-9]+:([^:]*,)?(cpu(,[^:]*)?)?:/' $G
} | (trap '' TERM; awk '
/^@ end/ { last = 1; next }
/^@ / { n++; t[n] = $2; next }
{
  i = index($0, ":"); f = substr($0, 1, i - 1); v = substr($0, i + 1)
  split(f, w, "/"); p = w[3]
}
!last {
  split(v, s, " "); k = w[5]
  if (n == 1) { seen[k] = p; r[k] = s[1]; d[k] = s[2]; c[k] = s[3]; next }
  if (seen[k] != p) r[k] = d[k] = c[k] = 0
  T[p]++; R[p] += s[1] - r[k]; D[p] += s[2] - d[k]; C[p] += s[3] - c[k]
  next
}
w[4] == "comm" { gsub(/[[:cntrl:]]/, "?", v); name[p] = v; next }
{ sub(/^[^:]*:[^:]*:/, "", v); gsub(/[[:cntrl:]]/, "?", v); if (length(v) > length(cg[p])) cg[p] = v }
END {
  print "time\tseconds"
  printf "=\t%.2f\n", t[2] - t[1]
  print "process\tpid\tthreads\trun_ns\twait_ns\tswitches\tcgroup\tcomm"
  for (p in T) {
    g = cg[p]; P[g]++; GT[g] += T[p]; GR[g] += R[p]; GD[g] += D[p]; GC[g] += C[p]
    if (C[p] > 0) printf "p\t%s\t%d\t%.0f\t%.0f\t%.0f\t%s\t%s\n", p, T[p], R[p], D[p], C[p], g, name[p] | top
  }
  close(top)
  print "cgroup\tcgroup\tprocesses\tthreads\trun_ns\twait_ns\tswitches"
  for (g in P) if (GC[g] > 0) printf "c\t%s\t%d\t%d\t%.0f\t%.0f\t%.0f\n", g, P[g], GT[g], GR[g], GD[g], GC[g] | low
  close(low)
}' top="sort -t '	' -k5,5nr | head -n 300" low="sort -t '	' -k6,6nr | head -n 200")
"""


def parse_proc_schedstat(parts: Mapping[str, Part], context: Context) -> Parsed:
    """What grew in /proc/PID/task/*/schedstat (time on a CPU, time runnable and waiting, both ns; turns on a CPU).

    `delay_ms_per_switch` is the mean wait before a turn: the sign of too many runnable threads, which the share of
    throttled periods is not. `wait_share_pct` is waiting of waiting and running together.
    """
    matching_tagged_tables = tagged_tables.read_tagged_tables(parts, _MAX_BYTES)
    if "time" not in matching_tagged_tables.tables:
        return Parsed(
            warnings=(*matching_tagged_tables.warnings, Sentence("warning.too_few_samples")), readable=False
        )
    tables = []
    processes = [row for row in matching_tagged_tables.of("process") if row.whole("pid") is not None]
    if processes:
        rows = tuple(
            (row.whole("pid"), row.text("comm", 64), _build_group(row), *_compute_delays(row))
            for row in processes
        )
        tables.append(Table("sched_delay", _COLUMNS, rows, lines=tuple(row.line for row in processes)))
    groups = matching_tagged_tables.of("cgroup")
    if groups:
        rows = tuple((_build_group(row), row.whole("processes"), *_compute_delays(row)) for row in groups)
        lines = tuple(row.line for row in groups)
        tables.append(Table("sched_delay_cgroup", _CGROUP_COLUMNS, rows, lines=lines))
    seconds = next((row.number("seconds") for row in matching_tagged_tables.of("time")), None)
    return Parsed(tables=tuple(tables), facts={"seconds": seconds}, warnings=matching_tagged_tables.warnings)


def _build_group(row: TaggedRow) -> str | None:
    return to_text(row.raw("cgroup"), 1000) or None


def _compute_delays(row: TaggedRow) -> tuple[int | float | None, ...]:
    run, wait, switches = (row.number(name) for name in ("run_ns", "wait_ns", "switches"))
    known = run is not None and wait is not None
    both = run + wait if run is not None and wait is not None else 0.0
    return (
        row.whole("threads"),
        run / 1e9 if run is not None else None,
        wait / 1e9 if wait is not None else None,
        switches,
        wait / 1e6 / switches if wait is not None and switches else None,
        100.0 * wait / both if known and wait is not None and both > 0 else None,
    )


COLLECTOR = Collector(
    id="proc_schedstat",
    title=Text("Waiting for a CPU", "等待 CPU 的时间"),
    why=Text(
        "How long the threads of each process and group were ready to run and had no CPU.",
        "每个进程与控制组的线程就绪却没有 CPU 可用的时间。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "schedstat",
            Needs(
                tools=("awk", "grep", "xargs", "sort"),
                files=("/proc/self/schedstat",),
                remedy="a kernel with CONFIG_SCHED_INFO; findutils, grep",
            ),
            sh=strip_indent(_SH),
            command_line="grep -H '' /proc/[0-9]*/task/*/schedstat, twice, {seconds} s apart",
            stop="TERM",
        ),
    ),
    parse=parse_proc_schedstat,
    cost=Cost(
        0.3,
        1_500,
        Text(
            "Two samples of every thread: 0.06 s of CPU each at 5,000 threads.",
            "对每个线程读取两次：5,000 个线程时每次约 0.06 秒 CPU。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
