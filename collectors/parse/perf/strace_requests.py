"""Requests that a traced process served: from the read that brought one to the last write that answered it.

A connection is one that is served where its acceptance was seen, or where its own port is one that programs listen on
and its peer's is one that the kernel gives out. Connections to others are dependencies and no requests, and where
neither is known nothing is claimed.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.contract import Column
from collectors.parse.tables.field_lines import Cell

_MAX_OPEN = 5_000
_MAX_KEPT = 200
#: First ephemeral port (default of net.ipv4.ip_local_port_range).
_FIRST_EPHEMERAL = 32_768
_READS = frozenset({"read", "readv", "recv", "recvfrom", "recvmsg"})
_WRITES = frozenset({"write", "writev", "send", "sendto", "sendmsg", "sendfile", "sendfile64", "splice"})
_ENDS = re.compile(r"TCP(?:v6)?:\[.*:(\d{1,5})->.*:(\d{1,5})\]\Z")

COLUMNS = (
    *(Column("tid"), Column("comm"), Column("t", "epoch_s"), Column("fd"), Column("what")),
    *(Column("took", "ms"), Column("answered"), Column("answered_by"), Column("calls")),
    *(Column("in_bytes", "bytes"), Column("out_bytes", "bytes")),
)


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call on a descriptor, as far as requests are concerned. `t` and `end` are seconds since 1970."""

    line: int
    tid: int
    name: str
    t: float
    end: float
    fd: str
    what: str
    ret: int | None


@dataclass(slots=True)
class _Open:
    """A request that is being served."""

    line: int
    tid: int
    began: float
    fd: str
    calls: int = 1
    answered: float | None = None
    by: int = 0
    into: int = 0
    out: int = 0


class TracedRequests:
    """`add` every call in the order of their returning, then ask for `rows` once."""

    def __init__(self) -> None:
        self._accepted: set[str] = set()
        self._connected: set[str] = set()
        self._open: dict[str, _Open] = {}
        self._kept: list[tuple[float, int, tuple[Cell, ...]]] = []
        self._last = 0.0

    def add(self, call: TracedCall, comm: Mapping[int, str]) -> None:
        """One call."""
        self._last = max(self._last, call.end)
        if call.name in {"accept", "accept4"} and call.ret is not None and call.ret >= 0:
            self._note(self._accepted, str(call.ret))
        elif call.name == "connect" and call.fd:
            self._note(self._connected, call.fd)
        elif call.name == "close" and call.fd:
            self._accepted.discard(call.fd)
            self._connected.discard(call.fd)
            self._end(call.what, comm)
        elif call.name in _READS and call.ret is not None and call.ret >= 0:
            self._read(call, call.ret, comm)
        elif call.name in _WRITES and call.ret is not None and call.ret > 0:
            self._write(call, call.ret)

    def _note(self, known: set[str], fd: str) -> None:
        other = self._connected if known is self._accepted else self._accepted
        other.discard(fd)
        if len(known) < _MAX_OPEN:
            known.add(fd)

    def _served(self, fd: str, what: str) -> bool:
        if fd in self._accepted:
            return True
        ends = _ENDS.match(what)
        if fd in self._connected or ends is None:
            return False
        return int(ends[1]) < _FIRST_EPHEMERAL <= int(ends[2])

    def _read(self, call: TracedCall, count: int, comm: Mapping[int, str]) -> None:
        item = self._open.get(call.what)
        if item is not None and (item.answered is not None or count == 0):
            self._end(call.what, comm)
            item = None
        if count == 0:
            return
        if item is not None:
            item.into += count
            item.calls += 1
        elif call.what and len(self._open) < _MAX_OPEN and self._served(call.fd, call.what):
            self._open[call.what] = _Open(call.line, call.tid, call.end, call.fd, into=count)

    def _write(self, call: TracedCall, count: int) -> None:
        item = self._open.get(call.what)
        if item is not None:
            item.answered, item.by = call.end, call.tid
            item.out += count
            item.calls += 1

    def _end(self, what: str, comm: Mapping[int, str]) -> None:
        item = self._open.pop(what, None)
        if item is not None:
            end = item.answered if item.answered is not None else self._last
            self._keep(what, item, max(0.0, end - item.began) * 1000, comm)

    def _keep(self, what: str, entry: _Open, took_ms: float, comm: Mapping[int, str]) -> None:
        row: tuple[Cell, ...] = (
            *(entry.tid, comm.get(entry.tid, ""), entry.began, entry.fd, what, took_ms),
            *(int(entry.answered is not None), entry.by if entry.answered is not None else None, entry.calls),
            *(entry.into, entry.out),
        )
        item = (took_ms, -entry.line, row)
        if len(self._kept) < _MAX_KEPT:
            heapq.heappush(self._kept, item)
        elif item > self._kept[0]:
            heapq.heapreplace(self._kept, item)

    def rows(self, comm: Mapping[int, str]) -> Iterator[tuple[int, tuple[Cell, ...]]]:
        """Line and row of the requests that took longest, the longest first; some may not be answered by the end."""
        for what in list(self._open):
            self._end(what, comm)
        for _, number, row in sorted(self._kept, reverse=True):
            yield -number, row
