"""Drops of this host that can explain why data to a peer is not acknowledged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from collectors.contract import Text
from culprit.domain.calls.address_lookup import list_own_addresses
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import Interval, poisson_interval
from culprit.domain.rules.measures.derived import Detail, cite_rows, merge_citations
from culprit.domain.rules.measures.network.drops import DROPS, UNCOUNTED_RULE, read_cell
from culprit.domain.rules.measures.network.loss import PATH_DROPS, SOURCES, read_data_retransmits
from culprit.domain.rules.measures.network.rates import EventRate, add_rates, read_event_rate
from culprit.domain.rules.measures.network.rule_selection import Peer, Selection, select_packets
from culprit.domain.rules.measures.service_time.services import SESSIONS
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_WAITS = ("tcp_waits",)


def _list_stuck_peers(view: HostView) -> Iterator[tuple[TableRow, Subject, Peer]]:
    """Yield the connections of each process to a peer that has not acknowledged data on some of them."""
    own_addresses = list_own_addresses(view.facts)
    for row in view.rows("tcp_waits"):
        if row.text("direction") != "out" or not row.number("pid") or row.text("comm") in SESSIONS:
            continue
        peer = Peer.from_target(row.text("peer"), own_addresses)
        if peer is not None and row.number("unsent"):
            yield row, (("dst", row.text("peer")), ("pid", row.text("pid"))), peer


def _list_rules(view: HostView, peer: Peer, least: Selection) -> list[TableRow]:
    """Return the rules that dropped packets, or may have, and can select those of a peer."""
    return [
        row
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS
        and row.number("packets_per_s") != 0
        and select_packets(row, peer) >= least
    ]


def _named_drops(view: HostView) -> Iterator[Measurement]:
    """Packets that rules for these connections dropped, for a hundred retransmissions."""
    for row, subject, peer in _list_stuck_peers(view):
        rules = _list_rules(view, peer, Selection.NAMED)
        if not rules:
            continue
        most = max(rules, key=lambda item: read_cell(item, "packets_per_s"))
        detail: Detail = {
            "name": row.text("comm"),
            "peer": row.text("peer"),
            "rule": most.text("matches")[:120],
            "packets": int(read_cell(most, "packets")),
        }
        yield _compare_with_retransmits(view, subject, row, rules, (), detail)


def _possible_drops(view: HostView) -> Iterator[Measurement]:
    """Packets that this host dropped and that can be those of a peer, for a hundred retransmissions."""
    counters = [read_event_rate(view, metric) for metric in PATH_DROPS]
    for row, subject, peer in _list_stuck_peers(view):
        rules = _list_rules(view, peer, Selection.POSSIBLE)
        queues = view.rows("qdiscs")
        yield _compare_with_retransmits(view, subject, row, [*rules, *queues], counters, {})


def _compare_with_retransmits(  # noqa: PLR0917 - the order of a measurement
    view: HostView,
    subject: Subject,
    row: TableRow,
    drops: Sequence[TableRow],
    counters: Sequence[EventRate],
    detail: Detail,
) -> Measurement:
    """Return dropped packets for a hundred segments with data that were sent again."""
    data, _ = read_data_retransmits(view)
    dropped = add_rates([*counters, *map(_read_drops, drops)])
    ratio = 100.0 * dropped.value / data.value if data.value > 0 else 0.0
    scale = ratio * data.count / dropped.count if dropped.count > 0 else 100.0
    (least, most), (fewest, greatest) = poisson_interval(dropped.count), poisson_interval(data.count)
    high = scale * most / fewest if fewest > 0 else math.inf
    interval = Interval("events", scale * least / greatest, high)
    is_unknown = any(item.number("packets_per_s") is None for item in drops if item.text("verdict"))
    cites = merge_citations((*cite_rows([row], drops), *dropped.citations, *data.citations))
    doubts = (UNCOUNTED_RULE,) if is_unknown else ()
    return Measurement(ratio, subject, cites, round(dropped.count), doubts, detail, interval)


def _read_drops(row: TableRow) -> EventRate:
    """Return the drops of a rule of the firewall or of a queue."""
    is_rule = bool(row.text("verdict"))
    per_s = read_cell(row, "packets_per_s" if is_rule else "drops_per_s")
    count = read_cell(row, "packets" if is_rule else "drops")
    return EventRate(per_s, count)


NAMED_DROPS = Measure(
    "peer.firewall_drops_per_100_retransmits",
    "count",
    Text("Drops of rules for this peer, per hundred retransmissions", "每百次重传中针对该对端的规则丢弃数"),
    (_WAITS, ("firewall",), ("snmp",), ("netstat_ext",)),
    lambda view: list(_named_drops(view)),
)
POSSIBLE_DROPS = Measure(
    "peer.own_drops_per_100_retransmits",
    "count",
    Text(
        "Own drops that can be of this peer, per hundred retransmissions",
        "每百次重传中可能属于该对端的本机丢弃数",
    ),
    (_WAITS, *SOURCES),
    lambda view: list(_possible_drops(view)),
)
