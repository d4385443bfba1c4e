"""The largest consumers of a host."""

from __future__ import annotations

import pytest
from culprit.domain.hosts.consumers import list_consumers
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView, TableRow

HERE = Citation("", "", "", "")


def row(**cells: str | float) -> TableRow:
    return TableRow(cells, HERE)


def test_list_consumers_orders_by_amount_and_limits_each_resource() -> None:
    processes = [row(pid=pid, comm=f"p{pid}", cpu=float(pid), rss=2.0) for pid in range(1, 9)]
    writers = [
        row(pid=3, comm="zstd", write_bytes_per_s=300.0),
        row(pid=4, comm="cp", write_bytes_per_s=100.0),
    ]
    consumers = list_consumers(HostView(tables={"processes": processes, "proc_io": writers}))
    cpu = [item for item in consumers if item.resource == "cpu"]
    assert [item.pid for item in cpu] == [8, 7, 6, 5, 4]
    assert cpu[0].share == pytest.approx(8 / 36)
    assert [item.amount for item in consumers if item.resource == "memory"] == [2048.0] * 5
    assert [(item.name, item.share) for item in consumers if item.resource == "disk_write"] == [
        ("zstd", 0.75),
        ("cp", 0.25),
    ]


def test_list_consumers_omits_resources_that_nothing_uses() -> None:
    idle = [row(pid=1, comm="init", cpu=0.0, rss=4.0)]
    assert {item.resource for item in list_consumers(HostView(tables={"processes": idle}))} == {"memory"}
