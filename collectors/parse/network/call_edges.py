"""Who is connected to whom, as counted on the host from its TCP and unix sockets.

Lines, made by the awk programs of `collectors.catalog.calls`, their values parted by tabs, `-` where nothing is known:

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
from collectors.parse import sampled
from collectors.parse.cells import Cell, grown, known
from collectors.parse.sampled import Snapshot
from collectors.parse.tokens import amount, whole, words

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
    Column("looks", "count"),
)
UNIX_COLUMNS = (
    *(Column("path"), Column("pid"), Column("comm"), Column("peer_pid"), Column("peer_comm")),
    Column("connections", "count"),
)

Key = tuple[str, int | None, str, str, int | None, str, int | None]


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge in one look; `retransmitted` counts since its connections were opened."""

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
class Look:
    """One look at all sockets; `line` is that of their number, 0 where the look was cut short."""

    boot_ns: int
    line: int = 0
    seen: int = 0
    rest: int = 0
    edges: dict[Key, Edge] = field(default_factory=dict)


def read(snapshot: Snapshot) -> Look:
    """All that one look says; lines that say nothing are left out."""
    found = Look(snapshot.boot_ns)
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:1200].split(b"\t")
        if tokens[0] == b"seen" and len(tokens) == 2:
            found.seen, found.line = whole(tokens[1]) or 0, at
        elif tokens[0] == b"rest" and len(tokens) == 3:
            found.rest += whole(tokens[2]) or 0
        elif tokens[0] == b"edge" and len(tokens) == _FIELDS:
            one = _edge(tokens, at)
            if one is not None:
                found.edges.setdefault(*one)
    return found


def _edge(tokens: Sequence[bytes], at: int) -> tuple[Key, Edge] | None:
    direction = words(tokens[1], 8)
    counts = [whole(tokens[place]) for place in (8, 9, 10, 15, 16, 17)]
    local_port, remote_port = _port(tokens[5]), _port(tokens[7])
    asked = remote_port if direction == "out" else local_port
    if direction not in {"in", "out"} or asked is None:
        return None
    established, syn_sent, close_wait, retransmitting, send_queue, recv_queue = counts
    if (
        established is None or syn_sent is None or close_wait is None or retransmitting is None
        or send_queue is None or recv_queue is None
    ):  # fmt: skip
        return None
    comm = words(tokens[18], 64)
    key = (
        direction,
        whole(tokens[2]),
        comm,
        _address(tokens[4]),
        local_port,
        _address(tokens[6]),
        remote_port,
    )
    rtt_sum, rtt_count, rtt_max, retransmitted = (amount(tokens[place]) for place in (11, 12, 13, 14))
    return key, Edge(
        *(at, whole(tokens[3]), established, syn_sent, close_wait, rtt_sum, rtt_count, rtt_max),
        *(retransmitted, retransmitting, send_queue, recv_queue),
    )


def _port(token: bytes) -> int | None:
    number = whole(token)
    return number if number is not None and number < 1 << 16 else None


def _address(token: bytes) -> str:
    """Without brackets and interface, an IPv4 address that is mapped into IPv6 as IPv4."""
    shown = words(token, 80).strip("[]").partition("%")[0].strip("[]")
    return shown[len(_MAPPED) :] if shown.lower().startswith(_MAPPED) and "." in shown else shown


def table(looks: Sequence[Look]) -> Table | None:
    """`calls`: one row for each edge, the greatest first; its counts are those of the look that saw most of it."""
    rows: list[tuple[tuple[Cell, ...], int]] = []
    for key in dict.fromkeys(key for look in looks for key in look.edges):
        seen = [look.edges[key] for look in looks if key in look.edges]
        rows.append((_row(key, seen, looks), max(seen, key=_weight).line))
    if not rows:
        return None
    rows.sort(key=lambda row: (-int(row[0][3] or 0), -int(row[0][8] or 0), row[1]))
    return Table(
        "calls", COLUMNS, tuple(row for row, _ in rows), sampled.PART, tuple(line for _, line in rows)
    )


def _weight(one: Edge) -> tuple[int, int]:
    return one.connections, one.line


def _row(key: Key, seen: Sequence[Edge], looks: Sequence[Look]) -> tuple[Cell, ...]:
    direction, pid, comm, local, local_port, remote, remote_port = key
    top = max(seen, key=_weight)
    ends = [look.edges.get(key) for look in (looks[0], looks[-1])]
    before, after = (one.retransmitted if one else nan for one in ends)
    return (
        *(direction, pid, comm, top.in_scope, local, local_port, remote, remote_port),
        *(top.connections, sum(one.connections for one in seen) / len(looks), top.established),
        *(top.syn_sent, top.close_wait),
        *(known(top.rtt_sum / top.rtt_count) if top.rtt_count > 0 else None, known(top.rtt_max)),
        *(known(grown(before, after)) if len(looks) > 1 else None, top.retransmitting),
        *(max(one.send_queue for one in seen), max(one.recv_queue for one in seen), len(looks)),
    )


def unix_table(snapshots: Sequence[Snapshot]) -> Table | None:
    """`unix_calls`: processes that are connected to another one's unix socket, by its path."""
    rows = [row for snapshot in snapshots[-1:] for row in _unix(snapshot)]
    if not rows:
        return None
    cells, lines = tuple(row for row, _ in rows), tuple(line for _, line in rows)
    return Table("unix_calls", UNIX_COLUMNS, cells, sampled.PART, lines)


def _unix(snapshot: Snapshot) -> Iterator[tuple[tuple[Cell, ...], int]]:
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:1200].split(b"\t")
        if tokens[0] != b"unix" or len(tokens) != 7:
            continue
        count = whole(tokens[1])
        if count is not None:
            path, comm, peer = words(tokens[4], 108), words(tokens[5], 64), words(tokens[6], 64)
            yield (path, whole(tokens[2]), comm, whole(tokens[3]), peer, count), at
