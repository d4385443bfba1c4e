"""Whom the processes of a host call and who calls them, as one view of it tells. Pure.

Three collectors know a part each: `calls` the connections of each process with their round trips and queues,
`tcp_waits` how many of them owe an answer on average, and `ss` the destinations of the whole host, those whose
connections are closed already included, without a process. A call is all connections of processes of one name with
one address and port (`out`), or of one address with one port that they listen on (`in`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from collectors.contract import Sentence
from collectors.parse import addresses
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Row, View

CALLS, WAITS, SOCKETS, LISTENERS = "calls", "tcp_waits", "ss", "ss_listen"
MAX_CITED_LINES = 20
MAX_PIDS = 100
Direction = Literal["out", "in"]
Key = tuple[str, str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `port` is the remote one of `out`, our own of `in`; a unix socket has its path as `remote`.

    `waiting` is how many connections owed an answer on average over `looks`: the remote side's of `out`, ours of
    `in`, where all who ask at one port count together. None is not known, which is not zero.
    """

    direction: Direction
    protocol: Literal["tcp", "unix"]
    comm: str
    pids: tuple[int, ...]
    remote: str
    port: int | None
    connections: float | None = None
    established: float | None = None
    syn_sent: float | None = None
    close_wait: float | None = None
    time_wait: float | None = None
    rtt_mean_ms: float | None = None
    rtt_max_ms: float | None = None
    retransmitted: float | None = None
    retransmitting: float | None = None
    send_queue_bytes: float | None = None
    recv_queue_bytes: float | None = None
    waiting: float | None = None
    waiting_oldest_ms: float | None = None
    looks: int = 0
    peer_comm: str = ""
    peer_pid: int | None = None
    citations: tuple[Citation, ...] = ()

    @property
    def key(self) -> str:
        """What it is called in answers: the same in every run."""
        where = self.remote if self.protocol == "unix" else f"{self.remote}:{self.port}"
        return f"{self.direction} {self.protocol} {where} {self.comm}".rstrip()


@dataclass(frozen=True, slots=True)
class Served:
    """How many requests were inside these processes on average over `looks`, and the longest wait of one seen.

    `names` are those of the processes: of several, one may serve the other.
    """

    waiting: float
    oldest_ms: float | None
    looks: int
    citations: tuple[Citation, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calls:
    """All calls, the busiest first. `missing` are reasons why something is not known, by collector.

    `pids` are the processes that were asked for, empty for a scope or a host.
    """

    out: tuple[Call, ...] = ()
    into: tuple[Call, ...] = ()
    served: Served | None = None
    missing: Mapping[str, Sentence] = field(default_factory=dict)
    pids: tuple[int, ...] = ()


def calls(view: View, pid: int | None = None) -> Calls:
    """The calls of one process with its siblings, else of the scope of the capture, else of the whole host."""
    chosen = _Chosen(view, siblings(view, pid) if pid is not None else frozenset())
    found = _connected(chosen)
    found = _waited(chosen, found)
    if chosen.everyone:
        found = _destinations(view, found)
    found |= _unix(chosen)
    ordered = sorted(found.values(), key=_busiest)
    needed = (CALLS, WAITS) if view.rows("tcp_destinations") else (CALLS, WAITS, SOCKETS)
    return Calls(
        tuple(one for one in ordered if one.direction == "out"),
        tuple(one for one in ordered if one.direction == "in"),
        _served(chosen),
        {name: view.why_not([name]) for name in needed if not view.has(name)},
        tuple(sorted(chosen.pids)),
    )


def siblings(view: View, pid: int) -> frozenset[int]:
    """The process and those of its name that serve the same port: workers that share a listener are one service."""
    serving = {
        (row.text("comm"), row.text(port), int(one))
        for kind, port in (("calls", "local_port"), ("tcp_waits", "peer"))
        for row in view.rows(kind)
        if row.text("direction") == "in" and (one := row.number("pid"))
    }
    shared = {(comm, port) for comm, port, one in serving if one == pid and comm}
    return frozenset({pid, *(one for comm, port, one in serving if (comm, port) in shared)})


def _busiest(one: Call) -> tuple[float, float, str]:
    return -(one.waiting or 0.0), -(one.connections or 0.0), one.key


class _Chosen:
    """Which rows are about the processes that were asked for."""

    def __init__(self, view: View, pids: frozenset[int]) -> None:
        self.view = view
        self.pids = pids
        scoped = [row for row in view.rows("calls") if row.number("in_scope") is not None]
        self.scoped = not pids and bool(scoped) and view.target.get("kind") in {"process", "cgroup"}

    @property
    def everyone(self) -> bool:
        """Whether the whole host was asked for."""
        return not self.pids and not self.scoped

    def rows(self, kind: str) -> Iterator[Row]:
        """The rows of these processes; tables that hold the target's processes only are taken as they are."""
        for row in self.view.rows(kind):
            if self.pids:
                if row.number("pid") in self.pids:
                    yield row
            elif not self.scoped or kind != "calls" or row.number("in_scope"):
                yield row


def _connected(chosen: _Chosen) -> dict[Key, Call]:
    grouped: dict[Key, list[Row]] = {}
    for row in chosen.rows("calls"):
        direction = row.text("direction")
        port = row.number("remote_port" if direction == "out" else "local_port")
        if direction in {"in", "out"} and port is not None:
            key = (direction, "tcp", row.text("comm"), row.text("remote"), int(port))
            grouped.setdefault(key, []).append(row)
    return {key: _call(key, rows) for key, rows in grouped.items()}


def _call(key: Key, rows: Sequence[Row]) -> Call:
    direction, _, comm, remote, port = key
    connected = [(row.number("rtt_mean_ms"), row.number("connections") or 0.0) for row in rows]
    timed = [(rtt, weight) for rtt, weight in connected if rtt is not None and weight > 0]
    return Call(
        "out" if direction == "out" else "in",
        "tcp",
        comm,
        _pids(rows),
        remote,
        port,
        connections=_sum(rows, "connections"),
        established=_sum(rows, "established"),
        syn_sent=_sum(rows, "syn_sent"),
        close_wait=_sum(rows, "close_wait"),
        rtt_mean_ms=sum(r * w for r, w in timed) / sum(w for _, w in timed) if timed else None,
        rtt_max_ms=_max(rows, "rtt_max_ms"),
        retransmitted=_sum(rows, "retransmitted"),
        retransmitting=_sum(rows, "retransmitting"),
        send_queue_bytes=_sum(rows, "send_queue_bytes"),
        recv_queue_bytes=_sum(rows, "recv_queue_bytes"),
        citations=cited(row.cite for row in rows),
    )


def _sum(rows: Sequence[Row], name: str) -> float | None:
    known = [value for row in rows if (value := row.number(name)) is not None]
    return sum(known) if known else None


def _max(rows: Sequence[Row], name: str) -> float | None:
    return max((value for row in rows if (value := row.number(name)) is not None), default=None)


def _pids(rows: Iterable[Row]) -> tuple[int, ...]:
    return tuple(sorted({int(pid) for row in rows if (pid := row.number("pid"))})[:MAX_PIDS])


def _waited(chosen: _Chosen, found: dict[Key, Call]) -> dict[Key, Call]:
    """Who waits for whom; a call whose connections were too short to be met open is known by this alone.

    All clients of a port count together, so what this says of `in` belongs to a call only where it is the only one.
    """
    grouped: dict[Key, list[Row]] = {}
    for row in chosen.rows("tcp_waits"):
        key = _waited_key(row, found)
        if key is not None:
            grouped.setdefault(key, []).append(row)
    kept = dict(found)
    for key, rows in grouped.items():
        direction, _, comm, remote, port = key
        bare = Call("out" if direction == "out" else "in", "tcp", comm, _pids(rows), remote, port)
        known = found.get(key, replace(bare, connections=_sum(rows, "connections")))
        kept[key] = replace(
            known,
            waiting=_sum(rows, "waiting"),
            waiting_oldest_ms=_max(rows, "oldest"),
            looks=_looks(chosen.view),
            citations=cited((*known.citations, *(row.cite for row in rows))),
        )
    return kept


def _waited_key(row: Row, found: Mapping[Key, Call]) -> Key | None:
    if row.text("direction") == "out":
        remote, port = addresses.split(row.text("peer").encode())
        return None if port is None else ("out", "tcp", row.text("comm"), remote, port)
    at = row.text("peer")
    port = int(at) if at.isascii() and at.isdigit() and len(at) < 6 else None
    same = [key for key in found if key[0] == "in" and key[2] == row.text("comm") and key[4] == port]
    return same[0] if len(same) == 1 else None


def _looks(view: View) -> int:
    """How often `tcp_waits` looked."""
    told = view.facts.get(WAITS)
    looks = told.get("tcp_looks") if isinstance(told, Mapping) else None
    if isinstance(looks, int):
        return looks
    return int(max((row.number("looks") or 0.0 for row in view.rows("tcp_waits")), default=0.0))


def _served(chosen: _Chosen) -> Served | None:
    rows = [row for row in chosen.rows("tcp_waits") if row.text("direction") == "in"]
    waiting = _sum(rows, "waiting")
    if waiting is None:
        return None
    names = tuple(sorted({row.text("comm") for row in rows if row.number("waiting")}))
    return Served(waiting, _max(rows, "oldest"), _looks(chosen.view), cited(row.cite for row in rows), names)


def _destinations(view: View, found: dict[Key, Call]) -> dict[Key, Call]:
    """What the whole host talks to, connections that are closed already included; nobody knows by which process."""
    kept = dict(found)
    for row in view.rows("tcp_destinations"):
        port = row.number("port")
        remote = row.text("peer")
        if port is None:
            continue
        known = [key for key in found if key[0] == "out" and key[3] == remote and key[4] == int(port)]
        if len(known) == 1:
            kept[known[0]] = replace(kept[known[0]], time_wait=row.number("time_wait"))
        elif not known:
            key = ("out", "tcp", "", remote, int(port))
            kept[key] = Call(
                *("out", "tcp", "", (), remote, int(port)),
                connections=row.number("sockets"),
                established=row.number("established"),
                syn_sent=row.number("syn_sent"),
                time_wait=row.number("time_wait"),
                citations=cited([row.cite]),
            )
    return kept


def _unix(chosen: _Chosen) -> dict[Key, Call]:
    grouped: dict[Key, list[Row]] = {}
    for row in chosen.rows("unix_calls"):
        grouped.setdefault(("out", "unix", row.text("comm"), row.text("path"), None), []).append(row)
    found: dict[Key, Call] = {}
    for key, rows in grouped.items():
        owners = {int(pid) for row in rows if (pid := row.number("peer_pid"))}
        found[key] = Call(
            *("out", "unix", key[2], _pids(rows), key[3], None, _sum(rows, "connections")),
            peer_comm=rows[0].text("peer_comm"),
            peer_pid=owners.pop() if len(owners) == 1 else None,
            citations=cited(row.cite for row in rows),
        )
    return found


def cited(places: Iterable[Citation]) -> tuple[Citation, ...]:
    """Citations of the same part as one, with at most MAX_CITED_LINES lines."""
    lines: dict[tuple[str, str, str, str], list[int]] = {}
    for one in places:
        lines.setdefault((one.run, one.collector, one.artifact, one.part), []).extend(one.lines)
    return tuple(
        Citation(*place, tuple(dict.fromkeys(found))[:MAX_CITED_LINES]) for place, found in lines.items()
    )
