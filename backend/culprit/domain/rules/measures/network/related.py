"""Related numbers of queues, firewalls and links: traffic, speed, and the state of the link partner.

None of these has a threshold. Each comes from the same row as the number that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.measures.network.drops import (
    DROPS,
    LINK_ERROR_COLUMNS,
    hits_service,
    keep_worst,
    list_devices,
    listened_ports,
    rate_limit,
    read_cell,
)
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow


def _dev(row: TableRow) -> Subject:
    return (("dev", row.text("dev")),)


def _chain(row: TableRow) -> Subject:
    return (("chain", f"{row.text('table')}/{row.text('chain')}"),)


def _of_queues(column: str) -> Callable[[HostView], Sequence[Measurement]]:
    """A column of the queue that drops most, of each device."""

    def read(view: HostView) -> Sequence[Measurement]:
        most: dict[Subject, TableRow] = {}
        for row in view.rows("qdiscs"):
            if read_cell(row, "drop_pct") >= read_cell(most.get(_dev(row), row), "drop_pct"):
                most[_dev(row)] = row
        return [
            Measurement(value, subject, (row.citation,), 1)
            for subject, row in most.items()
            if (value := row.number(column)) is not None
        ]

    return read


def _of_netem(column: str) -> Callable[[HostView], Sequence[Measurement]]:
    def read(view: HostView) -> Sequence[Measurement]:
        return keep_worst(
            Measurement(value, _dev(row), (row.citation,), 1)
            for row in view.rows("qdiscs")
            if row.text("kind") == "netem" and (value := row.number(column)) is not None
        )

    return read


def _dropped(view: HostView, serving: bool) -> Sequence[Measurement]:
    """Packets a second of the rule that drops most, of each chain."""
    ports = listened_ports(view)
    return keep_worst(
        Measurement(per_s, _chain(row), (row.citation,), int(read_cell(row, "packets")))
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS
        and hits_service(row, ports) is serving
        and (per_s := row.number("packets_per_s")) is not None
    )


def _chance(view: HostView) -> Sequence[Measurement]:
    return keep_worst(
        Measurement(100.0 * chance, _chain(row), (row.citation,), 1)
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS and (chance := row.number("random_probability")) is not None
    )


def _limits(view: HostView) -> Iterator[Measurement]:
    """How much a rule that does not count lets pass, a second."""
    for row in view.rows("firewall_rules"):
        limit = rate_limit(row)
        if row.text("verdict") in DROPS and row.number("packets_total") is None and limit is not None:
            yield Measurement(limit, _chain(row), (row.citation,), 1)


def _of_links(of: Callable[[TableRow], float | None]) -> Callable[[HostView], Sequence[Measurement]]:
    def read(view: HostView) -> Sequence[Measurement]:
        return [
            Measurement(value, _dev(row), (row.citation,), 1)
            for row in list_devices(view)
            if (value := of(row)) is not None
        ]

    return read


def _packets(row: TableRow) -> float | None:
    received, sent = row.number("rx_packets_per_s"), row.number("tx_packets_per_s")
    return None if received is None or sent is None else received + sent


def _damaged(row: TableRow) -> float | None:
    known = [value for name in LINK_ERROR_COLUMNS if (value := row.number(name)) is not None]
    return sum(known) if known else None


def _speed(row: TableRow) -> float | None:
    """Measure the negotiated speed; a card without a link reports 0 or -1."""
    speed = row.number("speed")
    return speed if speed is not None and speed > 0 else None


_QUEUES, _RULES, _LINKS = (("qdisc",),), (("firewall",),), (("links",),)

QUEUE_SENT = Measure(
    "qdisc.sent_per_s", "packets_per_s", Text("Sent by the queue", "队列发送速率"), _QUEUES,
    _of_queues("packets_per_s"),
)  # fmt: skip
QUEUE_WAITING = Measure(
    "qdisc.waiting_packets", "count", Text("Packets waiting in the queue", "队列中等待的包"), _QUEUES,
    _of_queues("queue_packets"),
)  # fmt: skip
NETEM_LOSS = Measure(
    "qdisc.netem_loss_pct", "pct", Text("Loss that netem makes", "netem 设定的丢包率"), _QUEUES,
    _of_netem("netem_loss_pct"),
)  # fmt: skip
NETEM_DELAY = Measure(
    "qdisc.netem_delay_ms", "ms", Text("Delay that netem makes", "netem 设定的延迟"), _QUEUES,
    _of_netem("netem_delay_ms"),
)  # fmt: skip
SERVICE_DROPS = Measure(
    "firewall.service_drops_per_s", "packets_per_s", Text("Dropped by the rule", "规则丢弃速率"), _RULES,
    lambda view: _dropped(view, serving=True),
)  # fmt: skip
DEFAULT_DROPS = Measure(
    "firewall.default_drops_per_s", "packets_per_s", Text("Dropped by default", "默认规则丢弃速率"), _RULES,
    lambda view: _dropped(view, serving=False),
)  # fmt: skip
DROP_CHANCE = Measure(
    "firewall.drop_chance_pct", "pct", Text("Chance of the rule", "规则的随机概率"), _RULES, _chance
)
UNCOUNTED_RATE = Measure(
    "firewall.uncounted_limit_per_s", "per_s", Text("What the rule lets pass", "规则放行上限"), _RULES,
    lambda view: keep_worst(_limits(view)),
)  # fmt: skip
PEER_MTU = Measure(
    "links.peer_mtu_bytes", "bytes", Text("MTU of the other end", "对端 MTU"), _LINKS,
    _of_links(lambda row: row.number("peer_mtu")),
)  # fmt: skip
DEVICE_PACKETS = Measure(
    "links.packets_per_s", "packets_per_s", Text("Packets of the device", "网卡收发包速率"), _LINKS,
    _of_links(_packets),
)  # fmt: skip
DAMAGED = Measure(
    "links.errors_per_s", "packets_per_s", Text("Damaged packets", "损坏的包"), _LINKS, _of_links(_damaged)
)
REFUSED = Measure(
    "links.rx_dropped_per_s", "packets_per_s", Text("Dropped on arrival", "接收时丢弃"), _LINKS,
    _of_links(lambda row: row.number("rx_dropped_per_s")),
)  # fmt: skip
SPEED = Measure(
    "links.speed_mbit_per_s", "mbit_per_s", Text("Speed of the link", "链路速率"), _LINKS, _of_links(_speed)
)
