"""Queries to name servers that are not answered yet, from the sockets that wait for them."""

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
from collectors.shell.ticks import PAUSE, TICKS

_MAX_BYTES = 1 << 18
_WAITS = (
    *(
        FieldColumn("server", number=False),
        FieldColumn("pid"),
        FieldColumn("comm", number=False),
        FieldColumn("uid"),
    ),
    *(FieldColumn("queries"), FieldColumn("samples"), FieldColumn("waiting"), FieldColumn("oldest", "ms")),
    FieldColumn("kept"),
)
_SERVERS = (FieldColumn("address", number=False), FieldColumn("order"))

#: A resolver of libc connects one UDP socket to the server for a query and closes it with the answer, so the age of
#: such a socket is the time that the query has waited. A socket that stays for 30 seconds is kept by its owner for
#: many queries and counts as `kept`: libc gives up earlier (resolv.conf: three servers, two attempts of 5 s). Sockets
#: without a connection (musl, some servers) and answers with an error are not visible here. The owner is found by one
#: walk over all descriptors when a query has waited for a second, at most twice.
_SH = (
    TICKS
    + r"""
LC_ALL=C
export LC_ALL
TICK= TICKER=
[ -n "${CULPRIT_PAUSE-}" ] || tick_every 0.25 :
trap ': > .over' TERM
: > .err
if [ "${TARGET_KIND:-host}" = host ] && [ -r /etc/resolv.conf ]; then
  awk '$1 == "nameserver" { n++; printf "server\taddress=%s\torder=%d\n", $2, n }
    $1 == "options" { for (i = 2; i <= NF; i++) { split($i, o, ":"); if (o[1] == "timeout") t = o[2]; if (o[1] == "attempts") a = o[2] } }
    END { printf "resolver\ttimeout=%d\tattempts=%d\n", t == "" ? 5 : t, a == "" ? 2 : a }' /etc/resolv.conf
fi
(trap '' TERM; exec awk -v tick="$TICK" -v secs="$SECS" -v net="/proc/${TARGET_PID:-self}/net/" '"""
    + PAUSE
    + r"""
  function now(  u) { getline u < "/proc/uptime"; close("/proc/uptime"); return u + 0 }
  function over(  l, k) { k = (getline l < ".over"); close(".over"); return k >= 0 }
  function byte(s, at) { return (index("0123456789ABCDEF", substr(s, at, 1)) - 1) * 16 + index("0123456789ABCDEF", substr(s, at + 1, 1)) - 1 }
  function address(h,  o, i, j) {
    if (length(h) == 8) return byte(h, 7) "." byte(h, 5) "." byte(h, 3) "." byte(h, 1)
    for (i = 1; i <= 32; i += 8) for (j = 6; j >= 0; j -= 2) o = o substr(h, i + j, 2) (j == 4 || !j && i < 25 ? ":" : "")
    return tolower(o) }
  function look(f,  l, w, r, k) {
    while ((getline l < f) > 0) {
      split(l, w, " "); split(w[3], r, ":")
      if (r[2] != "0035" || ++seen > 20000) continue
      k = w[10] SUBSEP r[1]
      if (!(k in first)) { first[k] = t; of[k] = r[1]; uid[k] = w[8]; queries++ }
      last[k] = t; times[k]++
      if (t - first[k] >= 1 && !(w[10] in owner) && walks < 2) late = 1 }
    close(f) }
  function walk(  c, l, s, n, w, i) {
    walks++; late = 0; c = "exec ss -Huanpe 2> /dev/null"
    while ((c | getline l) > 0) if (l ~ /:53 / && match(l, / ino:[0-9]+/)) {
      i = substr(l, RSTART + 5, RLENGTH - 5)
      if (match(l, /\(\("[^"]*",pid=[0-9]+/)) { s = substr(l, RSTART + 3, RLENGTH - 3); split(s, w, "\",pid="); gsub(/[\t=]/, "_", w[1]); owner[i] = w[2] "\tcomm=" w[1] } }
    close(c) }
  BEGIN {
    t = now(); end = t + secs; begin = t
    while (!over()) {
      looks++; look(net "udp"); look(net "udp6")
      if (late) walk()
      if (t + 0.25 >= end) break
      if (tick) { getline l < tick; close(tick) } else if (!pause(0.25) && system("sleep 0.25 2> /dev/null || sleep 1")) break
      t = now() }
    for (k in first) {
      split(k, w, SUBSEP); age = last[k] - first[k]; g = of[k] SUBSEP uid[k] SUBSEP owner[w[1]]
      n[g]++; if (age >= 30) kept[g]++; else { sum[g] += times[k]; if (age > old[g]) old[g] = age } }
    for (g in n) { split(g, w, SUBSEP)
      printf "wait\tserver=%s\tuid=%s\tpid=%s\tqueries=%d\tsamples=%d\twaiting=%.3f\toldest=%d\tkept=%d\n", address(w[1]), w[2], w[3], n[g], looks, sum[g] / looks, old[g] * 1000, kept[g] }
    printf "looks\tlooks=%d\tseconds=%.1f\tqueries=%d\n", looks, now() - begin, queries
  }') &
wait $!
wait $!
end_ticks
"""
)


def parse_dns_waits(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `dns_waits` (queries that a sample saw unanswered, by server and owner) and `dns_servers`.

    `waiting` is the mean number of queries that wait, `oldest` the longest time that one was seen waiting.
    """
    del context
    matching = field_lines.read_field_lines(parts, ("server", "resolver", "wait", "looks"))
    if matching is None:
        return field_lines.report_missing_part()
    facts: dict[str, object] = {
        f"dns_{name}": line.whole(name)
        for line in matching["resolver"][:1]
        for name in ("timeout", "attempts")
    }
    if matching["looks"]:
        facts["dns_samples"] = matching["looks"][0].whole("looks")
    return field_lines.build_parsed(
        matching,
        tables=(
            *field_lines.build_table("dns_waits", matching["wait"], _WAITS, 200),
            *field_lines.build_table("dns_servers", matching["server"], _SERVERS, 10),
        ),
        facts=facts,
    )


COLLECTOR = Collector(
    id="dns_waits",
    title=Text("Name resolution", "域名解析"),
    why=Text(
        "Which queries to name servers wait for an answer, for how long, and of which program.",
        "哪些域名查询在等待应答、等了多久、属于哪个程序。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/self/net/udp",), remedy="mount -t proc proc /proc; awk"),
            sh=strip_indent(_SH),
            command_line="awk: /proc/net/udp and udp6 four times a second for {seconds} s, /etc/resolv.conf; ss -Huanpe where a query waits for a second",
            stop="TERM",
        ),
    ),
    parse=parse_dns_waits,
    cost=Cost(
        0.3,
        50,
        Text("Reads the table of UDP sockets four times a second.", "每秒读取四次 UDP 套接字表。"),
    ),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
