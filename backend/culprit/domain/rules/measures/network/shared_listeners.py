"""Sockets that listen on the same port (SO_REUSEPORT): one whose program accepts nothing keeps its part of the clients.

The kernel divides new connections among them by a hash of their addresses, however long each queue is: socket(7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.network.drops import read_cell
from culprit.domain.rules.measures.network.listeners import QUEUE_WAIT, build_listener_subject
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: A process that computes for less than this part of a CPU is not busy with requests.
_IDLE_CPU = 0.1


def _measure_unaccepted(view: HostView) -> Iterator[Measurement]:
    """Return for how long connections wait in a queue that an idle program leaves, while another socket's is empty, ms.

    The program is idle if it holds no request of a client and uses less than a tenth of a CPU. Only sockets with a
    known process and a sibling whose queue every sample found empty are measured.
    """
    waits = QUEUE_WAIT.read(view)
    if not isinstance(waits, list):
        return
    by_subject = {wait.subject: wait for wait in waits}
    processes = {row.text("pid"): row for row in view.rows("process_time")}
    for row in view.rows("listeners"):
        process = processes.get(row.text("pid"))
        wait = by_subject.get(build_listener_subject(row))
        is_shared = read_cell(row, "sockets") >= 2 and row.number("emptiest_max") == 0.0
        if wait is None or process is None or not is_shared:
            continue
        if _holds_requests(view, row.text("pid")) or _compute_cpu(process) >= _IDLE_CPU:
            continue
        detail = {**wait.detail, "sockets": int(read_cell(row, "sockets"))}
        yield replace(wait, citations=(*wait.citations, process.citation), detail=detail)


def _holds_requests(view: HostView, pid: str) -> bool:
    """Return whether a client of a process waits for an answer, or sent what it has not read."""
    return any(
        read_cell(row, "waiting") > 0 or read_cell(row, "unread") > 0
        for row in view.rows("tcp_waits")
        if row.text("direction") == "in" and row.text("pid") == pid
    )


def _compute_cpu(process: TableRow) -> float:
    """Return how many CPUs the threads of a process used or waited for, on average."""
    threads = read_cell(process, "threads")
    seconds = read_cell(process, "wall_ms") / threads if threads else 0.0
    return (read_cell(process, "run_ms") + read_cell(process, "wait_ms")) / seconds if seconds else 0.0


UNACCEPTED = Measure(
    "listener.unaccepted_wait_ms", "ms",
    Text("Wait in a queue that an idle program leaves", "空闲程序不处理的队列中的等待"),
    (("ss_listen",), ("snmp",), ("proc_threads",), ("tcp_waits",)), lambda view: list(_measure_unaccepted(view)),
)  # fmt: skip
