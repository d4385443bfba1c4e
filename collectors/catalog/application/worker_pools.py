"""Processes that share a listening socket: how many of them hold a connection, and how many connections wait."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

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
from collectors.shell.network import PRELUDE

_MAX_BYTES = 1 << 18
_POOLS = (
    *(FieldColumn("address", number=False), FieldColumn("pid"), FieldColumn("comm", number=False)),
    *(FieldColumn("workers"), FieldColumn("samples"), FieldColumn("all_busy"), FieldColumn("queued_samples")),
    *(FieldColumn("queue"), FieldColumn("queue_max"), FieldColumn("backlog"), FieldColumn("busy")),
    *(FieldColumn("per_worker"), FieldColumn("connections"), FieldColumn("connections_max")),
    *(FieldColumn("at_max"), FieldColumn("opened"), FieldColumn("cpu", "pct")),
)

#: A worker that serves one request at a time holds one accepted connection while it is busy and none while it is idle,
#: no matter what it waits for. The process that starts the workers holds the listening socket too and is left out: it is the
#: parent of another owner. A program that a worker starts, such as a CGI program, inherits its connection, so any owner
#: may be the worker. Connections that wait to be accepted have no owner and are the queue of the listener. A sample is
#: two dumps of sockets with a walk over all descriptors, so the pause is five times its duration at least.
_SH = (
    PRELUDE
    + r"""
command -v ss > .err || exit 69
trap ': > .over' TERM
(trap '' TERM; exec awk -v ns="$ns" -v secs="$SECS" '
    function now(  u) { getline u < "/proc/uptime"; close("/proc/uptime"); return u + 0 }
    function over(  l, k) { k = (getline l < ".over"); close(".over"); return k >= 0 }
    function owners(l, a,  n, s) { n = 0; while (match(l, /pid=[0-9]+/)) { s = substr(l, RSTART + 4, RLENGTH - 4); if (!(s in once)) { a[++n] = s; once[s] } l = substr(l, RSTART + RLENGTH) } for (s in once) delete once[s]; return n }
    function ticks(p,  l, f, w, k) { f = "/proc/" p "/stat"; k = (getline l < f); close(f); if (k <= 0) return ""; sub(/^.*\) /, "", l); split(l, w, " "); parent[p] = w[2]; return w[12] + w[13] }
    function name(l) { if (!match(l, /\(\("[^"]*"/)) return ""; l = substr(l, RSTART + 3, RLENGTH - 4); gsub(/[\t=]/, "_", l); return l }
    function port(a) { sub(/.*:/, "", a); return a }
    function look(  c, l, n, a, i, j, k, q, w, m, p) {
        split("", of); split("", held); split("", most); m = 0
        c = ns " ss -Hlntxp 2> /dev/null"
        while ((c | getline l) > 0 && m < 400) {
            split(l, w, " "); n = owners(l, a)
            if (!n || w[2] != "LISTEN") continue
            k = w[1] ~ /^u/ ? w[5] : port(w[5]); m++
            if (!(k in first)) { first[k] = looks; who[k] = name(l); shown[k] = w[5] }
            seen[k]++; sum[k] += w[3]; if (w[3] > 0) wait[k]++; if (w[3] > high[k]) high[k] = w[3]; size[k] = w[4]; here[k] = looks
            split("", up); for (i = 1; i <= n; i++) { if (!(a[i] in began)) { began[a[i]] = ticks(a[i]); since[a[i]] = now() } up[parent[a[i]]] }
            members[k] = ""; number[k] = 0
            for (i = 1; i <= n; i++) if (!(a[i] in up)) { members[k] = members[k] " " a[i]; number[k]++ } else if (head[k] == "") head[k] = a[i]
            if (head[k] == "") head[k] = a[1] }
        close(c); c = ns " ss -Hntxp state established state close-wait 2> /dev/null"
        while ((c | getline l) > 0) {
            n = split(l, w, " "); i = w[2] ~ /^[A-Z]/ ? 1 : 0
            k = w[1] ~ /^u/ ? w[4 + i] : port(w[4 + i])
            if (here[k] != looks) continue
            m = owners(l, a); p = ""
            for (j = 1; j <= m && p == ""; j++) if (index(members[k] " ", " " a[j] " ")) p = a[j]
            if (p == "") continue
            of[k, p]++; held[k]++; if (of[k, p] > most[k]) most[k] = of[k, p]
            q = k SUBSEP w[5 + i]; if (!(q in met)) { met[q]; opened[k]++ } }
        close(c)
        for (k in here) if (here[k] == looks) {
            n = split(members[k], a, " "); m = 0; for (i = 1; i <= n; i++) if (of[k, a[i]] > 0) m++
            busy[k] += m; if (n > 0 && m == n) full[k]++
            if (most[k] > per[k]) per[k] = most[k]
            total[k] += held[k]; if (held[k] > top[k]) { top[k] = held[k]; same[k] = 0 } if (held[k] == top[k] && held[k] > 0) same[k]++ }
    }
    BEGIN {
        t = now(); end = t + secs
        while (looks < 40 && !over()) {
            looks++; u = now(); look(); rest = 5 * (now() - u); if (rest < 0.3) rest = 0.3
            if (now() + rest >= end) break
            if (system("sleep " rest " 2> /dev/null || sleep 1")) break }
        for (k in seen) if (total[k] > 0 || wait[k] > 0) {
            n = split(members[k], a, " "); cpu = 0
            for (i = 1; i <= n; i++) { c = ticks(a[i]); if (c != "" && now() - since[a[i]] > 0.5) cpu += (c - began[a[i]]) / (now() - since[a[i]]) }
            printf "pool\taddress=%s\tpid=%s\tcomm=%s\tworkers=%d\tsamples=%d\tall_busy=%d\tqueued_samples=%d\tqueue=%.2f\tqueue_max=%d\tbacklog=%d\tbusy=%.2f\tper_worker=%d\tconnections=%.2f\tconnections_max=%d\tat_max=%d\topened=%d\tcpu=%.1f\n", shown[k], head[k], who[k], number[k], seen[k], full[k], wait[k], sum[k] / seen[k], high[k], size[k], busy[k] / seen[k], per[k], total[k] / seen[k], top[k], same[k], opened[k], cpu | "sort -t= -k9nr | head -n 100" }
        printf "looks\tlooks=%d\n", looks
    }') &
wait $!
wait $!
rm -f .err .over samples
"""
)


def parse_worker_pools(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `worker_pools`, one row for each listening socket with connections.

    `all_busy` counts the samples in which each worker held a connection, `per_worker` is the most that a worker held,
    `queue` the mean number of connections that waited, `at_max` the samples with the most connections, `opened` how
    many different connections were seen, and `cpu` what the workers used together, in percent of one CPU.
    """
    del context
    matching = field_lines.read_field_lines(parts, ("pool", "looks"))
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching,
        tables=field_lines.build_table("worker_pools", matching["pool"], _POOLS, 100),
        facts={"worker_pools_samples": matching["looks"][0].whole("looks")} if matching["looks"] else {},
    )


COLLECTOR = Collector(
    id="worker_pools",
    title=Text("Worker pools", "工作进程池"),
    why=Text(
        "Whether all workers behind a listening socket are busy while connections wait: php-fpm, gunicorn, HAProxy.",
        "监听套接字背后的工作进程是否全忙、是否有连接在等待：php-fpm、gunicorn、HAProxy。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), root=True, remedy="iproute2, and root for the owners of sockets"),
            sh=strip_indent(_SH),
            command_line="ss -Hlntxp and -Hntxp state established, up to 40 times in {seconds} s, counted on the host",
            version="ss -V",
            stop="TERM",
        ),
    ),
    parse=parse_worker_pools,
    cost=Cost(
        5.0,
        200,
        Text(
            "Walks over all sockets and descriptors for at most a sixth of the time.",
            "遍历套接字与描述符，至多占用六分之一的时间。",
        ),
    ),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
