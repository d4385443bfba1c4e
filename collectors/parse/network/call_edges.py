"""Who is connected to whom, as counted on the host from its TCP and unix sockets.

Lines, made by the awk programs of the collector `calls`, their values parted by tabs, `-` where nothing is known:

    edge  DIRECTION PID SCOPE LOCAL LOCAL_PORT REMOTE REMOTE_PORT  ESTABLISHED SYN_SENT CLOSE_WAIT
          RTT_SUM RTT_COUNT RTT_MAX RETRANSMITTED RETRANSMITTING SEND_QUEUE RECEIVE_QUEUE COMM
    seen  SOCKETS                                   (of all, always there)
    rest  DIRECTION SOCKETS                         (in groups beyond those that are printed)
    unix  CONNECTIONS PID PEER_PID PATH COMM PEER_COMM

One edge is all connections of one process to one address and port (`out`), or of one address to one listening port
(`in`). Times are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import nan

from collectors.contract import Column, Table
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables.cells import Cell, counter_increase, number_or_none
from collectors.parse.tables.tokens import parse_amount, parse_whole, to_text

_MAX_LINES = 800
_FIELDS = 19
_MAPPED = "::ffff:"

COLUMNS = (
    *(Column("direction"), Column("pid"), Column("comm"), Column("in_scope")),
    *(Column("local"), Column("local_port"), Column("remote"), Column("remote_port")),
    *(Column("connections", "count"), Column("connections_mean", "count"), Column("established", "count")),
    *(Column("syn_sent", "count"), Column("close_wait", "count")),
    *(Column("rtt_mean_ms", "ms"), Column("rtt_max_ms", "ms")),
    *(Column("retransmitted", "count"), Column("retransmitting", "count")),
    *(Column("send_queue_bytes", "bytes"), Column("recv_queue_bytes", "bytes")),
    Column("samples", "count"),
)
UNIX_COLUMNS = (
    *(Column("path"), Column("pid"), Column("comm"), Column("peer_pid"), Column("peer_comm")),
    Column("connections", "count"),
)

Key = tuple[str, int | None, str, str, int | None, str, int | None]


@dataclass(frozen=True, slots=True)
class CallEdge:
    """One edge in one sample; `retransmitted` counts since its connections were opened."""

    line: int
    in_scope: int | None
    established: int
    syn_sent: int
    close_wait: int
    rtt_sum: float
    rtt_count: float
    rtt_max: float
    retransmitted: float
    retransmitting: int
    send_queue: int
    recv_queue: int

    @property
    def connections(self) -> int:
        """In every state that is looked at."""
        return self.established + self.syn_sent + self.close_wait


@dataclass(slots=True)
class ConnectionSample:
    """One look at all sockets; `line` is that of their number, 0 where the look was cut short."""

    boot_ns: int
    line: int = 0
    seen: int = 0
    rest: int = 0
    edges: dict[Key, CallEdge] = field(default_factory=dict)


def parse_call_edges(snapshot: Snapshot) -> ConnectionSample:
    """Return the records of one sample. Lines without a record are left out."""
    connection_sample = ConnectionSample(snapshot.boot_ns)
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:1200].split(b"\t")
        if tokens[0] == b"seen" and len(tokens) == 2:
            connection_sample.seen, connection_sample.line = parse_whole(tokens[1]) or 0, at
        elif tokens[0] == b"rest" and len(tokens) == 3:
            connection_sample.rest += parse_whole(tokens[2]) or 0
        elif tokens[0] == b"edge" and len(tokens) == _FIELDS:
            edge = _parse_edge(tokens, at)
            if edge is not None:
                connection_sample.edges.setdefault(*edge)
    return connection_sample


def _parse_edge(tokens: Sequence[bytes], at: int) -> tuple[Key, CallEdge] | None:
    direction = to_text(tokens[1], 8)
    counts = [parse_whole(tokens[place]) for place in (8, 9, 10, 15, 16, 17)]
    local_port, remote_port = _parse_port(tokens[5]), _parse_port(tokens[7])
    requested_remote_port = remote_port if direction == "out" else local_port
    if direction not in {"in", "out"} or requested_remote_port is None:
        return None
    established, syn_sent, close_wait, retransmitting, send_queue, recv_queue = counts
    if (
        established is None or syn_sent is None or close_wait is None or retransmitting is None
        or send_queue is None or recv_queue is None
    ):  # fmt: skip
        return None
    comm = to_text(tokens[18], 64)
    key = (
        direction,
        parse_whole(tokens[2]),
        comm,
        _parse_address(tokens[4]),
        local_port,
        _parse_address(tokens[6]),
        remote_port,
    )
    rtt_sum, rtt_count, rtt_max, retransmitted = (parse_amount(tokens[place]) for place in (11, 12, 13, 14))
    return key, CallEdge(
        *(at, parse_whole(tokens[3]), established, syn_sent, close_wait, rtt_sum, rtt_count, rtt_max),
        *(retransmitted, retransmitting, send_queue, recv_queue),
    )


def _parse_port(token: bytes) -> int | None:
    number = parse_whole(token)
    return number if number is not None and number < 1 << 16 else None


def _parse_address(token: bytes) -> str:
    """Without brackets and interface, an IPv4 address that is mapped into IPv6 as IPv4."""
    displayed = to_text(token, 80).strip("[]").partition("%")[0].strip("[]")
    return (
        displayed[len(_MAPPED) :] if displayed.lower().startswith(_MAPPED) and "." in displayed else displayed
    )


def build_calls_table(connection_samples: Sequence[ConnectionSample]) -> Table | None:
    """`calls`: one row for each edge, the greatest first; its counts are those of the look that saw most of it."""
    rows: list[tuple[tuple[Cell, ...], int]] = []
    for key in dict.fromkeys(
        key for connection_sample in connection_samples for key in connection_sample.edges
    ):
        seen = [
            connection_sample.edges[key]
            for connection_sample in connection_samples
            if key in connection_sample.edges
        ]
        rows.append((_build_row(key, seen, connection_samples), max(seen, key=_edge_weight).line))
    if not rows:
        return None
    rows.sort(key=lambda row: (-int(row[0][3] or 0), -int(row[0][8] or 0), row[1]))
    return Table(
        "calls", COLUMNS, tuple(row for row, _ in rows), sampled.PART, tuple(line for _, line in rows)
    )


def _edge_weight(call_edge: CallEdge) -> tuple[int, int]:
    return call_edge.connections, call_edge.line


def _build_row(
    key: Key, seen: Sequence[CallEdge], connection_samples: Sequence[ConnectionSample]
) -> tuple[Cell, ...]:
    direction, pid, comm, local, local_port, remote, remote_port = key
    top = max(seen, key=_edge_weight)
    ends = [
        connection_sample.edges.get(key)
        for connection_sample in (connection_samples[0], connection_samples[-1])
    ]
    before, after = (end.retransmitted if end else nan for end in ends)
    return (
        *(direction, pid, comm, top.in_scope, local, local_port, remote, remote_port),
        *(top.connections, sum(item.connections for item in seen) / len(connection_samples), top.established),
        *(top.syn_sent, top.close_wait),
        *(
            number_or_none(top.rtt_sum / top.rtt_count) if top.rtt_count > 0 else None,
            number_or_none(top.rtt_max),
        ),
        *(
            number_or_none(counter_increase(before, after)) if len(connection_samples) > 1 else None,
            top.retransmitting,
        ),
        *(
            max(item.send_queue for item in seen),
            max(item.recv_queue for item in seen),
            len(connection_samples),
        ),
    )


def build_unix_table(snapshots: Sequence[Snapshot]) -> Table | None:
    """`unix_calls`: processes that are connected to another one's unix socket, by its path."""
    rows = [row for snapshot in snapshots[-1:] for row in _parse_unix(snapshot)]
    if not rows:
        return None
    cells, lines = tuple(row for row, _ in rows), tuple(line for _, line in rows)
    return Table("unix_calls", UNIX_COLUMNS, cells, sampled.PART, lines)


def _parse_unix(snapshot: Snapshot) -> Iterator[tuple[tuple[Cell, ...], int]]:
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:1200].split(b"\t")
        if tokens[0] != b"unix" or len(tokens) != 7:
            continue
        count = parse_whole(tokens[1])
        if count is not None:
            path, comm, peer = to_text(tokens[4], 108), to_text(tokens[5], 64), to_text(tokens[6], 64)
            yield (path, parse_whole(tokens[2]), comm, parse_whole(tokens[3]), peer, count), at
