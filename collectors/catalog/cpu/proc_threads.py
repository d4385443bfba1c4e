"""What threads do: running, ready, asleep or stuck, and where in the kernel they wait."""

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
from collectors.parse.proc import id_list
from collectors.parse.tables import tagged_tables
from collectors.parse.tables.tagged_tables import TaggedRow
from collectors.shell.dedent import strip_indent

_MAX_BYTES = 4 << 20
_COLUMNS = (
    *(Column("pid"), Column("tid"), Column("comm"), Column("samples")),
    *(Column("running_pct", "pct"), Column("sleeping_pct", "pct"), Column("blocked_pct", "pct")),
    *(
        Column("wchan"),
        Column("wchan_pct", "pct"),
        Column("cpu_pct", "pct"),
        Column("delay_ms_per_switch", "ms"),
    ),
    *(Column("voluntary_per_s", "per_s"), Column("involuntary_per_s", "per_s")),
    *(Column("cpus_allowed"), Column("cpus_allowed_count")),
)
_GROUP_COLUMNS = (
    *(Column("pid"), Column("comm"), Column("cgroup"), Column("threads")),
    *(Column("mean_runnable"), Column("mean_blocked"), Column("cpu_pct", "pct"), Column("wait_s")),
    *(Column("switches"), Column("delay_ms_per_switch", "ms")),
)
_WCHAN_COLUMNS = (Column("wchan"), Column("tasks"), Column("seen"), Column("scans"), Column("comm"))
#: The target's threads, ten times a second for five seconds, or those of the 30 busiest processes, four times a second;
#: less often where there are more than a thousand. Which threads there are is asked once a second. Of the host's tasks
#: 20,000 are checked for D state at the start and the end. A wchan of `0` has no meaning and is omitted by `..`.
_SH = r"""
LC_ALL=C
export LC_ALL
trap : TERM
look() {
  e=$1
  shift
  if [ $# -le 10000 ]; then grep -sHE "$e" "$@"; else printf '%s\n' "$@" | head -n 20000 | xargs grep -sHE "$e"; fi
}
up() { read -r u x </proc/uptime; echo "@ $1 $u"; }
stuck() {
  up d
  d=$(look '^[0-9]+ \(.*\) D ' /proc/[0-9]*/task/[0-9]*/stat | head -n 2000)
  [ -z "$d" ] || { echo "$d"; echo "$d" | sed -n 's|/stat:.*|/wchan|p' | xargs grep -sH ''; }
}
ends() { up $1; look '^([0-9]+ [0-9]+ [0-9]+$|(Cpus_allowed_list|(non)?voluntary_ctxt_switches):)' $E; }
P=${TARGET_PIDS-}
z=0.1
[ -n "$P" ] || z=0.25
[ -n "$P" ] || P=$({ grep -s '' /proc/[0-9]*/stat; sleep 1; echo; grep -s '' /proc/[0-9]*/stat; } | awk '
  NF == 0 { b = 1; next }
  { split($0, w, "/"); sub(/^.*\) /, ""); split($0, s, " "); c = s[12] + s[13] }
  b && c > a[w[3]] { print c - a[w[3]], w[3] }
  !b { a[w[3]] = c }' | sort -nr | sed -n '1,30s/.* //p')
[ -n "$P" ] || { echo "no process used any CPU" >&2; exit 69; }
S= W= E= G=
for p in $P; do
  t=/proc/$p/task/[0-9]*
  S="$S $t/stat" W="$W $t/wchan" E="$E $t/schedstat $t/status" G="$G /proc/$p/cgroup"
done
set -- $S
[ -n "${TARGET_PIDS-}" ] || [ $# -le 300 ] || z=0.5
[ $# -le 1000 ] || z=0.5
[ $# -le 5000 ] || z=2
sleep 0.1 2>/dev/null || z=1
s=$SECS
[ $s -le 5 ] || s=5
{
  trap 'n=1' TERM
  n= o=
  stuck
  ends b
  read -r t x </proc/uptime
  t=$((${t%.*} + s))
  while up t && [ ${u%.*} -lt $t ] && [ -z "$n" ]; do
    if [ "${u%.*}" != "$o" ]; then
      o=${u%.*}
      set -- $S $W
    fi
    look .. "$@"
    sleep $z &
    wait $!
  done
  ends e
  stuck
  echo "@ c 0"
  look '^[0-9]+:([^:]*,)?(cpu(,[^:]*)?)?:/' $G
} | (trap '' TERM; awk '
function clean(x) { gsub(/[[:cntrl:]]/, "?", x); return x }
function grown(k, j) { return ((k, j) in E) ? sprintf("%.0f", E[k, j]) : "-" }
function sum(p, j) { return ((p, j) in G) ? sprintf("%.0f", G[p, j]) : "-" }
function comm(x) { sub(/^[^(]*\(/, "", x); sub(/\) [^)]*$/, "", x); return clean(x) }
$1 == "@" { m = $2; if (m == "b") t0 = $3; if (m == "e") t1 = $3; if (m == "d") scans++; if (m == "t") ticks++; next }
{ i = index($0, ":"); f = substr($0, 1, i - 1); v = substr($0, i + 1); split(f, w, "/"); p = w[3]; k = w[5]; f = w[6] }
m == "c" { sub(/^[^:]*:[^:]*:/, "", v); v = clean(v); if (length(v) > length(cg[p])) cg[p] = v; next }
m == "d" {
  if (f == "stat") who[k] = comm(v)
  else { v = clean(v); wn[v]++; if (!(v SUBSEP k in ws)) { ws[v, k]; wt[v]++ } wc[v] = who[k] }
  next
}
f == "stat" {
  of[k] = p; name[k] = comm(v); if (k == p) pname[p] = name[k]
  sub(/^.*\) /, "", v); x = substr(v, 1, 1); N[k]++
  if (x == "R") { R[k]++; gr[p]++ } else if (x == "D") { D[k]++; gd[p]++ } else if (x == "S" || x == "I") S[k]++
  next
}
f == "wchan" {
  if (v == "" || v == "0") next
  v = clean(v); c = ++W[k, v]
  if (c > most[k]) { most[k] = c; at[k] = v }
  next
}
f == "schedstat" {
  split(v, s, " ")
  for (j = 1; j < 4; j++) { if (m == "b") B[k, j] = s[j]; else E[k, j] = s[j] - B[k, j] }
  next
}
{ j = v; sub(/:.*/, "", j); sub(/^[^:]*:[ \t]*/, "", v)
  if (j ~ /^C/) A[k] = v; else { j = (j ~ /^n/) ? 5 : 4; if (m == "b") B[k, j] = v; else E[k, j] = v - B[k, j] } }
END {
  print "time\tseconds\tticks\tscans"
  printf "=\t%.2f\t%d\t%d\n", t1 - t0, ticks - 1, scans
  printf "thread\tpid\ttid\tsamples\tr\ts\td\twchan_n\trun_ns\twait_ns\tswitches"
  print "\tvoluntary\tinvoluntary\tcpus\twchan\tcomm"
  for (k in N) {
    p = of[k]; gt[p]++; if ((k, 1) in E) for (j = 1; j < 4; j++) G[p, j] += E[k, j]
    printf "t\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p, k, N[k], R[k], S[k], D[k], \
      most[k], grown(k, 1), grown(k, 2), grown(k, 3), grown(k, 4), grown(k, 5), A[k], at[k], name[k] | o
  }
  close(o)
  print "group\tpid\tthreads\tr\td\trun_ns\twait_ns\tswitches\tcgroup\tcomm"
  for (p in gt) {
    printf "g\t%d\t%d\t%d\t%d\t%s\t%s\t%s", p, gt[p], gr[p], gd[p], sum(p, 1), sum(p, 2), sum(p, 3)
    printf "\t%s\t%s\n", cg[p], pname[p]
  }
  print "wchan\twchan\ttasks\tseen\tcomm"
  for (v in wn) printf "w\t%s\t%d\t%d\t%s\n", v, wt[v], wn[v], wc[v] | q
}' o="sort -t '	' -k7,7nr -k10,10nr | head -n 400" q="sort -t '	' -k4,4nr | head -n 50")
"""


def parse_proc_threads(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Threads by what they were seen doing, processes by how many were runnable at once, and where D tasks wait.

    Shares are of the samples in which the thread was there. `running_pct` is state R: on a CPU, or ready for one.
    `mean_runnable` is the mean number of threads in R at a moment; with a quota or few CPUs, what is above those
    waits. wchan needs root; it is 0 where the kernel hides its symbols, and then it is None here.
    """
    matching_tagged_tables = tagged_tables.read_tagged_tables(parts, _MAX_BYTES)
    seconds, ticks = (
        next((row.number(name) for row in matching_tagged_tables.of("time")), None)
        for name in ("seconds", "ticks")
    )
    if not seconds or not ticks:
        return Parsed(
            warnings=(*matching_tagged_tables.warnings, Sentence("warning.too_few_samples")), readable=False
        )
    scans = next((row.whole("scans") for row in matching_tagged_tables.of("time")), None)
    results = (
        ("threads", "thread", _COLUMNS, lambda row: _parse_thread(row, seconds)),
        ("thread_groups", "group", _GROUP_COLUMNS, lambda row: _build_group(row, seconds, ticks)),
        ("wchans", "wchan", _WCHAN_COLUMNS, lambda row: _read_wchan(row, scans)),
    )
    tables = [
        Table(
            kind,
            columns,
            tuple(map(row_of, matching_tagged_tables.of(name))),
            lines=tuple(row.line for row in matching_tagged_tables.of(name)),
        )
        for kind, name, columns, row_of in results
        if matching_tagged_tables.of(name)
    ]
    return Parsed(
        tables=tuple(tables),
        facts={"seconds": seconds, "ticks": ticks},
        warnings=matching_tagged_tables.warnings,
    )


Cells = tuple[str | int | float | None, ...]


def _parse_thread(row: TaggedRow, seconds: float) -> Cells:
    samples = row.number("samples") or 0.0

    def share(name: str) -> float | None:
        value = row.number(name)
        return 100.0 * value / samples if value is not None and samples else None

    run = row.number("run_ns")
    voluntary, involuntary = row.number("voluntary"), row.number("involuntary")
    cpus = row.raw("cpus")
    return (
        *(row.whole("pid"), row.whole("tid"), row.text("comm", 64), row.whole("samples")),
        *(share("r"), share("s"), share("d")),
        row.text("wchan", 100) or None,
        share("wchan_n"),
        run / 1e7 / seconds if run is not None else None,
        _compute_delay_ms(row),
        *(value / seconds if value is not None else None for value in (voluntary, involuntary)),
        row.text("cpus", 100) or None,
        len(set(id_list.parse_ids(cpus))) or None,
    )


def _build_group(row: TaggedRow, seconds: float, ticks: float) -> Cells:
    runnable, blocked, run, wait = (row.number(name) for name in ("r", "d", "run_ns", "wait_ns"))
    return (
        *(
            row.whole("pid"),
            row.text("comm", 64) or None,
            row.text("cgroup", 1000) or None,
            row.whole("threads"),
        ),
        *(value / ticks if value is not None else None for value in (runnable, blocked)),
        run / 1e7 / seconds if run is not None else None,
        wait / 1e9 if wait is not None else None,
        row.number("switches"),
        _compute_delay_ms(row),
    )


def _compute_delay_ms(row: TaggedRow) -> float | None:
    wait, switches = row.number("wait_ns"), row.number("switches")
    return wait / 1e6 / switches if wait is not None and switches else None


def _read_wchan(row: TaggedRow, scans: int | None) -> Cells:
    name = row.text("wchan", 100)
    return (None if name == "0" else name, row.whole("tasks"), row.whole("seen"), scans, row.text("comm", 64))


COLLECTOR = Collector(
    id="proc_threads",
    title=Text("Threads", "线程"),
    why=Text(
        "What each thread does, how many need a CPU at once, and where in the kernel blocked threads wait.",
        "每个线程在做什么、同时有多少线程争用 CPU，以及阻塞线程停在内核何处。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "grep", "xargs", "sort", "sed"),
                files=("/proc/self/stat",),
                remedy="root for wchan; findutils, grep",
            ),
            sh=strip_indent(_SH),
            command_line="grep -H '' /proc/PID/task/*/(stat,wchan,schedstat), 4 times a second, "
            "5 of {seconds} s at most",
            stop="TERM",
        ),
    ),
    parse=parse_proc_threads,
    cost=Cost(
        1.0,
        4_000,
        Text(
            "Five seconds of sampling the target's threads, or those of the 30 busiest processes.",
            "用五秒采样目标的线程，或最忙的 30 个进程的线程。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
