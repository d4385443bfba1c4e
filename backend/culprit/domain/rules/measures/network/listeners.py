"""Queues of listening sockets, and what the threads that should empty them do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import Interval, estimate_share
from culprit.domain.rules.measures.derived import Detail, cite_rows, merge_citations
from culprit.domain.rules.measures.network.drops import read_cell
from culprit.domain.rules.measures.network.rates import read_event_rate
from culprit.domain.rules.measures.places import count_thread_samples
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

MIN_SAMPLES = 8
_LOCKS = ("futex", "mutex", "rwsem")


def build_listener_subject(row: TableRow) -> Subject:
    """A listening socket: its port, and its process where that is known."""
    pid = row.number("pid")
    about = [("port", str(int(read_cell(row, "port"))))]
    return tuple(sorted([*about, ("pid", str(int(pid)))])) if pid else tuple(about)


def _list_sampled_rows(view: HostView) -> Iterator[TableRow]:
    for row in view.rows("listeners"):
        if read_cell(row, "samples") >= MIN_SAMPLES:
            yield row


def _fill(view: HostView) -> Sequence[Measurement]:
    """Measure how full a queue was in its fullest sample. Very short queues fill at once and are left out."""
    return [
        Measurement(
            read_cell(row, "fill_pct"),
            build_listener_subject(row),
            (row.citation,),
            int(read_cell(row, "samples")),
            detail={"process": row.text("process"), "waiting": int(read_cell(row, "queue_max"))},
        )
        for row in view.rows("listeners")
        if read_cell(row, "backlog") > 0
    ]


def _least_fill(view: HostView) -> Sequence[Measurement]:
    """Measure how full a queue was in its emptiest sample, of enough of them, percent."""
    return [
        Measurement(
            100.0 * read_cell(row, "queue_min") / read_cell(row, "backlog"),
            build_listener_subject(row),
            (row.citation,),
            int(read_cell(row, "samples")),
        )
        for row in _list_sampled_rows(view)
        if read_cell(row, "backlog") > 0
    ]


def _measure_queue_wait(view: HostView) -> Sequence[Measurement]:
    """Return for how long connections wait in a queue that no sample found empty, in ms.

    By Little's law, what always waits takes its number divided by the rate of arrivals. Connections of all listeners
    count as arrivals, so the wait is at least that long. A queue that nothing leaves lasts for the time of the capture.
    """
    arrivals = read_event_rate(view, "tcp.passive_opens_per_s")
    longest_ms = 1000.0 * view.covered_seconds("ss_listen")

    def compute_wait_ms(waiting: float, per_s: float) -> float:
        return 0.0 if not waiting else min(longest_ms, 1000.0 * waiting / per_s if per_s > 0 else longest_ms)

    results = []
    for row in _list_sampled_rows(view):
        least = read_cell(row, "queue_min")
        detail: Detail = {
            "process": row.text("process"), "least": int(least), "most": int(read_cell(row, "queue_max")),
        }  # fmt: skip
        low, high = (compute_wait_ms(least, rate) for rate in (arrivals.interval.high, arrivals.interval.low))
        results.append(
            Measurement(
                compute_wait_ms(least, arrivals.value),
                build_listener_subject(row),
                merge_citations((row.citation, *arrivals.citations)),
                int(read_cell(row, "samples")),
                detail=detail,
                interval=Interval("events", low, high),
            )
        )
    return results


def _measure_burst_wait(view: HostView) -> Sequence[Measurement]:
    """Return for how long the first connection of the longest queue of a listener had waited, in ms, at least.

    Connections of all listeners count as arrivals. Those behind the first one arrived later, one after the other.
    """
    arrivals = read_event_rate(view, "tcp.passive_opens_per_s")
    if not arrivals.value or not arrivals.citations:
        return ()
    results = []
    for row in _list_sampled_rows(view):
        behind = max(0.0, read_cell(row, "queue_max") - 1.0)
        low, high = (
            1000.0 * behind / rate if rate > 0 else math.inf
            for rate in (arrivals.interval.high, arrivals.interval.low)
        )
        results.append(
            Measurement(
                1000.0 * behind / arrivals.value,
                build_listener_subject(row),
                merge_citations((row.citation, *arrivals.citations)),
                int(read_cell(row, "samples")),
                interval=Interval("events", low, high if behind else 0.0),
            )
        )
    return results


def _measure_absence(view: HostView) -> Iterator[Measurement]:
    """Percent of the samples in which nothing listened on a port that was listened on in others."""
    rows = view.rows("listeners")
    longest = max(rows, key=lambda row: read_cell(row, "samples"), default=None)
    if longest is None or read_cell(longest, "samples") < MIN_SAMPLES:
        return
    samples = int(read_cell(longest, "samples"))
    for row in rows:
        share = 1.0 - read_cell(row, "samples") / samples
        detail: Detail = {
            "port": int(read_cell(row, "port")), "present": int(read_cell(row, "samples")), "samples": samples,
        }  # fmt: skip
        cites = cite_rows((row, longest))
        interval = estimate_share(share, samples)
        subject = build_listener_subject(row)
        yield Measurement(100.0 * share, subject, cites, samples, detail=detail, interval=interval)


def _measure_closed(view: HostView) -> Sequence[Measurement]:
    """Measure how many connections always wait at a listener whose queue its program has set to no length.

    The queue of such a listener holds one connection. One that is accepted again leaves it empty in between.
    """
    return [
        Measurement(
            read_cell(row, "queue_min") if read_cell(row, "backlog") == 0 else 0.0,
            build_listener_subject(row),
            (row.citation,),
            int(read_cell(row, "samples")),
            detail={"process": row.text("process"), "port": int(read_cell(row, "port"))},
        )
        for row in _list_sampled_rows(view)
        if row.number("backlog") is not None
    ]


def _threads_of(view: HostView) -> Mapping[str, list[TableRow]]:
    table_rows: dict[str, list[TableRow]] = {}
    for row in view.rows("threads"):
        table_rows.setdefault(row.text("pid"), []).append(row)
    return table_rows


def _processes(view: HostView) -> Iterator[tuple[Subject, TableRow, TableRow]]:
    """The processes behind listeners and their sockets, as far as their threads were watched."""
    rows = {row.text("pid"): row for row in view.rows("thread_groups")}
    for socket in _list_sampled_rows(view):
        row = rows.get(socket.text("pid"))
        if row is not None:
            yield build_listener_subject(socket), row, socket


def _runnable(view: HostView) -> Iterator[Measurement]:
    """How many of a hundred threads of a listener's process run or wait for a CPU."""
    for subject, row, socket in _processes(view):
        threads = max(1.0, read_cell(row, "threads"))
        samples = count_thread_samples(view, row)
        share = min(1.0, read_cell(row, "mean_runnable") / threads)
        cites = merge_citations((row.citation, socket.citation))
        yield Measurement(100.0 * share, subject, cites, samples, interval=estimate_share(share, samples))


def _in_locks(view: HostView) -> Iterator[Measurement]:
    """How many of a hundred threads of a listener's process wait for a lock most of the time."""
    threads = _threads_of(view)
    for subject, row, socket in _processes(view):
        of = threads.get(row.text("pid"), [])
        if of:
            held = [item for item in of if any(lock in item.text("wchan") for lock in _LOCKS)]
            share, samples = len(held) / len(of), count_thread_samples(view, row)
            cites = cite_rows(of, (row, socket))
            yield Measurement(100.0 * share, subject, cites, samples, interval=estimate_share(share, samples))


def _calls_out(view: HostView) -> Iterator[Measurement]:
    """Measure connections to the destination with most of them, per hundred threads."""
    destinations = view.rows("tcp_destinations")
    top = max(
        destinations, key=lambda row: read_cell(row, "established") + read_cell(row, "syn_sent"), default=None
    )
    for subject, row, socket in _processes(view):
        threads = max(1.0, read_cell(row, "threads"))
        open_ = read_cell(top, "established") + read_cell(top, "syn_sent") if top else 0.0
        cites = cite_rows(destinations, (row, socket))
        yield Measurement(100.0 * open_ / threads, subject, cites, int(open_))


def _measure(name: str, unit: str, en: str, zh: str, read: object, *needs: str) -> Measure:
    return Measure(name, unit, Text(en, zh), tuple((need,) for need in needs), read)  # type: ignore[arg-type]


FILL = _measure("listener.fill_pct", "pct", "Fullest look at a queue", "队列最满时占比", _fill, "ss_listen")
LEAST_FILL = _measure(
    "listener.least_fill_pct",
    "pct",
    "Emptiest look at a queue",
    "队列最空时占比",
    _least_fill,
    "ss_listen",
)
QUEUE_WAIT = _measure(
    "listener.standing_wait_ms",
    "ms",
    "Wait in a queue that never empties",
    "始终不空的队列中的等待",
    _measure_queue_wait,
    "ss_listen",
    "snmp",
)
BURST_WAIT = _measure(
    "listener.burst_wait_ms",
    "ms",
    "Wait of the first connection in the longest queue",
    "最长队列中首个连接的等待",
    _measure_burst_wait,
    "ss_listen",
    "snmp",
)
ABSENT = _measure(
    "listener.absent_pct",
    "pct",
    "Samples without a listener on the port",
    "端口未处于监听状态的采样占比",
    lambda view: list(_measure_absence(view)),
    "ss_listen",
)
CLOSED = _measure(
    "listener.closed_queue",
    "count",
    "Connections at a listener without a queue",
    "无队列监听端口上的连接",
    _measure_closed,
    "ss_listen",
)
RUNNABLE_PCT = _measure(
    "listener.runnable_pct",
    "pct",
    "Threads that run or want to",
    "可运行线程占比",
    lambda view: list(_runnable(view)),
    "ss_listen",
    "proc_threads",
)
LOCK_PCT = _measure(
    "listener.lock_wait_pct",
    "pct",
    "Threads that wait for a lock",
    "等锁线程占比",
    lambda view: list(_in_locks(view)),
    "ss_listen",
    "proc_threads",
)
CALLS_OUT_PCT = _measure(
    "listener.calls_out_pct",
    "pct",
    "Connections to others per hundred threads",
    "每百线程对外连接数",
    lambda view: list(_calls_out(view)),
    "ss_listen",
    "proc_threads",
    "ss",
)
