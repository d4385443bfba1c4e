"""Build the call graph of a host from one view: the calls that its processes make and serve. Pure.

Three collectors have a part each. `calls` has the connections of each process with round trips and queues,
`tcp_waits` the mean number of connections that wait for a response, and `ss` the destinations of the whole host
without a process, including closed connections. A call is all connections of processes of one name to one address
and port (`out`), or of one address to one port that they listen on (`in`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from collectors.contract import Sentence
from collectors.parse.network import addresses
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView, TableRow

CALLS, WAITS, SOCKETS, LISTENERS = "calls", "tcp_waits", "ss", "ss_listen"
MAX_CITED_LINES = 20
MAX_PIDS = 100
Direction = Literal["out", "in"]
CallKey = tuple[str, str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class HostCall:
    """One call. `port` is the remote port of `out`, the local port of `in`; `remote` of a unix socket is its path.

    `waiting` is the mean number of connections that wait for a response, over `samples`. For `in`, all clients of
    the port count together. None means not known, which is not zero.
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
    samples: int = 0
    peer_comm: str = ""
    peer_pid: int | None = None
    citations: tuple[Citation, ...] = ()

    @property
    def key(self) -> str:
        """The identifier of the call in responses; it is the same in every run."""
        where = self.remote if self.protocol == "unix" else f"{self.remote}:{self.port}"
        return f"{self.direction} {self.protocol} {where} {self.comm}".rstrip()


@dataclass(frozen=True, slots=True)
class ServedRequests:
    """Mean number of requests inside these processes over `samples`, and the longest wait observed.

    `names` are the names of the processes. If there are several, one may serve the other.
    """

    waiting: float
    oldest_ms: float | None
    samples: int
    citations: tuple[Citation, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallGraph:
    """All calls, busiest first. `missing` has the reason why data is missing, by collector.

    `pids` are the requested processes, empty for a scope or a host.
    """

    outgoing: tuple[HostCall, ...] = ()
    incoming: tuple[HostCall, ...] = ()
    served: ServedRequests | None = None
    missing: Mapping[str, Sentence] = field(default_factory=dict)
    pids: tuple[int, ...] = ()


def build_call_graph(view: HostView, pid: int | None = None) -> CallGraph:
    """Return the calls of one process with its siblings, else of the scope of the capture, else of the host."""
    selected = _ProcessRows(view, list_siblings(view, pid) if pid is not None else frozenset())
    calls = _build_tcp_calls(selected)
    calls = _add_waits(selected, calls)
    if selected.is_whole_host:
        calls = _add_destinations(view, calls)
    calls |= _build_unix_calls(selected)
    ordered = sorted(calls.values(), key=_sort_by_traffic)
    needed = (CALLS, WAITS) if view.rows("tcp_destinations") else (CALLS, WAITS, SOCKETS)
    return CallGraph(
        tuple(call for call in ordered if call.direction == "out"),
        tuple(call for call in ordered if call.direction == "in"),
        _count_served_requests(selected),
        {name: view.missing_reason([name]) for name in needed if not view.has_data(name)},
        tuple(sorted(selected.pids)),
    )


def list_siblings(view: HostView, pid: int) -> frozenset[int]:
    """Return a process and those of its name that serve the same port. Workers of one listener are one service."""
    serving = {
        (row.text("comm"), row.text(port), int(server))
        for kind, port in (("calls", "local_port"), ("tcp_waits", "peer"))
        for row in view.rows(kind)
        if row.text("direction") == "in" and (server := row.number("pid"))
    }
    shared = {(comm, port) for comm, port, server in serving if server == pid and comm}
    return frozenset({pid, *(server for comm, port, server in serving if (comm, port) in shared)})


def _sort_by_traffic(call: HostCall) -> tuple[float, float, str]:
    return -(call.waiting or 0.0), -(call.connections or 0.0), call.key


class _ProcessRows:
    """The rows of the requested processes."""

    def __init__(self, view: HostView, pids: frozenset[int]) -> None:
        self.view = view
        self.pids = pids
        scoped = [row for row in view.rows("calls") if row.number("in_scope") is not None]
        self.scoped = not pids and bool(scoped) and view.target.get("kind") in {"process", "cgroup"}

    @property
    def is_whole_host(self) -> bool:
        """Whether the whole host is requested."""
        return not self.pids and not self.scoped

    def rows(self, kind: str) -> Iterator[TableRow]:
        """Yield the rows of these processes; tables that contain only the scope are not filtered."""
        for row in self.view.rows(kind):
            if self.pids:
                if row.number("pid") in self.pids:
                    yield row
            elif not self.scoped or kind != "calls" or row.number("in_scope"):
                yield row


def _build_tcp_calls(selected: _ProcessRows) -> dict[CallKey, HostCall]:
    grouped: dict[CallKey, list[TableRow]] = {}
    for row in selected.rows("calls"):
        direction = row.text("direction")
        port = row.number("remote_port" if direction == "out" else "local_port")
        if direction in {"in", "out"} and port is not None:
            key = (direction, "tcp", row.text("comm"), row.text("remote"), int(port))
            grouped.setdefault(key, []).append(row)
    return {key: _build_tcp_call(key, rows) for key, rows in grouped.items()}


def _build_tcp_call(key: CallKey, rows: Sequence[TableRow]) -> HostCall:
    direction, _, comm, remote, port = key
    connected = [(row.number("rtt_mean_ms"), row.number("connections") or 0.0) for row in rows]
    timed = [(rtt, weight) for rtt, weight in connected if rtt is not None and weight > 0]
    return HostCall(
        "out" if direction == "out" else "in",
        "tcp",
        comm,
        _list_pids(rows),
        remote,
        port,
        connections=_sum_column(rows, "connections"),
        established=_sum_column(rows, "established"),
        syn_sent=_sum_column(rows, "syn_sent"),
        close_wait=_sum_column(rows, "close_wait"),
        rtt_mean_ms=sum(r * w for r, w in timed) / sum(w for _, w in timed) if timed else None,
        rtt_max_ms=_find_maximum(rows, "rtt_max_ms"),
        retransmitted=_sum_column(rows, "retransmitted"),
        retransmitting=_sum_column(rows, "retransmitting"),
        send_queue_bytes=_sum_column(rows, "send_queue_bytes"),
        recv_queue_bytes=_sum_column(rows, "recv_queue_bytes"),
        citations=merge_citations(row.citation for row in rows),
    )


def _sum_column(rows: Sequence[TableRow], name: str) -> float | None:
    known = [value for row in rows if (value := row.number(name)) is not None]
    return sum(known) if known else None


def _find_maximum(rows: Sequence[TableRow], name: str) -> float | None:
    return max((value for row in rows if (value := row.number(name)) is not None), default=None)


def _list_pids(rows: Iterable[TableRow]) -> tuple[int, ...]:
    return tuple(sorted({int(pid) for row in rows if (pid := row.number("pid"))})[:MAX_PIDS])


def _add_waits(selected: _ProcessRows, calls: dict[CallKey, HostCall]) -> dict[CallKey, HostCall]:
    """Add the waits to the calls; a call whose connections are too short for `calls` appears only here.

    All clients of a port count together, so the waits of `in` belong to a call only if the port has one client.
    """
    grouped: dict[CallKey, list[TableRow]] = {}
    for row in selected.rows("tcp_waits"):
        key = _find_wait_key(row, calls)
        if key is not None:
            grouped.setdefault(key, []).append(row)
    with_waits = dict(calls)
    for key, rows in grouped.items():
        direction, _, comm, remote, port = key
        bare = HostCall("out" if direction == "out" else "in", "tcp", comm, _list_pids(rows), remote, port)
        known = calls.get(key, replace(bare, connections=_sum_column(rows, "connections")))
        with_waits[key] = replace(
            known,
            waiting=_sum_column(rows, "waiting"),
            waiting_oldest_ms=_find_maximum(rows, "oldest"),
            samples=_count_samples(selected.view),
            citations=merge_citations((*known.citations, *(row.citation for row in rows))),
        )
    return with_waits


def _find_wait_key(row: TableRow, calls: Mapping[CallKey, HostCall]) -> CallKey | None:
    if row.text("direction") == "out":
        remote, port = addresses.split_address(row.text("peer").encode())
        return None if port is None else ("out", "tcp", row.text("comm"), remote, port)
    at = row.text("peer")
    port = int(at) if at.isascii() and at.isdigit() and len(at) < 6 else None
    same = [key for key in calls if key[0] == "in" and key[2] == row.text("comm") and key[4] == port]
    return same[0] if len(same) == 1 else None


def _count_samples(view: HostView) -> int:
    """Return how many samples `tcp_waits` took."""
    facts = view.facts.get(WAITS)
    samples = facts.get("tcp_samples") if isinstance(facts, Mapping) else None
    if isinstance(samples, int):
        return samples
    return int(max((row.number("samples") or 0.0 for row in view.rows("tcp_waits")), default=0.0))


def _count_served_requests(selected: _ProcessRows) -> ServedRequests | None:
    rows = [row for row in selected.rows("tcp_waits") if row.text("direction") == "in"]
    waiting = _sum_column(rows, "waiting")
    if waiting is None:
        return None
    names = tuple(sorted({row.text("comm") for row in rows if row.number("waiting")}))
    return ServedRequests(
        waiting,
        _find_maximum(rows, "oldest"),
        _count_samples(selected.view),
        merge_citations(row.citation for row in rows),
        names,
    )


def _add_destinations(view: HostView, calls: dict[CallKey, HostCall]) -> dict[CallKey, HostCall]:
    """Add the destinations of the whole host, including closed connections. Their process is not known."""
    with_destinations = dict(calls)
    for row in view.rows("tcp_destinations"):
        port = row.number("port")
        remote = row.text("peer")
        if port is None:
            continue
        known = [key for key in calls if key[0] == "out" and key[3] == remote and key[4] == int(port)]
        if len(known) == 1:
            with_destinations[known[0]] = replace(
                with_destinations[known[0]], time_wait=row.number("time_wait")
            )
        elif not known:
            key = ("out", "tcp", "", remote, int(port))
            with_destinations[key] = HostCall(
                *("out", "tcp", "", (), remote, int(port)),
                connections=row.number("sockets"),
                established=row.number("established"),
                syn_sent=row.number("syn_sent"),
                time_wait=row.number("time_wait"),
                citations=merge_citations([row.citation]),
            )
    return with_destinations


def _build_unix_calls(selected: _ProcessRows) -> dict[CallKey, HostCall]:
    grouped: dict[CallKey, list[TableRow]] = {}
    for row in selected.rows("unix_calls"):
        grouped.setdefault(("out", "unix", row.text("comm"), row.text("path"), None), []).append(row)
    unix_calls: dict[CallKey, HostCall] = {}
    for key, rows in grouped.items():
        owners = {int(pid) for row in rows if (pid := row.number("peer_pid"))}
        unix_calls[key] = HostCall(
            *("out", "unix", key[2], _list_pids(rows), key[3], None, _sum_column(rows, "connections")),
            peer_comm=rows[0].text("peer_comm"),
            peer_pid=owners.pop() if len(owners) == 1 else None,
            citations=merge_citations(row.citation for row in rows),
        )
    return unix_calls


def merge_citations(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Return one citation for each part of an artifact, with at most MAX_CITED_LINES lines."""
    lines_by_part: dict[tuple[str, str, str, str], list[int]] = {}
    for citation in citations:
        part = (citation.run, citation.collector, citation.artifact, citation.part)
        lines_by_part.setdefault(part, []).extend(citation.lines)
    return tuple(
        Citation(*part, tuple(dict.fromkeys(lines))[:MAX_CITED_LINES])
        for part, lines in lines_by_part.items()
    )
