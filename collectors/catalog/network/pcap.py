"""Headers of TCP packets: handshakes that had to be tried again, segments seen twice, resets, and MSS."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Option,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import namespaces, tcp_packets
from collectors.parse.proc import sampled
from collectors.parse.tables.cells import Cell, number_or_none
from collectors.shell.network import PRELUDE

_MAX_BYTES = 16 << 20
_MAX_PACKETS = 20_000
_MAX_SERVERS = 200

#: Some ports have printers that show payload after the length; sed cuts there, before anything is kept.
#: SIGTERM, for a shell's background processes ignore SIGINT.
_SH = (
    PRELUDE
    + r"""
filter='tcp[tcpflags] & (tcp-syn|tcp-fin|tcp-rst) != 0 or (ip6[6] == 6 and ip6[53] & 7 != 0)'
[ -z "$OPT_PORT" ] || filter="tcp port $OPT_PORT"
mkfifo .pipe || exit 69
sed -n -e 's/^\([0-9.]* .*Flags.*length [0-9]*\).*/\1/p' < .pipe &
reader=$!
$ns tcpdump -i any -p -nn -tt -S -s 96 -c 20000 "$filter" > .pipe 2> tcpdump.log &
writer=$!
nap "$SECS"
kill "$writer" 2> .err
wait "$writer" "$reader"
grep -q 'listening on' tcpdump.log || { cat tcpdump.log >&2; rm -f samples tcpdump.log; exit 69; }
"""
)

_COLUMNS = (
    *(Column("server"), Column("port"), Column("syn", "count"), Column("syn_retransmitted", "count")),
    *(Column("syn_ack", "count"), Column("unanswered", "count"), Column("rst", "count")),
    *(Column("segments", "count"), Column("duplicate_segments", "count")),
    *(Column("mss_client_min", "bytes"), Column("mss_server_min", "bytes")),
    *(
        Column("handshake_p50_ms", "ms"),
        Column("handshake_max_ms", "ms"),
        Column("syn_retransmitted_pct", "pct"),
    ),
)


def parse_pcap(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each server, the busiest first: at the client or the server, wherever the capture was.

    A SYN that comes again was lost on its way, or its answer was. The time of a handshake is from its first
    SYN to its first SYN-ACK, as seen here.
    """
    facts, _ = namespaces.read_namespace(sampled.read_samples(parts, 1 << 16))
    part = parts.get("stdout")
    text = part.read(_MAX_BYTES) if part else b""
    log = parts["tcpdump.log"].read(1 << 16) if "tcpdump.log" in parts else b""
    facts = {**facts, **tcp_packets.sum_totals(log)}
    warnings: list[Sentence] = []
    if part is None and "packets_captured" not in facts:
        warnings.append(Sentence("warning.part_missing", {"part": "stdout"}))
        return Parsed(facts=facts, warnings=tuple(warnings), readable=False)
    if text and not text.endswith(b"\n"):
        warnings.append(Sentence("warning.last_line_cut", {"part": "stdout"}))
        text = text[: text.rfind(b"\n") + 1]
    servers, unreadable = tcp_packets.collect_servers(text, _MAX_PACKETS)
    if unreadable:
        warnings.append(Sentence("warning.lines_unreadable", {"count": unreadable}))
    busiest = sorted(servers, key=lambda server: -(server.syn + server.segments))[:_MAX_SERVERS]
    tables: tuple[Table, ...] = ()
    if busiest:
        rows, lines = tuple(_build_row(item) for item in busiest), tuple(item.line for item in busiest)
        tables = (Table("tcp_handshakes", _COLUMNS, rows, "stdout", lines),)
    return Parsed(tables=tables, facts=facts, warnings=tuple(warnings))


def _build_row(tcp_server: tcp_packets.TcpServer) -> tuple[Cell, ...]:
    times = sorted(tcp_server.handshakes_ms)
    tried = tcp_server.syn + tcp_server.syn_again
    return (
        *(
            tcp_server.address,
            tcp_server.port,
            tcp_server.syn,
            tcp_server.syn_again,
            tcp_server.syn_ack,
            max(0, tcp_server.syn - len(times)),
            tcp_server.rst,
        ),
        *(tcp_server.segments, tcp_server.again, tcp_server.mss_client, tcp_server.mss_server),
        *(times[len(times) // 2] if times else None, times[-1] if times else None),
        number_or_none(100.0 * tcp_server.syn_again / tried) if tried else None,
    )


COLLECTOR = Collector(
    id="pcap",
    title=Text("TCP handshakes on the wire", "抓包：TCP 握手"),
    why=Text(
        "What no counter shows: which handshakes are lost, to which server, and the negotiated segment size.",
        "计数器无法显示的信息：哪些握手丢失、目的服务器，以及协商的分段大小。",
    ),
    tier=Tier.DEEP,
    exclusive=True,
    on_demand=True,
    methods=(
        Script(
            "tcpdump",
            Needs(tools=("tcpdump",), root=True, remedy="tcpdump"),
            sh=_SH,
            command_line="tcpdump -i any -p -nn -tt -S -s 96 -c 20000 (SYN, FIN, RST; or all of "
            "one port) for {seconds} s;"
            " payload is cut off on the host",
            version="tcpdump --version",
            stop="TERM",
        ),
    ),
    parse=parse_pcap,
    cost=Cost(
        5.0,
        100_000,
        Text(
            "Headers of at most 20,000 packets; on a busy port they are there in a second.",
            "最多两万个包的头部；繁忙端口一秒内即可抓满。",
        ),
    ),
    seconds_max=60,
    max_bytes=_MAX_BYTES,
    options=(
        Option(
            "port", r"(|\d{1,5})", Text("TCP port (empty: handshakes only)", "TCP 端口（留空则只抓握手）")
        ),
    ),
    touches=frozenset({TargetAccess.SOCKETS}),
)
