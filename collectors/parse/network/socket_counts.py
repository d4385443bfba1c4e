"""What the host counted of its TCP sockets: by state, by destination, by the port that waits to be closed.

Lines, made by the awk program of `collectors.catalog.network.ss`:

    total COUNT                                (of all, always there)
    state COUNT STATE
    dest  COUNT ESTABLISHED TIME_WAIT SYN_SENT PORTS_OF_THE_RANGE SOURCE PEER:PORT
    wait  COUNT LOCAL_PORT|* PEER:PORT|*
    rest  COUNT                                (sockets beyond the greatest number of destinations)

A look at /proc/net/tcp has its hexadecimal addresses and states instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from collectors.parse.network import addresses
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables.tokens import parse_whole, to_text

#: By their numbers in /proc/net/tcp, from 01: include/net/tcp_states.h of the kernel; names as ss prints them.
STATES = (
    *("ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "UNCONN", "CLOSE-WAIT"),
    *("LAST-ACK", "LISTEN", "CLOSING"),
)
_NEW_SYN_RECV = "0C"
_OF_NUMBER = {f"{number:02X}": name for number, name in enumerate(STATES, 1)} | {_NEW_SYN_RECV: "SYN-RECV"}
_MAX_LINES = 400
_HEX_LENGTHS = {8, 32}


@dataclass(frozen=True, slots=True)
class DestinationCount:
    """Sockets from one address of ours to one port of another's; `ports` are those within the range."""

    sockets: int
    established: int
    time_wait: int
    syn_sent: int
    ports: int
    line: int


@dataclass(slots=True)
class SocketCount:
    """One look; `line` is that of the total, 0 where the look was cut short.

    Keys of `destinations`: (source, peer, port); of `waiting`: (local port, peer, port).
    """

    boot_ns: int
    line: int = 0
    states: dict[str, tuple[int, int]] = field(default_factory=dict)
    destinations: dict[tuple[str, str, int], DestinationCount] = field(default_factory=dict)
    waiting: dict[tuple[int | None, str, int | None], tuple[int, int]] = field(default_factory=dict)


def parse_socket_counts(snapshot: Snapshot) -> SocketCount:
    """Return the records of one sample. Lines without a record are left out."""
    socket_count = SocketCount(snapshot.boot_ns)
    raw = False
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:600].split()
        count = parse_whole(tokens[1]) if len(tokens) > 1 else None
        if count is None:
            continue
        if tokens[0] == b"total":
            socket_count.line = at
        elif tokens[0] == b"state" and len(tokens) == 3:
            name = to_text(tokens[2], 16)
            raw = raw or name in _OF_NUMBER
            name = _OF_NUMBER.get(name, name)
            if name in STATES:
                socket_count.states[name] = count + socket_count.states.get(name, (0, 0))[0], at
        elif tokens[0] == b"dest" and len(tokens) == 8:
            numbers = [parse_whole(token) for token in tokens[2:6]]
            source, _ = _parse_address(tokens[6] + b":0")
            peer, port = _parse_address(tokens[7])
            if port is not None and None not in numbers:
                estab, time_wait, syn_sent, ports = (number or 0 for number in numbers)
                destination_count = DestinationCount(count, estab, time_wait, syn_sent, ports, at)
                socket_count.destinations[source, peer, port] = destination_count
        elif tokens[0] == b"wait" and len(tokens) == 4:
            _, local = _parse_address((b"00000000:" if raw else b"*:") + tokens[2])
            peer, port = _parse_address(tokens[3]) if tokens[3] != b"*" else ("", None)
            socket_count.waiting[local, peer, port] = count, at
    return socket_count


def _parse_address(token: bytes) -> tuple[str, int | None]:
    head, _, _ = token.rpartition(b":")
    if len(head) in _HEX_LENGTHS and head.isalnum():
        return addresses.decode_proc_address(token)
    return addresses.split_address(token)


def parse_ephemeral_ports(samples: Samples) -> int:
    """Return the number of ports for outgoing connections, or 0 if it is unknown."""
    ranges, reserved = samples.of("ip_local_port_range"), samples.of("ip_local_reserved_ports")
    tokens = ranges[-1].body.split() if ranges else []
    low, high = [parse_whole(token) or 0 for token in (*tokens[:2], b"", b"")[:2]]
    if not 0 < low <= high < 1 << 16:
        return 0
    taken: set[int] = set()
    for piece in (reserved[-1].body.strip() if reserved else b"").split(b",")[:2_000]:
        first, _, last = piece.partition(b"-")
        start, end = parse_whole(first), parse_whole(last or first)
        if start is not None and end is not None:
            taken |= set(range(max(start, low), min(end, high) + 1))
    return high - low + 1 - len(taken)
