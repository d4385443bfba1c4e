"""Related numbers of listen queues and local ports, without thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.measures.network.drops import read_cell
from culprit.domain.rules.measures.network.listeners import build_listener_subject
from culprit.domain.rules.measures.network.sockets import build_destination_subject
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow


def _of_listeners(column: str) -> Callable[[HostView], Sequence[Measurement]]:
    """A column of each listening socket."""

    def read(view: HostView) -> Sequence[Measurement]:
        return [
            Measurement(value, build_listener_subject(row), (row.citation,), int(read_cell(row, "samples")))
            for row in view.rows("listeners")
            if (value := row.number(column)) is not None
        ]

    return read


def _of_fullest(column: str) -> Callable[[HostView], Sequence[Measurement]]:
    """A column of the one whose queue was fullest, as a number of the host: the counter of overflows is one too."""

    def read(view: HostView) -> Sequence[Measurement]:
        known = [row for row in view.rows("listeners") if read_cell(row, "backlog") > 0]
        row = max(
            known, key=lambda item: (read_cell(item, "fill_pct"), read_cell(item, "queue_max")), default=None
        )
        value = row.number(column) if row is not None and read_cell(row, "queue_max") > 0 else None
        return (
            [Measurement(value, (), (row.citation,), int(read_cell(row, "samples")))]
            if row and value is not None
            else []
        )

    return read


def _of_destinations(column: str) -> Callable[[HostView], Sequence[Measurement]]:
    """A column of each destination, from the source address that uses most ports towards it."""

    def read(view: HostView) -> Sequence[Measurement]:
        most: dict[Subject, TableRow] = {}
        for row in view.rows("tcp_destinations"):
            about = build_destination_subject(row)
            if about not in most or read_cell(row, "local_ports") > read_cell(most[about], "local_ports"):
                most[about] = row
        return [
            Measurement(value, about, (row.citation,), 1)
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
