"""Processes that began and ended during the capture, by their parent: restarts, leaks, children that no process waits for."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

import math
from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn
from collectors.shell.dedent import strip_indent
from collectors.shell.ticks import TICKS

_MAX_BYTES = 1 << 18
_STARTS = (
    *(FieldColumn("parent"), FieldColumn("parent_comm", number=False), FieldColumn("comm", number=False)),
    *(FieldColumn("started"), FieldColumn("ended"), FieldColumn("at_once"), FieldColumn("zombies")),
    *(
        FieldColumn("failed"),
        FieldColumn("life", "s", source="life_s"),
        FieldColumn("cpu", "s", source="cpu_s"),
    ),
    *(FieldColumn("cgroup", number=False), FieldColumn("seconds", "s")),
)
_UNITS = (
    *(FieldColumn("unit", number=False), FieldColumn("restarts"), FieldColumn("result", number=False)),
    *(FieldColumn("status"), FieldColumn("state", number=False)),
)

#: The names in /proc are listed once a second, and only processes that were not there before are read. What begins
#: and ends between two samples is missed. The exit status of a process is readable only while its parent has not
#: waited for it. Processes of the capture itself (its session, its control group) are left out. systemd is asked about at most five units whose processes it started during the capture.
_SH = (
    TICKS
    + r"""
LC_ALL=C
export LC_ALL
tick_every 1 "echo /proc/[0-9]*"
trap ': > .over' TERM
: > .err
(trap '' TERM; exec awk -v tick="$TICK" -v secs="$SECS" -v self="$$" '
  function now(  u) { getline u < "/proc/uptime"; close("/proc/uptime"); return u + 0 }
  function over(  l, k) { k = (getline l < ".over"); close(".over"); return k >= 0 }
  function read_stat(p,  f, l, k, i, c, r) {
    f = "/proc/" p "/stat"; k = (getline l < f); close(f)
    if (k <= 0) return 0
    r = l; c = 0; while ((i = index(r, ")"))) { c += i; r = substr(r, i + 1) }
    comm_ = substr(l, index(l, "(") + 1, c - index(l, "(") - 1); gsub(/[\t=]/, "_", comm_); split(substr(l, c + 2), S, " "); return 1 }
  function add(p,  f, l, w) {
    if (!read_stat(p)) return
    if (S[2] == self || mine[S[2]] || S[4] == session) { mine[p] = 1; return }
    name[p] = comm_; parent[p] = S[2]; born[p] = t; started++
    f = "/proc/" p "/cgroup"; while ((getline l < f) > 0) { split(l, w, ":"); l = substr(l, length(w[1] w[2]) + 3); if (length(l) > length(group[p])) group[p] = l } close(f)
    if (group[p] ~ /\/culprit-[0-9a-f-]+( |$)/) { mine[p] = 1; delete name[p]; started--; return }
    gsub(/[\t=]/, "_", group[p]) }
  BEGIN {
    mine[self] = 1; read_stat(self); session = S[4]; begin = t = now(); end = t + secs
    c = "echo /proc/[0-9]*"; c | getline l; close(c)
    while (1) {
      looks++; n = split(l, P, " ")
      for (i = 1; i <= n; i++) {
        p = substr(P[i], 7)
        if (looks == 1) old[p] = 1
        else if (!(p in old) && !(p in mine) && !(p in name) && started < 5000) add(p)
        seen[p] = looks }
      m = 0
      for (p in name) if (!(p in gone)) {
        if (seen[p] != looks) { gone[p] = 1; died[p] = t; continue }
        if (++m > 200 || !read_stat(p)) continue
        name[p] = comm_; used[p] = (S[12] + S[13]) / 100
        if (S[1] == "Z") { if (++dead[p] == 1) { died[p] = t; if (S[50] > 0) fail[p] = 1 } } }
      if (over() || t + 1 > end) break
      if (tick) { getline l < tick; close(tick) } else { if (system("sleep 1")) break; c | getline l; close(c) }
      t = now() }
    for (p in name) { if (p in mine) continue
      g = parent[p] SUBSEP name[p]; n_[g]++; if (p in gone) e_[g]++
      if (dead[p] > 1 && !(p in gone)) z_[g]++
      if (p in fail) f_[g]++
      if (p in died) { life[g] += died[p] - born[p]; lives[g]++ }
      cpu[g] += used[p]; if (group[p] != "") cg[g] = group[p] }
    for (g in n_) {
      split(g, w, SUBSEP); most = 0
      for (p in name) if (parent[p] == w[1] && name[p] == w[2]) { k = 0
        for (q in name) if (parent[q] == w[1] && name[q] == w[2] && born[q] <= born[p] && (!(q in died) || died[q] > born[p])) k++
        if (k > most) most = k; if (n_[g] > 60) break }
      pc = read_stat(w[1]) ? comm_ : ""
      printf "start\tparent=%d\tparent_comm=%s\tcomm=%s\tstarted=%d\tended=%d\tat_once=%d\tzombies=%d\tfailed=%d\tlife_s=%.2f\tcpu_s=%.2f\tcgroup=%s\tseconds=%.1f\n", w[1], pc, w[2], n_[g], e_[g], (n_[g] > 60 ? n_[g] : most), z_[g], f_[g], (lives[g] ? life[g] / lives[g] : 0), cpu[g] / n_[g], cg[g], t - begin | "sort -t= -k5nr | head -n 100"
      u = cg[g]; sub(/.*\//, "", u); if (w[1] == 1 && u ~ /^[A-Za-z0-9@._:-]+\.service$/) units[u] }
    printf "looks\tlooks=%d\tseconds=%.1f\tstarted=%d\n", looks, t - begin, started
    for (u in units) if (queried++ < 5) print u > ".units"
  }') &
wait $!
wait $!
[ ! -s .units ] || while read -r u; do
  timeout 3 systemctl show "$u" -p NRestarts,Result,ExecMainStatus,ActiveState 2> .err | awk -F= -v u="$u" '{ v[$1] = $2 }
    END { if ("NRestarts" in v) printf "unit\tunit=%s\trestarts=%s\tresult=%s\tstatus=%s\tstate=%s\n", u, v["NRestarts"], v["Result"], v["ExecMainStatus"], v["ActiveState"] }'
done < .units
end_ticks
"""
)


def parse_process_starts(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `process_starts` (by parent and name) and `restarted_units`.

    `at_once` is how many of the new processes of a group lived at the same time, `life` the mean time until their
    end, `cpu` the mean CPU time of each.
    """
    del context
    matching = field_lines.read_field_lines(parts, ("start", "unit", "looks"))
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching,
        tables=(
            *field_lines.build_table("process_starts", matching["start"], _STARTS, 100),
            *field_lines.build_table("restarted_units", matching["unit"], _UNITS, 10),
        ),
        facts={
            f"starts_{name}": value
            for line in matching["looks"][:1]
            for name in ("looks", "started")
            if math.isfinite(value := line.value(name))
        },
    )


COLLECTOR = Collector(
    id="process_starts",
    title=Text("Process starts", "进程启动"),
    why=Text(
        "Which programs are started again and again, by whom, and which children are never waited for.",
        "哪些程序被反复启动、由谁启动，哪些子进程从未被回收。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/self/stat",), remedy="mount -t proc proc /proc; awk"),
            sh=strip_indent(_SH),
            command_line="echo /proc/[0-9]* once a second for {seconds} s, /proc/PID/stat of new processes; systemctl show of restarted units",
            stop="TERM",
        ),
    ),
    parse=parse_process_starts,
    cost=Cost(
        0.3,
        50,
        Text("Lists /proc once a second and reads only new processes.", "每秒列出一次 /proc，只读取新进程。"),
    ),
    seconds_max=120,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
