"""TCP sockets by state and by destination, counted on the host: how near are its ports to their end?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Series,
    TargetAccess,
    Text,
    Tier,
    Times,
)
from collectors.parse.network import namespaces, socket_counts, socket_tables
from collectors.parse.network.socket_counts import SocketCount
from collectors.parse.proc import sampled
from collectors.shell.network import PRELUDE

_MAX_BYTES = 4 << 20

#: One pass over all sockets. Listeners come first in both sources, so that a later socket on a listener's port
#: is known to be inbound; it uses no port of ours. 20,000 destinations are counted, the 50 greatest are printed.
#: A socket in CLOSE_WAIT waits for close() only after its program has read everything: the receive queue is then 0, or
#: 1 until it has read the end of the stream, because FIN takes one sequence number (tcp_diag_get_info, tcp_fin).
#: With more, data is unread: the program is behind with its work and has not forgotten the socket.
_COUNT = r"""
took=0
count() {
    awk -v H="$1" -v L="$2" -v E="$3" -v T="$4" -v Y="$5" -v C="$6" -v range="$range" '
BEGIN { split(range, r, " "); lo = r[1]; hi = r[2]; S = H ? 4 : 1; A = H ? 2 : 4; B = H ? 3 : 5; Q = H ? 5 : 2 }
{
    s = $S; l = $A; p = $B
    n[s]++
    i = match(l, /:[^:]*$/)
    o = substr(l, i + 1)
    if (s == L) { listens[o] = 1; next }
    mine = o in listens
    if (s == C && $Q ~ /(^|:0*)[01]$/) {
        k = mine ? o " *" : "* " p
        if (k in w || ++ws <= 5000) w[k]++
    }
    if (mine) next
    k = substr(l, 1, i - 1) " " p
    if (!(k in d) && ++ds > 20000) { rest++; next }
    d[k]++
    if (s == E) e[k]++
    else if (s == T) t[k]++
    else if (s == Y) y[k]++
    if (H ? (o "" >= lo "" && o "" <= hi "") : (o + 0 >= lo && o + 0 <= hi)) u[k]++
}
END {
    print "total", NR
    for (s in n) print "state", n[s], s
    for (k in w) print "wait", w[k], k
    for (k in d) print "dest", d[k], e[k] + 0, t[k] + 0, y[k] + 0, u[k] + 0, k
    if (rest) print "rest", rest
}' > .count
    grep -e ^total -e ^state -e ^rest .count
    for kind in wait dest; do grep "^$kind" .count | sort -k2,2nr | head -n 50; done
}
ends() {
    for f in ip_local_port_range ip_local_reserved_ports; do
        at 0 "$f"
        $ns head -c 4000 "/proc/sys/net/ipv4/$f" 2> .err
    done
    range=$($ns cat /proc/sys/net/ipv4/ip_local_port_range 2> .err) || range='32768 60999'
    [ -z "$hexadecimal" ] || range=$(printf '%04X %04X' $range)
}
snapshot() {
    at "$1" sockstat
    $ns head -c 4000 /proc/net/sockstat 2> .err
    at "$1" counts
    read -r now rest < /proc/uptime
    counted
    [ ! -s .failed ] || { cat .err >&2; rm -f samples; exit 69; }
    read -r up rest < /proc/uptime
    took=$((${up%.*} - ${now%.*}))
    extras "$1"
}
ends >> samples
{ snapshot 0; } >> samples
nap $((SECS / 2))
[ "$took" -gt 3 ] || { snapshot 1; } >> samples
nap $((SECS - SECS / 2))
{ snapshot 2; } >> samples
"""

#: One way and not two, because the counting is long and every way of a plan travels to the host. Owners need a walk
#: over every process's descriptors, so only where a socket waits to be closed. Congestion figures are only of the
#: destination with most sockets.
_SH = (
    PRELUDE
    + r"""
hexadecimal=
if command -v ss > .err; then
    sockets() { $ns ss -Htan 2> .err || echo ss > .failed; }
    counted() { sockets | count '' LISTEN ESTAB TIME-WAIT SYN-SENT CLOSE-WAIT; }
else
    hexadecimal=1
    sockets() {
        $ns cat /proc/net/tcp 2> .err || echo cat > .failed
        $ns cat /proc/net/tcp6 2>> .err
    }
    counted() { sockets | grep -v local_address | count 1 0A 01 06 02 08; }
fi
extras() {
    [ -z "$hexadecimal" ] || return 0
    if [ "$1" != 1 ] && grep -q 'CLOSE-WAIT$' .count; then
        at "$1" owners
        $ns ss -Htnp state close-wait 2> .err | head -n 20000 | awk '
            $1 <= 1 && match($0, /\(\("[^"]*",pid=[0-9]+/) {
                u = substr($0, RSTART + 3, RLENGTH - 3)
                n[u]++
                a[u] = $3 " " $4
            }
            END { for (u in n) print n[u], a[u], u }' | sort -nr | head -n 50
    fi
    [ "$1" = 2 ] || return 0
    peer=$(grep '^dest' .count | sort -k3,3nr | awk '$3 > 0 { print $8; exit }')
    [ -n "$peer" ] || return 0
    at "$1" path
    $ns ss -Htin state established dst "$peer" 2> .err | head -n 8000 | awk -v peer="$peer" '
        / rto:/ {
            n++
            for (i = 1; i <= NF; i++) {
                split($i, v, /[:\/]/)
                if (v[1] == "rto" && v[2] > rto) rto = v[2]
                else if (v[1] == "rtt") { sum += v[2]; if (v[2] > rtt) rtt = v[2] }
                else if (v[1] == "retrans") { sent += v[3]; if (v[2] > 0) busy++ }
            }
        }
        END { if (n) print peer, n, sent + 0, busy + 0, rto + 0, sum / n, rtt + 0 }'
}
"""
    + _COUNT
)


def parse_ss(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Counts of up to three looks: start, middle and end; tables hold the first and the last.

    The share of ports is of those that the kernel may choose from (ip_local_port_range without
    ip_local_reserved_ports), towards one destination from one source address: that is what runs out.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    checks = [socket_counts.parse_socket_counts(snapshot) for snapshot in samples.of("counts")]
    if not any(socket_count.line for socket_count in checks):
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    ports = socket_counts.parse_ephemeral_ports(samples)
    if ports:
        facts = {**facts, "ephemeral_ports": ports}
    boot_ns = np.array([socket_count.boot_ns for socket_count in checks], np.int64)
    tables = socket_tables.build_tables(checks, samples, ports)
    return Parsed(
        series=tuple(_build_states(context, checks, boot_ns)), tables=tables, facts=facts, warnings=warnings
    )


def _build_states(context: Context, checks: list[SocketCount], boot_ns: Times) -> list[Series]:
    values = [
        [float(socket_count.states.get(state, (0, 0))[0]) for state in socket_counts.STATES]
        for socket_count in checks
    ]
    lines = np.array([socket_count.line for socket_count in checks], np.int32)
    return sampled.build_series(
        context,
        "tcp.state_count",
        boot_ns,
        np.array(values, np.float64),
        lines=lines,
        axis="state",
        axis_values=socket_counts.STATES,
    )


COLLECTOR = Collector(
    id="ss",
    title=Text("TCP sockets", "TCP 套接字"),
    why=Text(
        "Sockets by state and destination: ports that run out, sockets never closed, handshakes unanswered.",
        "按状态与目的地统计套接字：端口耗尽、未关闭的套接字、无人应答的握手。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ss",
            Needs(tools=("awk",), files=("/proc/net/tcp",), remedy="mount -t proc proc /proc"),
            sh=_SH,
            command_line="ss -Htan (without ss: /proc/net/tcp), counted by state and "
            "destination on the host, three times"
            " in {seconds} s",
            version="ss -V",
            stop="TERM",
        ),
    ),
    parse=parse_ss,
    cost=Cost(
        0.3,
        500,
        Text(
            "Three samples of all sockets, counted on the host: a few seconds of one CPU each at a million sockets.",
            "对全部套接字统计三次，计数在主机上完成；百万套接字时每次占用单核数秒。",
        ),
    ),
    yields=("tcp.state_count",),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
