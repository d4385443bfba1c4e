"""What is told beside the numbers of listen queues and local ports; none of these is compared with anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collectors.contract import Text
from culprit.core.rules.contract import Measure, Measured, Subject
from culprit.core.rules.measures.network import cell
from culprit.core.rules.measures.network_sockets import destination, listener
from culprit.core.rules.view import Row, View


def _of_listeners(column: str) -> Callable[[View], Sequence[Measured]]:
    """A column of each listening socket."""

    def read(view: View) -> Sequence[Measured]:
        return [
            Measured(value, listener(row), (row.cite,), int(cell(row, "looks")))
            for row in view.rows("listeners")
            if (value := row.number(column)) is not None
        ]

    return read


def _of_fullest(column: str) -> Callable[[View], Sequence[Measured]]:
    """A column of the one whose queue was fullest, as a number of the host: the counter of overflows is one too."""

    def read(view: View) -> Sequence[Measured]:
        known = [row for row in view.rows("listeners") if cell(row, "backlog") > 0]
        row = max(known, key=lambda one: (cell(one, "fill_pct"), cell(one, "queue_max")), default=None)
        value = row.number(column) if row is not None and cell(row, "queue_max") > 0 else None
        return (
            [Measured(value, (), (row.cite,), int(cell(row, "looks")))] if row and value is not None else []
        )

    return read


def _of_destinations(column: str) -> Callable[[View], Sequence[Measured]]:
    """A column of each destination, from the source address that uses most ports towards it."""

    def read(view: View) -> Sequence[Measured]:
        most: dict[Subject, Row] = {}
        for row in view.rows("tcp_destinations"):
            about = destination(row)
            if about not in most or cell(row, "local_ports") > cell(most[about], "local_ports"):
                most[about] = row
        return [
            Measured(value, about, (row.cite,), 1)
            for about, row in most.items()
            if (value := row.number(column)) is not None
        ]

    return read


_LISTEN, _SS = (("ss_listen",),), (("ss",),)

BACKLOG = Measure("listener.backlog", "count", Text("Places in the queue", "队列长度上限"), _LISTEN,
                  _of_listeners("backlog"))  # fmt: skip
WAITING = Measure("listener.queue_max", "count", Text("Most connections that waited", "等待连接数最大值"), _LISTEN,
                  _of_listeners("queue_max"))  # fmt: skip
FULLEST_BACKLOG = Measure("listener.fullest_backlog", "count", Text("Places in the fullest queue", "最满队列的上限"),
                          _LISTEN, _of_fullest("backlog"))  # fmt: skip
FULLEST_WAITING = Measure("listener.fullest_queue_max", "count",
                          Text("Most connections in the fullest queue", "最满队列中的等待连接数"),
                          _LISTEN, _of_fullest("queue_max"))  # fmt: skip
PORTS = Measure("tcp.local_ports", "count", Text("Local ports taken", "已占用的本地端口"), _SS,
                _of_destinations("local_ports"))  # fmt: skip
ESTABLISHED = Measure("tcp.established_to_destination", "count",
                      Text("Established connections to the destination", "到该目的地的已建立连接"), _SS,
                      _of_destinations("established"))  # fmt: skip
IN_TIME_WAIT = Measure("tcp.time_wait_to_destination", "count",
                       Text("Ports in TIME_WAIT to the destination", "到该目的地的 TIME_WAIT 端口"), _SS,
                       _of_destinations("time_wait"))  # fmt: skip
