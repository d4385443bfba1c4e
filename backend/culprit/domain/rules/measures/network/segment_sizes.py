"""Whether segments to a peer get lost by their size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.waits import count_samples
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.derived import Detail, cite_rows, merge_citations
from culprit.domain.rules.measures.network.rates import read_event_rate
from culprit.domain.rules.measures.service_time.services import SESSIONS, normalize_target, sum_column
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_NEEDS = (("tcp_waits",),)


def _list_callers(view: HostView, direction: str = "out") -> Iterator[tuple[TableRow, Subject]]:
    """Yield the connections of each process to a peer, where the sizes of segments were read.

    With `in`, those of the clients of each process. Captures of earlier versions have no sizes of these.
    """
    for row in view.rows("tcp_waits"):
        is_chosen = (
            row.text("direction") == direction and row.number("pid") and row.text("comm") not in SESSIONS
        )
        if is_chosen and row.number("full_unsent") is not None:
            pid = ("pid", row.text("pid"))
            yield row, ((("dst", row.text("peer")), pid) if direction == "out" else (pid,))


def _full_to_clients(view: HostView) -> Iterator[Measurement]:
    """Percent of the answers of full segments of which no client has ever acknowledged a full one.

    Samples see the same connection again and again, so the number of connections counts and not that of samples: as
    many as a sample saw on average, of those that saw any connection.
    """
    samples = count_samples(view)
    for row, subject in _list_callers(view, "in"):
        repeated = row.number("full_repeated") or 0.0
        total = (row.number("full_unsent") or 0.0) + (row.number("full_acknowledged") or 0.0)
        if total > 0:
            detail: Detail = {
                "name": row.text("comm"),
                "port": row.text("peer"),
                "repeated": round(repeated, 1),
                "short": round(row.number("short_segments") or 0.0),
            }
            count = total * samples / max(1.0, row.number("samples") or 0.0)
            yield _measure_share(row, subject, repeated / total, count, detail)


def _short_to_clients(view: HostView) -> Iterator[Measurement]:
    """Percent of the short packets to clients that were sent again: of short segments, and of handshakes."""
    handshakes = read_event_rate(view, "tcp.syn_retrans_per_s")
    opened = read_event_rate(view, "tcp.passive_opens_per_s")
    for row, subject in _list_callers(view, "in"):
        count = (row.number("short_segments") or 0.0) + opened.count
        repeated = (row.number("short_repeated") or 0.0) + (handshakes.count if opened.count else 0.0)
        if count > 0:
            measured = _measure_share(row, subject, repeated / (count + repeated), count + repeated, {})
            cites = merge_citations((*measured.citations, *handshakes.citations, *opened.citations))
            yield replace(measured, citations=cites)


def _full_repeated(view: HostView) -> Iterator[Measurement]:
    """Percent of the connections with data for full segments whose first segment was sent three times or more."""
    for row, subject in _list_callers(view):
        repeated = row.number("full_repeated") or 0.0
        total = (row.number("full_unsent") or 0.0) + (row.number("full_acknowledged") or 0.0)
        if total > 0:
            detail: Detail = {
                "name": row.text("comm"),
                "peer": row.text("peer"),
                "repeated": round(repeated, 1),
                "short": round(row.number("short_segments") or 0.0),
            }
            count = total * (row.number("samples") or 0.0)
            yield _measure_share(row, subject, repeated / total, count, detail)


def _short_repeated(view: HostView) -> Iterator[Measurement]:
    """Percent of the short packets to a peer that were sent again: of short segments, and of handshakes.

    How many handshakes were repeated is known for the whole host only, so that the number is an upper bound. Where the
    handshakes are not known, the segments count alone.
    """
    handshakes = read_event_rate(view, "tcp.syn_retrans_per_s")
    opened = _count_opened(view) if handshakes.citations else {}
    for row, subject in _list_callers(view):
        count, repeated = row.number("short_segments") or 0.0, row.number("short_repeated") or 0.0
        new, destinations = opened.get(normalize_target(row.text("peer")), (0.0, []))
        if new > 0:
            count, repeated = count + new + handshakes.count, repeated + handshakes.count
        if count > 0:
            measured = _measure_share(row, subject, repeated / count, count, {})
            cites = merge_citations((*measured.citations, *cite_rows(destinations), *handshakes.citations))
            yield replace(measured, citations=cites) if new > 0 else measured


def _group_by_peer(view: HostView) -> Mapping[str, list[TableRow]]:
    """Return the connections to each peer, those of unknown processes too: many end before their owner is read."""
    groups: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "out" and row.text("comm") not in SESSIONS:
            groups[row.text("peer")].append(row)
    return groups


def _repeated_on_path(view: HostView) -> Iterator[Measurement]:
    """Percent of the short segments to a peer that were sent again, of all processes together.

    The share of the whole host hides the loss on a path with a small part of its traffic.
    """
    for peer, rows in _group_by_peer(view).items():
        count, repeated = sum_column(rows, "short_segments"), sum_column(rows, "short_repeated")
        if count > 0:
            share = min(1.0, repeated / count)
            detail: Detail = {"peer": peer, "repeated": round(repeated), "sent": round(count)}
            interval = estimate_share(share, count)
            yield Measurement(
                100.0 * share, (("dst", peer),), cite_rows(rows), round(count), (), detail, interval
            )


def _unacknowledged_on_path(view: HostView) -> Iterator[Measurement]:
    """Percent of the connections that wait for a peer on which it has not acknowledged the request."""
    for peer, rows in _group_by_peer(view).items():
        unsent, waiting = sum_column(rows, "unsent"), sum_column(rows, "waiting")
        if unsent + waiting >= LEAST_WAITING:
            share = unsent / (unsent + waiting)
            count = round((unsent + waiting) * max(row.number("samples") or 0.0 for row in rows))
            yield Measurement(100.0 * share, (("dst", peer),), cite_rows(rows), count)


def _count_opened(view: HostView) -> Mapping[str, tuple[float, list[TableRow]]]:
    """Return how many connections to each peer were opened in the capture, at least, with their rows."""
    opened: dict[str, tuple[float, list[TableRow]]] = {}
    for row in view.rows("tcp_destinations"):
        last, first = row.number("sockets"), row.number("sockets_first")
        if last is not None and first is not None and last > first:
            peer = normalize_target(f"{row.text('peer')}:{row.text('port')}")
            number, rows = opened.get(peer, (0.0, []))
            opened[peer] = number + last - first, [*rows, row]
    return opened


def _measure_share(
    row: TableRow, subject: Subject, share: float, count: float, detail: Detail
) -> Measurement:
    share = min(1.0, share)
    interval = estimate_share(share, count)
    return Measurement(100.0 * share, subject, (row.citation,), round(count), (), detail, interval)


FULL_REPEATED = Measure(
    "peer.full_segments_repeated_pct",
    "pct",
    Text("Connections whose full segment was sent three times", "满长数据段已发送三次的连接占比"),
    _NEEDS,
    lambda view: list(_full_repeated(view)),
)
SHORT_REPEATED = Measure(
    "peer.short_segments_repeated_pct",
    "pct",
    Text("Short packets sent again", "短包重传率"),
    _NEEDS,
    lambda view: list(_short_repeated(view)),
)
FULL_TO_CLIENTS = Measure(
    "client.full_segments_repeated_pct", "pct",
    Text("Answers of which no full segment was acknowledged", "满长数据段从未被确认的应答占比"), _NEEDS,
    lambda view: list(_full_to_clients(view)),
)  # fmt: skip
SHORT_TO_CLIENTS = Measure(
    "client.short_segments_repeated_pct", "pct", Text("Short packets to clients sent again", "发往客户端的短包重传率"),
    (*_NEEDS, ("snmp",), ("netstat_ext",)), lambda view: list(_short_to_clients(view)),
)  # fmt: skip
REPEATED_ON_PATH = Measure(
    "path.repeated_pct", "pct", Text("Segments to a peer that are sent again", "发往对端的数据段重传占比"), _NEEDS,
    lambda view: list(_repeated_on_path(view)),
)  # fmt: skip
UNACKNOWLEDGED_ON_PATH = Measure(
    "path.unacknowledged_pct", "pct", Text("Requests not acknowledged by a peer", "对端未确认的请求占比"), _NEEDS,
    lambda view: list(_unacknowledged_on_path(view)),
)  # fmt: skip
