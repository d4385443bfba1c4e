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
from collectors.lean import lean
from collectors.net_shell import PRELUDE
from collectors.parse import addresses, call_edges, netns, sampled

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


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `calls` and `unix_calls`; the addresses of the host, or of the target's network namespace, as a fact."""
    samples = sampled.read(parts, _MAX_BYTES)
    facts, warnings = netns.seen(samples)
    told = samples.of("addresses")
    facts = {**facts, "addresses": addresses.reachable(told[-1].lines() if told else ())}
    looks = [look for snapshot in samples.of("calls") if (look := call_edges.read(snapshot)).line]
    if not looks:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    most = max(looks, key=lambda look: look.seen)
    if most.seen >= _MAX_SOCKETS or most.rest:
        warnings = (*warnings, Sentence("warning.calls_cut", {"seen": most.seen, "rest": most.rest}))
    tables = (call_edges.table(looks), call_edges.unix_table(samples.of("unix")))
    return Parsed(tables=tuple(one for one in tables if one is not None), facts=facts, warnings=warnings)


COLLECTOR = Collector(
    id="calls",
    title=Text("Calls", "调用关系"),
    why=Text(
        "Whom each process talks to and who talks to it: how many connections, with what round trip, queue and loss.",
        "每个进程与谁通信、谁在访问它：连接数、往返时间、队列与丢包。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), mend="iproute2"),
            sh=lean(_SH),
            shows="ss -Htinp, counted by process and address on the host, now and after {seconds} s; ss -Hxnp once",
            version="ss -V",
            stop="TERM",
        ),
    ),
    parse=parse,
    cost=Cost(
        0.3,
        2_000,
        Text(
            "Two looks at no more than 10,000 sockets; each walks the open files of all processes once.",
            "查看两次套接字，至多 1 万个；每次遍历所有进程打开的文件以找到属主。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
