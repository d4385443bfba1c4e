"""Differences of an unhealthy host from its healthy peers."""

from __future__ import annotations

import numpy as np
import pytest
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.peer_differences import compare_with_peers
from culprit.domain.rules.peers import score_outlier
from culprit.domain.rules.view import HostView, TableRow, ViewSeries
from hypothesis import given
from hypothesis import strategies as st

CITE = Citation("r", "c", "a", "p")


def host(busy: float = 10.0, *, mems: str = "0", somaxconn: str = "4096", boot: str = "x") -> HostView:
    t_ns = np.arange(3, dtype=np.int64)
    series = ViewSeries("cpu.total_busy_pct", {}, None, (), t_ns, np.full((3, 1), busy), None, CITE)
    cells = {"path": "/svc", "cpus": "0-1", "mems": mems, "mismatch": "disjoint" if mems != "0" else "none"}
    facts = {"boot_id": boot, "sysctl": {"net.core.somaxconn": somaxconn, "fs.file-nr": boot}}
    return HostView(series=[series], tables={"cgroup_cpuset": [TableRow(cells, CITE)]}, facts=facts)


def names(result) -> list[str]:
    return [item["name"] for item in result]


def test_a_wrong_memory_set_comes_first() -> None:
    """The NUMA case: the only difference that all healthy peers agree on."""
    peers = {f"t{at}": host(10 + at) for at in range(3)}
    result = compare_with_peers(host(12, mems="1"), peers)
    assert names(result)[0] == "cgroup_cpuset[/svc].mems"
    assert result[0]["local"] == "1"
    assert set(result[0]["peers"].values()) == {"0"}


def test_compare_with_peers_ignores_differences_among_peers() -> None:
    peers = {f"t{at}": host(somaxconn=str(at), boot=str(at)) for at in range(4)}
    assert names(compare_with_peers(host(somaxconn="77", boot="mine"), peers)) == []


def test_compare_with_peers_reports_metric_far_from_peers() -> None:
    peers = {f"t{at}": host(10 + at / 10) for at in range(6)}
    [result] = compare_with_peers(host(90), peers)
    assert (result["kind"], result["name"]) == ("metric", "cpu.total_busy_pct")
    assert compare_with_peers(host(10.2), peers) == []


def test_compare_with_peers_ignores_items_without_peer_value() -> None:
    """A control group of another name, and the facts of a stage that ran only on the unhealthy host."""
    unhealthy = host()
    cells = {"path": "/only-here", "cpus": "0", "mems": "0", "mismatch": "none"}
    tables = {"cgroup_cpuset": [*unhealthy.rows("cgroup_cpuset"), TableRow(cells, CITE)]}
    facts = {**unhealthy.facts, "perf_record": {"perf_lost_records": 0}, "app_metrics": {"app_log_seen": 9}}
    peer = host()
    host_view = HostView(
        series=peer.series, tables=peer.tables, facts={**peer.facts, "app_metrics": {"app_log_seen": 7}}
    )
    assert (
        names(
            compare_with_peers(
                HostView(series=unhealthy.series, tables=tables, facts=facts),
                {"t": host_view, "u": host_view},
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("value", "peers", "outlier"),
    [
        (10, [], False),
        (21, [10, 10], True),
        (19, [10, 10], False),
        (30, [10, 40], False),
        (11, [10] * 5, True),
    ],
)
def test_outlying(value, peers, outlier) -> None:
    assert (score_outlier(value, peers) > 1) is outlier


@given(st.floats(0, 1e9), st.lists(st.floats(0, 1e9), max_size=9))
def test_score_outlier_ignores_order_of_peers(value, peers) -> None:
    assert 0 <= score_outlier(value, peers) <= 100
    assert score_outlier(value, peers) == score_outlier(value, list(reversed(peers)))
