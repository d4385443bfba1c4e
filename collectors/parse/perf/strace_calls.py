"""What a process asked of the kernel, out of the redacted calls that our strace script prints.

Reads call by call and keeps sums: memory follows the number of different descriptors, not of calls.
"""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from collectors.contract import Column, Table
from collectors.parse.perf import strace_requests
from collectors.parse.tables.field_lines import Cell, FieldLine

_MAX_KEYS = 20_000
_MAX_SIZES = 64
_MAX_WAITS = 200
_MAX_ROWS = 1_000
_TOGETHER_S = 0.005
#: A waker's own call may return a little after the waiter is back.
_WAKE_SLACK_S = 0.001
_WRITES = re.compile(r"(p?writev?2?|pwrite64|send(to|msg)?)\Z")
_KIND = re.compile(r"(TCP|UDP|UNIX|NETLINK|RAW|pipe|socket|anon_inode)\b")

_CALLS = (
    *(Column("tid"), Column("comm"), Column("syscall"), Column("fd"), Column("fd_kind"), Column("what")),
    *(Column("calls"), Column("errors"), Column("top_error"), Column("total", "ms"), Column("max", "ms")),
    *(Column("avg_bytes", "bytes"), Column("mode_bytes", "bytes")),
)
_WAITS = (
    *(Column("tid"), Column("comm"), Column("t", "epoch_s"), Column("syscall"), Column("fd")),
    *(Column("what"), Column("wait", "ms"), Column("error")),
)
_REPEATS = (
    *(Column("from_fd"), Column("from"), Column("to_fd"), Column("to"), Column("repeats")),
    *(Column("of_writes"), Column("share", "pct"), Column("max_gap", "ms"), Column("mode_bytes", "bytes")),
)
_FUTEX = (
    *(Column("tid"), Column("comm"), Column("address"), Column("waits"), Column("total_wait", "ms")),
    *(Column("max_wait", "ms"), Column("waker_tid"), Column("waker"), Column("wakes")),
)


def call_kind(what: str) -> str:
    """The kind of a descriptor as strace -yy decodes it: tcp, unix, pipe, device, file, ..."""
    if match := _KIND.match(what.replace("v6", "").replace("-", " ").replace(":", " ")):
        return match[1].lower()
    if what.startswith("/dev/"):
        return "device"
    return "file" if what.startswith("/") else ""


@dataclass(slots=True)
class _Sum:
    line: int
    calls: int = 0
    errors: int = 0
    top_error: str = ""
    total_ms: float = 0.0
    max_ms: float = 0.0
    bytes: int = 0
    sized: int = 0
    sizes: dict[int, int] = field(default_factory=dict)

    def size(self, count: int) -> None:
        self.bytes += count
        self.sized += 1
        if count in self.sizes or len(self.sizes) < _MAX_SIZES:
            self.sizes[count] = self.sizes.get(count, 0) + 1

    @property
    def mode(self) -> int | None:
        return max(self.sizes, key=lambda size: self.sizes[size]) if self.sizes else None


@dataclass(slots=True)
class _Lock:
    """One thread's waits for one address; `wakers` counts the threads whose wake ended a wait."""

    line: int
    waits: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0
    wakers: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Address:
    """What is still open at one futex: wakes that may explain a wait, waits that no wake explains yet."""

    wakes: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=32))
    waits: deque[tuple[float, float, int]] = field(default_factory=lambda: deque(maxlen=32))


class SyscallTotals:
    """Sums over calls: `add` every line, then ask for `tables` once."""

    def __init__(self) -> None:
        self.known = 0
        self.refused_at: int | None = None
        self.cut_at: int | None = None
        self.facts: dict[str, object] = {}
        self._comm: dict[int, str] = {}
        self._sums: dict[tuple[int, str, str, str], _Sum] = {}
        self._waits: list[tuple[float, int, tuple[Cell, ...]]] = []
        self._last: dict[int, tuple[float, str, str]] = {}
        self._pairs: dict[tuple[str, str, str, str], _Sum] = {}
        self._writes: dict[tuple[str, str], int] = {}
        self._locks: dict[tuple[int, str], _Lock] = {}
        self._futexes: dict[str, _Address] = {}
        self._requests = strace_requests.TracedRequests()

    def add(self, line: FieldLine) -> None:
        """One line of the script."""
        if line.tag == "call":
            self._call(line)
        elif line.tag == "task" and len(self._comm) < _MAX_KEYS:
            self._comm[line.whole("tid") or 0] = line.text("comm", 40)
        elif line.tag == "gate":
            rate, limit = line.whole("per_s"), line.whole("limit")
            self.facts["strace_gate_per_s"] = rate
            if rate is not None and limit is not None and rate > limit:
                self.refused_at = rate
        elif line.tag == "cut":
            self.cut_at = line.whole("lines")
        elif line.tag == "end":
            self.known += 1
            self.facts["strace_seconds"] = line.whole("seconds")

    def _call(self, line: FieldLine) -> None:
        tid, name, ms, t = line.whole("tid"), line.text("name", 40), line.value("ms"), line.value("t")
        if tid is None or not name or not 0 <= ms < 1e7 or not 0 <= t < 1e11:
            return
        self.known += 1
        fd, what, error = line.text("fd", 12), line.text("what") or line.text("path"), line.text("err", 20)
        key = (tid, name, fd, what)
        item = self._sums.get(key)
        if item is None:
            key = key if len(self._sums) < _MAX_KEYS else (tid, name, "", "…")
            item = self._sums.setdefault(key, _Sum(line.number))
        item.calls += 1
        item.total_ms += ms
        if error:
            item.errors += 1
            item.top_error = item.top_error or error
        if ms > item.max_ms:
            item.max_ms, item.line = ms, line.number
        count = line.whole("ret")
        payload = line.whole("pay")
        if payload is not None and count is not None and 0 < count < 1 << 40:
            item.size(count)
            if _WRITES.match(name):
                self._write(line.number, payload, t, (fd, what), count)
        self._wait(line.number, ms, (tid, self._comm.get(tid, ""), t, name, fd, what, ms, error))
        end = t + ms / 1000
        self._requests.add(
            strace_requests.TracedCall(line.number, tid, name, t, end, fd, what, count), self._comm
        )
        if name == "futex":
            self._futex(line, tid, t, ms)

    def _wait(self, number: int, ms: float, row: tuple[Cell, ...]) -> None:
        if len(self._waits) < _MAX_WAITS:
            heapq.heappush(self._waits, (ms, -number, row))
        elif ms > self._waits[0][0]:
            heapq.heapreplace(self._waits, (ms, -number, row))

    def _write(self, number: int, payload: int, t: float, to: tuple[str, str], count: int) -> None:
        if to in self._writes or len(self._writes) < _MAX_KEYS:
            self._writes[to] = self._writes.get(to, 0) + 1
        before = self._last.pop(payload, None)
        if before is not None and before[1:] != to and abs(t - before[0]) <= _TOGETHER_S:
            key = (*before[1:], *to)
            if key in self._pairs or len(self._pairs) < _MAX_KEYS:
                pair = self._pairs.setdefault(key, _Sum(number))
                pair.calls += 1
                pair.max_ms = max(pair.max_ms, abs(t - before[0]) * 1000)
                pair.size(count)
        self._last[payload] = (t, *to)
        if len(self._last) > _MAX_KEYS:
            self._last.pop(next(iter(self._last)))

    def _futex(self, line: FieldLine, tid: int, t: float, ms: float) -> None:
        address, operation = line.text("addr", 24), line.text("op", 60)
        if address not in self._futexes and len(self._futexes) >= _MAX_KEYS:
            return
        at = self._futexes.setdefault(address, _Address())
        if operation.startswith("FUTEX_WAKE") and (line.whole("ret") or 0) > 0:
            end = t + ms / 1000
            for wait in at.waits:
                if wait[0] <= end and t <= wait[1] + _WAKE_SLACK_S and wait[2] != tid:
                    at.waits.remove(wait)
                    self._woke(wait[2], address, tid)
                    return
            at.wakes.append((t, tid))
        elif operation.startswith("FUTEX_WAIT"):
            key = (tid, address)
            if key not in self._locks and len(self._locks) >= _MAX_KEYS:
                return
            lock = self._locks.setdefault(key, _Lock(line.number))
            lock.waits += 1
            lock.total_ms += ms
            if ms > lock.max_ms:
                lock.max_ms, lock.line = ms, line.number
            end = t + ms / 1000
            for wake in reversed(at.wakes):
                if t <= wake[0] <= end + _WAKE_SLACK_S and wake[1] != tid:
                    at.wakes.remove(wake)
                    self._woke(tid, address, wake[1])
                    return
            at.waits.append((t, end, tid))

    def _woke(self, waiter: int, address: str, waker: int) -> None:
        wakers = self._locks[waiter, address].wakers
        if waker in wakers or len(wakers) < _MAX_SIZES:
            wakers[waker] = wakers.get(waker, 0) + 1

    def tables(self) -> tuple[Table, ...]:
        """The five tables, without those that have no row; rows by time lost."""
        waits = sorted(self._waits, reverse=True)
        built = (
            _build_table("strace_calls", _CALLS, self._call_rows()),
            _build_table("strace_waits", _WAITS, ((-number, row) for _, number, row in waits)),
            _build_table("strace_repeats", _REPEATS, self._repeat_rows()),
            _build_table("strace_futex", _FUTEX, self._futex_rows()),
            _build_table("strace_requests", strace_requests.COLUMNS, self._requests.rows(self._comm)),
        )
        return tuple(item for item in built if item.rows)

    def _call_rows(self) -> Iterable[tuple[int, tuple[Cell, ...]]]:
        for (tid, name, fd, what), item in sorted(self._sums.items(), key=lambda item: -item[1].total_ms):
            average = item.bytes / item.sized if item.sized else None
            yield (
                item.line,
                (
                    *(tid, self._comm.get(tid, ""), name, fd, call_kind(what), what, item.calls, item.errors),
                    *(item.top_error, item.total_ms, item.max_ms, average, item.mode),
                ),
            )

    def _repeat_rows(self) -> Iterable[tuple[int, tuple[Cell, ...]]]:
        for (from_fd, source, to_fd, to), item in sorted(
            self._pairs.items(), key=lambda item: -item[1].calls
        ):
            writes = max(item.calls, self._writes.get((from_fd, source), 0))
            share = 100.0 * item.calls / writes
            yield item.line, (from_fd, source, to_fd, to, item.calls, writes, share, item.max_ms, item.mode)

    def _futex_rows(self) -> Iterable[tuple[int, tuple[Cell, ...]]]:
        for (tid, address), item in sorted(self._locks.items(), key=lambda item: -item[1].total_ms):
            waker = max(item.wakers, key=lambda w: item.wakers[w], default=None)
            yield (
                item.line,
                (
                    *(tid, self._comm.get(tid, ""), address, item.waits, item.total_ms, item.max_ms, waker),
                    *("" if waker is None else self._comm.get(waker, ""), sum(item.wakers.values())),
                ),
            )


def _build_table(
    kind: str, columns: tuple[Column, ...], rows: Iterable[tuple[int, tuple[Cell, ...]]]
) -> Table:
    stored = [pair for _, pair in zip(range(_MAX_ROWS), rows, strict=False)]
    return Table(kind, columns, tuple(row for _, row in stored), lines=tuple(number for number, _ in stored))
