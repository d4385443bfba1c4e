"""Headers of TCP packets as `tcpdump -nn -tt -S` prints them, gathered by server.

    1795296506.29 eth0  In  IP 10.0.0.2.46080 > 10.0.0.1.81: Flags [S], seq 22150, win 64, options [mss 1460], length 0

The device and direction stand there since tcpdump 4.99. On `-i any` a packet is seen once for each device that
it passes (veth, bridge, card); a connection is followed on the first of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from collectors.parse.tables.tokens import parse_whole, to_text

_LINE = re.compile(
    rb"(\d{1,10})\.(\d{1,9}) (?:(\S{1,32}) +(\w{1,3}) +)?IP6? (\S{1,64})\.(\d{1,5}) > (\S{1,64})\.(\d{1,5}): "
    rb"Flags \[([A-Z.]{1,12}|none)\](?:, seq (\d{1,10})(?::\d{1,10})?)?[^\[\n]{0,200}(?:\[([^\]\n]{0,200})\])?"
    rb"[^\n]{0,80}length (\d{1,6})"
)
_MSS = re.compile(rb"\bmss (\d{1,5})\b")
_TOTAL = re.compile(rb"^(\d{1,12}) packets? (captured|received by filter|dropped by kernel)", re.MULTILINE)
_MAX_FLOWS = 20_000
_NS_DIGITS = 9


@dataclass(slots=True)
class TcpServer:
    """What was seen of one address and port; `line` is that of its first packet."""

    address: str
    port: int
    line: int
    syn: int = 0
    syn_again: int = 0
    syn_ack: int = 0
    rst: int = 0
    segments: int = 0
    again: int = 0
    mss_client: int | None = None
    mss_server: int | None = None
    handshakes_ms: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Flow:
    """One connection: where it is followed, its handshake, and the data that passed each way."""

    device: bytes
    server: TcpServer
    syn_ns: int | None = None
    syn_seq: bytes = b""
    answered: bool = False
    passed: set[tuple[bytes, bytes]] = field(default_factory=set)


End = tuple[bytes, bytes]


def collect_servers(text: bytes, limit: int) -> tuple[list[TcpServer], int]:
    """All servers of at most `limit` packets, and how many lines could not be read."""
    tcp_servers: dict[End, TcpServer] = {}
    flows: dict[tuple[End, End], _Flow] = {}
    unreadable = 0
    for number, line in enumerate(text.split(b"\n")[:limit], 1):
        match = _LINE.match(line[:600])
        if match is None:
            unreadable += bool(line)
            continue
        source, target = (match[5], match[6]), (match[7], match[8])
        flow = flows.get((source, target)) or flows.get((target, source))
        if flow is None and len(flows) < _MAX_FLOWS:
            client, server = _find_sides(source, target, match[9])
            at = tcp_servers.setdefault(server, TcpServer(to_text(server[0], 64), int(server[1]), number))
            flow = flows[client, server] = _Flow(match[3] or b"", at)
        if flow is not None and flow.device == (match[3] or b""):
            _add_packet(flow, match, (source, target) in flows)
    return list(tcp_servers.values()), unreadable


def _find_sides(source: End, target: End, flags: bytes) -> tuple[End, End]:
    """Client and server: who sends a SYN is the client; else the lower port is taken for the server's."""
    if flags == b"S":
        return source, target
    if flags == b"S." or int(source[1]) < int(target[1]):
        return target, source
    return source, target


def _add_packet(flow: _Flow, match: re.Match[bytes], from_client: bool) -> None:
    server, flags = flow.server, match[9]
    at_ns = int(match[1]) * 10**9 + int(match[2].ljust(_NS_DIGITS, b"0"))
    reported_match = _MSS.search(match[11] or b"")
    if flags == b"S" and from_client:
        if flow.syn_ns is not None and flow.syn_seq == match[10]:
            server.syn_again += 1
            return
        flow.syn_ns, flow.syn_seq, flow.answered = at_ns, match[10] or b"", False
        flow.passed.clear()
        server.syn += 1
        server.mss_client = _smallest(server.mss_client, reported_match)
    elif flags == b"S.":
        server.syn_ack += 1
        server.mss_server = _smallest(server.mss_server, reported_match)
        if flow.syn_ns is not None and not flow.answered:
            flow.answered = True
            server.handshakes_ms.append(max(0, at_ns - flow.syn_ns) / 1e6)
    elif b"R" in flags:
        server.rst += 1
    elif int(match[12]) > 0:
        server.segments += 1
        sent = match[5] + match[6], match[10] or b""
        server.again += sent in flow.passed
        flow.passed.add(sent)


def _smallest(before: int | None, match: re.Match[bytes] | None) -> int | None:
    if match is None:
        return before
    return int(match[1]) if before is None else min(before, int(match[1]))


def sum_totals(log: bytes) -> Mapping[str, object]:
    """`packets_captured`, `packets_dropped_by_kernel` of tcpdump's last words."""
    results: dict[str, object] = {}
    for count, what in _TOTAL.findall(log):
        number = parse_whole(count)
        if number is not None:
            results[f"packets_{what.decode('ascii').replace(' ', '_')}"] = number
    return results
