"""Numbers about tables and buffers of the network that are full, and about cards and the CPUs that serve them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import (
    Detail,
    build_measure,
    cite_rows,
    merge_citations,
    read_series,
)
from culprit.domain.rules.measures.network.drops import list_devices, read_cell
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

#: How drivers call a receive ring without a free buffer: ice, i40e, ixgbe, mlx5, ena, bnxt, virtio_net, tg3, vmxnet3.
_NO_BUFFER = re.compile(
    r"no_?(dma_)?buf|out_of_buf|missed|fifo|rx.*_drops$|no_rbuf|rx_buff_alloc|ring_full", re.IGNORECASE
)


def _neighbors(view: HostView, column: str) -> list[Measurement]:
    return [
        Measurement(
            value,
            (("family", row.text("family")),),
            (row.citation,),
            1,
            (),
            {"entries": row.text("entries"), "max": row.text("max"), "family": row.text("family")},
        )
        for row in view.rows("neighbors")
        if (value := row.number(column)) is not None
    ]


def _limit_use(view: HostView, *names: str) -> list[Measurement]:
    return [
        Measurement(
            value,
            (("limit", row.text("name")),),
            (row.citation,),
            1,
            (),
            {"name": row.text("name"), "used": row.text("used"), "max": row.text("max")},
        )
        for row in view.rows("net_limits")
        if row.text("name") in names and (value := row.number("used_pct")) is not None
    ]


def _ring_drops(view: HostView) -> Iterator[Measurement]:
    """Measure packets that found no buffer in the ring of their card, of a thousand."""
    for row in list_devices(view):
        dev, received = row.text("dev"), read_cell(row, "rx_packets_per_s")
        missed = read_cell(row, "rx_missed_errors_per_s") + read_cell(row, "rx_fifo_errors_per_s")
        cites, kind = [row.citation], "rx_missed_errors, rx_fifo_errors"
        for counter in view.rows("nic_counters"):
            rate = counter.number("per_s") or 0.0
            if counter.text("dev") == dev and rate > missed and _NO_BUFFER.search(counter.text("name")):
                missed, kind = rate, counter.text("name")
                cites = [row.citation, counter.citation]
        if received + missed > 0:
            share = 1000.0 * missed / (received + missed)
            yield Measurement(share, (("dev", dev),), tuple(cites), 1, (), {"dev": dev, "kind": kind})


def _packet_cpu(view: HostView, *, queues: str) -> list[Measurement]:
    """Measure how busy the CPU is that handles most packets, of hosts whose cards have one queue or several.

    Only a CPU counts that spends more than half of its busy time on softirqs, and that received more packets than all
    others together.
    """
    several = any((row.number("rx_queues") or 0) > 1 or row.number("rps_queues") for row in _list_cards(view))
    if not view.rows("rx_queues") or several is not (queues == "several"):
        return []
    busy, soft = _read_cpus(view, "cpu.busy_pct"), _read_cpus(view, "cpu.soft_pct")
    received = _read_received(view)
    packets = sum(item.value for item in received.values())
    if not busy or packets <= 0:
        return []
    cpu = max(received, key=lambda name: received[name].value)
    mine, softirqs = busy.get(cpu), soft.get(cpu)
    if mine is None or softirqs is None:
        return []
    alone = received[cpu].value > 0.5 * packets and softirqs.value > 0.5 * mine.value
    others = [item.value for name, item in busy.items() if name != cpu]
    detail: Detail = {"cpu": cpu, "others": round(float(np.mean(others)), 1) if others else 100.0}
    value = mine.value if alone and others else 0.0
    cites = merge_citations(
        (
            *(
                citation
                for item in (*busy.values(), softirqs, *received.values())
                for citation in item.citations
            ),
            *cite_rows(_list_cards(view), (row for row in view.rows("links") if row.text("driver"))),
        )
    )
    interval = mine.interval if value else None
    return [Measurement(value, (("cpu", cpu),), cites, mine.sample_count, (), detail, interval)]


def _list_cards(view: HostView) -> Iterator[TableRow]:
    hardware = {row.text("dev") for row in view.rows("links") if row.text("driver")}
    return (row for row in view.rows("rx_queues") if row.text("dev") in hardware or not hardware)


def _read_cpus(view: HostView, metric: str) -> dict[str, Measurement]:
    return {
        dict(item.subject).get("cpu", ""): item for item in read_series(view, MetricReading(metric, "held"))
    }


def _read_received(view: HostView) -> dict[str, Measurement]:
    """Packets that each CPU took from its backlog or a card, a second."""
    items = read_series(view, MetricReading("softnet.processed_per_s", "mean"))
    return {dict(item.subject).get("cpu", ""): item for item in items}


def _other_cpus(view: HostView) -> list[Measurement]:
    """Measure how busy the other CPUs are on average."""
    received, busy = _read_received(view), _read_cpus(view, "cpu.busy_pct")
    if not received or len(busy) < 2:
        return []
    cpu = max(received, key=lambda name: received[name].value)
    others = [item for name, item in busy.items() if name != cpu]
    mean = float(np.mean([item.value for item in others]))
    cites = merge_citations(citation for item in (*others, *received.values()) for citation in item.citations)
    return [Measurement(mean, (("cpu", cpu),), cites, others[0].sample_count)]


_STATE = (("net_limits",),)
_CPUS = (("kernel_state",), ("cpu_stat",), ("softnet",))
NEIGHBOR_OVERFLOWS = build_measure(
    "neighbors.table_fulls_per_s",
    "per_s",
    "Link addresses that found no room",
    "邻居表无空间的次数",
    _STATE,
    lambda view: _neighbors(view, "table_fulls_per_s"),
)
NEIGHBOR_USE = build_measure(
    "neighbors.used_pct",
    "pct",
    "Use of the neighbor table",
    "邻居表使用率",
    _STATE,
    lambda view: _neighbors(view, "used_pct"),
)
SOCKET_MEMORY = build_measure(
    "sockets.memory_used_pct",
    "pct",
    "Socket memory against its limit",
    "套接字内存占限额",
    _STATE,
    lambda view: _limit_use(view, "tcp_memory", "udp_memory"),
)
ORPHANS = build_measure(
    "sockets.orphans_used_pct",
    "pct",
    "Sockets without a process against their limit",
    "孤儿套接字占限额",
    _STATE,
    lambda view: _limit_use(view, "orphans"),
)
RING_DROPS = build_measure(
    "links.ring_drops_per_1000",
    "count",
    "Packets that found no buffer in the ring",
    "接收环无缓冲而丢弃的包",
    (("links",),),
    lambda view: list(_ring_drops(view)),
)
SINGLE_QUEUE_CPU = build_measure(
    "cpu.one_queue_busy_pct",
    "pct",
    "The CPU that serves the only receive queue",
    "处理唯一接收队列的 CPU",
    _CPUS,
    lambda view: _packet_cpu(view, queues="one"),
)
SEVERAL_QUEUES_CPU = build_measure(
    "cpu.several_queues_busy_pct",
    "pct",
    "The CPU that handles most packets of all queues",
    "处理各队列大部分报文的 CPU",
    _CPUS,
    lambda view: _packet_cpu(view, queues="several"),
)
OTHER_CPUS = build_measure(
    "cpu.others_busy_pct", "pct", "The other CPUs", "其他 CPU", (("cpu_stat",), ("softnet",)), _other_cpus
)
