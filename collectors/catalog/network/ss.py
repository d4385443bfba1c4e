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
from collectors.shell import sockets
from collectors.shell.network import PRELUDE

_MAX_BYTES = sockets.MAX_BYTES

#: Where there is no ss. One pass over all sockets of /proc/net/tcp, with hexadecimal addresses and states. Listeners
#: come first, so that a later socket on a listener's port is known to be inbound; it uses no port of ours. 20,000
#: destinations are counted, the 50 greatest are printed. `collectors/shell/sockets.awk` counts the same with ss.
_SH = (
    PRELUDE
    + r"""
took=0
sockets() {
    $ns cat /proc/net/tcp 2> .err || echo cat > .failed
    $ns cat /proc/net/tcp6 2>> .err
}
count() {
    sockets | grep -v local_address | awk -v range="$range" '
BEGIN { split(range, r, " "); lo = r[1]; hi = r[2]; L = "0A"; E = "01"; T = "06"; Y = "02"; C = "08" }
{
    s = $4; l = $2; p = $3
    n[s]++
    i = match(l, /:[^:]*$/)
    o = substr(l, i + 1)
    if (s == L) { listens[o] = 1; next }
    mine = o in listens
    if (s == C && (!mine || $5 ~ /:0*[01]$/)) {
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
    if (o "" >= lo "" && o "" <= hi "") u[k]++
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
    range=$(printf '%04X %04X' $range)
}
snapshot() {
    at "$1" sockstat
    $ns head -c 4000 /proc/net/sockstat 2> .err
    at "$1" counts
    read -r now rest < /proc/uptime
    count
    [ ! -s .failed ] || { cat .err >&2; rm -f samples; exit 69; }
    read -r up rest < /proc/uptime
    took=$((${up%.*} - ${now%.*}))
}
ends >> samples
{ snapshot 0; } >> samples
nap $((SECS / 2))
[ "$took" -gt 3 ] || { snapshot 1; } >> samples
nap $((SECS - SECS / 2))
{ snapshot 2; } >> samples
"""
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
            Needs(tools=("ss", "awk"), remedy="iproute2"),
            sh=sockets.SH,
            command_line="ss -Hatinpe at the start and the end, ss -Htan in between, counted by state and destination "
            "on the host, over {seconds} s",
            version="ss -V",
            stop="TERM",
            share=sockets.SHARE,
        ),
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/net/tcp",), remedy="mount -t proc proc /proc"),
            sh=_SH,
            command_line="/proc/net/tcp, counted by state and destination on the host, three times in {seconds} s",
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
