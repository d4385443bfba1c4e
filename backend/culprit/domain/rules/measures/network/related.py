"""What is told beside the numbers of queues, firewalls and links: how much passes, how fast, what the other end says.

None of these is compared with anything. Each is of the same row as the number that it stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from collectors.contract import Text
from culprit.core.rules.contract import Measure, Measured, Subject
from culprit.core.rules.measures.network import (
    DROPS,
    LINK_ERROR_COLUMNS,
    cell,
    devices,
    hits_service,
    listened_ports,
    rate_limit,
    worst,
)
from culprit.core.rules.view import Row, View


def _dev(row: Row) -> Subject:
    return (("dev", row.text("dev")),)


def _chain(row: Row) -> Subject:
    return (("chain", f"{row.text('table')}/{row.text('chain')}"),)


def _of_queues(column: str) -> Callable[[View], Sequence[Measured]]:
    """A column of the queue that drops most, of each device."""

    def read(view: View) -> Sequence[Measured]:
        most: dict[Subject, Row] = {}
        for row in view.rows("qdiscs"):
            if cell(row, "drop_pct") >= cell(most.get(_dev(row), row), "drop_pct"):
                most[_dev(row)] = row
        return [
            Measured(value, subject, (row.cite,), 1)
            for subject, row in most.items()
            if (value := row.number(column)) is not None
        ]

    return read


def _of_netem(column: str) -> Callable[[View], Sequence[Measured]]:
    def read(view: View) -> Sequence[Measured]:
        return worst(
            Measured(value, _dev(row), (row.cite,), 1)
            for row in view.rows("qdiscs")
            if row.text("kind") == "netem" and (value := row.number(column)) is not None
        )

    return read


def _dropped(view: View, serving: bool) -> Sequence[Measured]:
    """Packets a second of the rule that drops most, of each chain."""
    ports = listened_ports(view)
    return worst(
        Measured(per_s, _chain(row), (row.cite,), int(cell(row, "packets")))
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS
        and hits_service(row, ports) is serving
        and (per_s := row.number("packets_per_s")) is not None
    )


def _chance(view: View) -> Sequence[Measured]:
    return worst(
        Measured(100.0 * chance, _chain(row), (row.cite,), 1)
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS and (chance := row.number("random_probability")) is not None
    )


def _limits(view: View) -> Iterator[Measured]:
    """How much a rule that does not count lets pass, a second."""
    for row in view.rows("firewall_rules"):
        limit = rate_limit(row)
        if row.text("verdict") in DROPS and row.number("packets_total") is None and limit is not None:
            yield Measured(limit, _chain(row), (row.cite,), 1)


def _of_links(of: Callable[[Row], float | None]) -> Callable[[View], Sequence[Measured]]:
    def read(view: View) -> Sequence[Measured]:
        return [
            Measured(value, _dev(row), (row.cite,), 1)
            for row in devices(view)
            if (value := of(row)) is not None
        ]

    return read


def _packets(row: Row) -> float | None:
    received, sent = row.number("rx_packets_per_s"), row.number("tx_packets_per_s")
    return None if received is None or sent is None else received + sent


def _damaged(row: Row) -> float | None:
    known = [value for name in LINK_ERROR_COLUMNS if (value := row.number(name)) is not None]
    return sum(known) if known else None


def _speed(row: Row) -> float | None:
    """What was negotiated; a card without a line says 0 or -1."""
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
    lambda view: worst(_limits(view)),
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
