"""Who waits for an answer on the host's TCP connections: this host for a peer, or a client for this host."""

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

_MAX_BYTES = 1 << 20
#: The program calls samples `looks`, as recordings and exported incidents hold them.
_WAITS = (
    *(
        FieldColumn("pid"),
        FieldColumn("comm", number=False),
        FieldColumn("direction", number=False),
        FieldColumn("peer", number=False),
    ),
    *(
        FieldColumn("samples", source="looks"),
        FieldColumn("connections"),
        FieldColumn("waiting"),
        FieldColumn("waiting_samples", source="waiting_looks"),
        FieldColumn("oldest", "ms"),
    ),
    *(FieldColumn("unread"), FieldColumn("unsent"), FieldColumn("retransmitting"), FieldColumn("uid")),
)

#: The kernel reports which side sent last: how long ago data was sent and received, in steps of a jiffy (hence 8 ms
#: between the two), and the number of data segments in each direction. A request is unanswered where this host sent
#: last and the other side has acknowledged all of it. Only connections with data within the last minute count: one
#: without is a stream or is idle. A request is still processed after its client has closed the connection (CLOSE_WAIT,
#: where the end of the stream counts as one byte). A connection counts after it has waited for 20 ms.
#: The owner of a socket is found by a walk over the descriptors
#: of all processes, which happens only for new connections and for at most a hundredth of the time; until then a new
#: connection is attributed to the owner of the last one with the same peer or port. The pause after a sample is 20 times
#: its duration, or about a second, with jitter, so that it does not run in step with the workload.
_SH = (
    PRELUDE
    + r"""
command -v ss > .err || exit 69
trap ': > .over' TERM
(trap '' TERM; exec awk -v ns="$ns" -v secs="$SECS" -v target="${TARGET_PIDS-}" '
    function now(  u) { getline u < "/proc/uptime"; close("/proc/uptime"); return u + 0 }
    function over(  l, k) { k = (getline l < ".over"); close(".over"); return k >= 0 }
    function field(name,  i) { i = index($0, " " name ":"); return i ? substr($0, i + length(name) + 2, 15) + 0 : -1 }
    function read(how,  c) {
        n = strangers = 0; c = ns " ss -Htine" how " state established state close-wait 2> /dev/null"
        while (n < 40000 && (c | getline) > 0) { L[++n] = $0; if (/^[A-Z]/) { I[n] = field("ino"); if (!(I[n] in owner)) strangers++ } }
        close(c)
    }
    function count(walked,  i, p, s, w, o) {
        for (i = 1; i <= n; i++) {
            $0 = L[i]
            if (/^[A-Z]/) {
                gone = $1 == "CLOSE-WAIT"; unread = $2 - gone; unsent = $3; p = $4; sub(/.*:/, "", p); inbound = p in own; g = ""
                if (walked) {
                    o = ""
                    if (match($0, /\(\("[^"]*",pid=[0-9]+/)) { s = substr($0, RSTART + 3, RLENGTH - 3); split(s, w, "\",pid="); o = w[1]; gsub(/[\t=]/, "_", o); o = w[2] "\t" o }
                    if (I[i] > 0) owner[I[i]] = o
                    if (o != "") hint[inbound ? p : $5] = o
                } else if (I[i] in owner) o = owner[I[i]]
                else o = hint[inbound ? p : $5]
                if (inbound ? o == "" : gone) continue
                g = (o == "" ? "0\t" : o) "\t" (inbound ? "in" : "out") "\t" (inbound ? p : $5)
            } else if (g != "" && / rto:/) { if (g in all || groups++ < 3000) tally(); g = "" }
        }
    }
    function tally(  sent, got, out, come, age) {
        all[g]++; if (last[g] != looks) { last[g] = looks; there[g]++ }
        sent = field("lastsnd"); got = field("lastrcv"); out = field("data_segs_out"); come = field("data_segs_in")
        if (unread > 0) read_[g]++
        if (unsent > 0) held[g]++
        if (/ retrans:[1-9]/) again[g]++
        age = -1
        if (unread <= 0 && unsent == 0) {
            if (inbound) { if (come > 0 && (out <= 0 || sent - got >= 8)) age = got }
            else if (out > 0 && (come <= 0 || got - sent >= 8)) age = sent
        }
        if (age >= 20 && age < 60000) { waits[g]++; if (age > old[g]) old[g] = age; if (when[g] != looks) { when[g] = looks; often[g]++ } }
    }
    BEGIN {
        c = ns " ss -Htln 2> /dev/null"; while (k++ < 2000 && (c | getline) > 0) { sub(/.*:/, "", $4); own[$4] }
        close(c)
        owner[0] = owner[-1] = ""; step = target ~ /[0-9]/ ? 0.4 : 1
        t = now(); end = t + secs
        while (t < end && looks < 60 && !over()) {
            looks++; read(""); walked = 0
            if (strangers && t >= due) { u = now(); read("p"); walked = 1; due = now(); u = 100 * (due - u); due += u > secs / 3 ? secs / 3 : u }
            count(walked)
            u = now(); rest = 20 * (u - t); e = step * (6 + looks % 5 * 2) / 10; if (rest < e) rest = e
            t = u; wake = u + rest; if (wake > end) wake = end
            while (t + 0.02 < wake && !over()) { u = wake - t; if (system("exec sleep " (u < 1 ? u : 1)) && u < 1) system("exec sleep 1"); t = now() }
            if (t + 0.02 >= end) break
        }
        printf "looks\tlooks=%d\n", looks
        for (g in all) { split(g, w, "\t"); f = "/proc/" w[1] "/status"; uid = ""; while (w[1] && (getline s < f) > 0) if (s ~ /^Uid:/) { split(s, u_, "\t"); uid = u_[3] }
            close(f); printf "wait\tpid=%s\tuid=%s\tcomm=%s\tdirection=%s\tpeer=%s\tlooks=%d\tconnections=%.2f\twaiting=%.2f\twaiting_looks=%d\toldest=%d\tunread=%.2f\tunsent=%.2f\tretransmitting=%.2f\n",
            w[1], uid, w[2], w[3], w[4], there[g], all[g] / looks, waits[g] / looks, often[g], old[g], read_[g] / looks, held[g] / looks, again[g] / looks | "sort -t= -k9,9nr | head -n 300" }
    }') &
wait $!
wait $!
"""
)


def parse_tcp_waits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `tcp_waits`: by process, direction and the other side, means over all samples.

    `direction` is `out` where this host is the client (then `peer` is the address and port of the server), `in` where
    it is the server (then `peer` is the port that it listens on). `waiting` are connections on which the server has
    received the whole request and has sent nothing for 20 ms or more. `oldest` is the longest such wait.
    """
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("looks", "wait"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    samples = next((line.whole("looks") for line in matching_field_lines["looks"]), None)
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("tcp_waits", matching_field_lines["wait"], _WAITS, 300),
        facts={"tcp_samples": samples},
    )


COLLECTOR = Collector(
    id="tcp_waits",
    title=Text("Unanswered requests", "未获应答的请求"),
    why=Text(
        "Which peer keeps this host waiting, and which requests wait inside this host: the last word on each connection.",
        "哪个对端让本机等待、哪些请求在本机内等待：依据每条连接上最后说话的一方。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), root=True, remedy="iproute2, and root for the owners of sockets"),
            sh=strip_indent(_SH),
            command_line="ss -Htine state established state close-wait, once a second for {seconds} s, and -p where one is new, counted on the host",
            version="ss -V",
            stop="TERM",
        ),
    ),
    parse=parse_tcp_waits,
    cost=Cost(
        0.6,
        2_000,
        Text(
            "A walk over all sockets once a second, a twentieth of the time at most; over descriptors a hundredth.",
            "每秒遍历一次套接字，至多占用二十分之一的时间；遍历描述符至多百分之一。",
        ),
    ),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
