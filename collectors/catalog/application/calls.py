"""Who calls whom: the connections of each process by address and port, with round trips, queues and loss."""

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
    Sentence,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import addresses, call_edges, namespaces
from collectors.parse.proc import sampled
from collectors.shell.dedent import strip_indent
from collectors.shell.network import PRELUDE

_MAX_BYTES = 4 << 20
#: As many sockets are looked at as `head` below lets through, two lines each.
_MAX_SOCKETS = 10_000

#: A process is the first one that ss names, or one of the target's.
_TCP = r"""
tcp() {
    $ns ss -Htln 2> .err | head -n 2000
    $ns ss -Htinp state established state syn-sent state close-wait 2> .err | head -n 20000
}
edges() {
    tcp | awk -v T=" ${TARGET_PIDS-} " '
function end(a) { match(a, /:[^:]*$/); return substr(a, RSTART + 1) }
/^LISTEN/ { L[end($4)]; next }
/^[A-Z]/ {
    seen++
    p = "-"; c = ""; t = T ~ /[0-9]/ ? 0 : "-"
    r = $0
    while (match(r, /"[^"]*",pid=[0-9]+/)) {
        u = substr(r, RSTART + 1, RLENGTH - 1); r = substr(r, RSTART + RLENGTH)
        i = index(u, "\",pid="); o = substr(u, i + 6)
        if (p == "-" || index(T, " " o " ")) { p = o; c = substr(u, 1, i - 1) }
        if (index(T, " " o " ")) { t = 1; break }
    }
    gsub(/\t/, " ", c)
    a = end($4); b = end($5); d = a in L ? "in" : "out"
    k = d "\t" p "\t" t "\t" substr($4, 1, length($4) - length(a) - 1) "\t" (d == "in" ? a : "-") "\t" \
        substr($5, 1, length($5) - length(b) - 1) "\t" (d == "in" ? "-" : b)
    if (!(k in n) && ++ks > 5000) { rest[d]++; k = ""; next }
    n[k]++; C[k] = c
    if ($1 == "ESTAB") e[k]++; else if ($1 == "SYN-SENT") s[k]++; else w[k]++
    q[k] += $2; Q[k] += $3
    next
}
k != "" {
    for (i = 1; i <= NF; i++) {
        split($i, v, /[:\/]/)
        if (v[1] == "rtt") { m[k] += v[2]; M[k]++; if (v[2] > X[k]) X[k] = v[2] }
        else if (v[1] == "retrans") { z[k] += v[3]; if (v[2] > 0) Z[k]++ }
    }
    k = ""
}
END {
    print "seen\t" seen + 0
    for (d in rest) print "rest\t" d "\t" rest[d]
    for (k in n) print "edge\t" k "\t" e[k] + 0 "\t" s[k] + 0 "\t" w[k] + 0 "\t" m[k] + 0 "\t" M[k] + 0 "\t" X[k] + 0 \
        "\t" z[k] + 0 "\t" Z[k] + 0 "\t" Q[k] + 0 "\t" q[k] + 0 "\t" C[k]
}' > .edges
    grep -v ^edge .edges
    for d in out in; do
        grep "^edge$T$d" .edges | sort -t "$T" -k4,4r -k9,9nr | head -n 150
    done
}
"""

#: The accepting side of a unix socket bears the path; its peer is found by the number of its inode.
_UNIX = r"""
unix() {
    $ns ss -Hxnp 2> .err | head -n 20000 | awk '
$2 == "ESTAB" && $6 ~ /^[0-9]+$/ && $8 ~ /^[0-9]+$/ {
    u = "-\t"
    if (match($0, /\(\("[^"]*",pid=[0-9]+/)) {
        u = substr($0, RSTART + 3, RLENGTH - 3); i = index(u, "\",pid="); c = substr(u, 1, i - 1)
        gsub(/\t/, " ", c); u = substr(u, i + 6) "\t" c
    }
    U[$6] = u; P[$6] = $8
    if ($5 != "*") N[$6] = substr($5, 1, 108)
}
END {
    for (i in N) {
        j = split(P[i] in U ? U[P[i]] : "-\t", a, "\t") ? a[1] : "-"; x = a[2]
        split(U[i], b, "\t")
        if (j != b[1]) n[j "\t" b[1] "\t" N[i] "\t" x "\t" b[2]]++
    }
    for (k in n) print "unix\t" n[k] "\t" k
}' | sort -t "$T" -k2,2nr | head -n 80
}
"""

_SH = (
    PRELUDE
    + "T='\t'\n"
    + _TCP
    + _UNIX
    + r"""
look() {
    at "$1" calls
    edges
}
$ns ss -V > .now 2> .err || { cat .err >&2; rm -f samples; exit 69; }
{ at 0 addresses; $ns ip -o addr show 2> .err | awk '{ print $2, $4 }' | head -n 300; } >> samples
look 0 >> samples
nap "$SECS"
{ look 1; at 1 unix; unix; } >> samples
"""
)


def parse_calls(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `calls` and `unix_calls`; the addresses of the host, or of the target's network namespace, as a fact."""
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    reported_samples = samples.of("addresses")
    facts = {
        **facts,
        "addresses": addresses.is_reachable(reported_samples[-1].lines() if reported_samples else ()),
    }
    checks = [
        check for snapshot in samples.of("calls") if (check := call_edges.parse_call_edges(snapshot)).line
    ]
    if not checks:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    most = max(checks, key=lambda sample: sample.seen)
    if most.seen >= _MAX_SOCKETS or most.rest:
        warnings = (*warnings, Sentence("warning.calls_cut", {"seen": most.seen, "rest": most.rest}))
    tables = (call_edges.build_calls_table(checks), call_edges.build_unix_table(samples.of("unix")))
    return Parsed(
        tables=tuple(table for table in tables if table is not None), facts=facts, warnings=warnings
    )


COLLECTOR = Collector(
    id="calls",
    title=Text("Calls", "调用关系"),
    why=Text(
        "Connections between processes: how many, with what round-trip time, queues and loss.",
        "进程之间的连接：数量、往返时间、队列与丢包。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), remedy="iproute2"),
            sh=strip_indent(_SH),
            command_line="ss -Htinp, counted by process and address on the host, now and after "
            "{seconds} s; ss -Hxnp once",
            version="ss -V",
            stop="TERM",
        ),
    ),
    parse=parse_calls,
    cost=Cost(
        0.3,
        2_000,
        Text(
            "Two samples of up to 10,000 sockets. Each sample walks the open files of all processes once.",
            "读取两次，至多 1 万个套接字；每次遍历所有进程打开的文件以找到属主。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    messages={
        "warning.calls_cut": Text(
            "Only some sockets were read in detail: {seen} were observed, and {rest} of them "
            "belong to groups that are not listed.",
            "只详细读取了部分套接字：共观察到 {seen} 个，其中 {rest} 个属于未列出的分组。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS}),
)
