"""What is unusual in a bad host beside healthy ones."""

from __future__ import annotations

import numpy as np
import pytest
from culprit.core.rules.contract import Citation
from culprit.core.rules.peers import outlying
from culprit.core.rules.twins import differences
from culprit.core.rules.view import Lane, Row, View
from hypothesis import given
from hypothesis import strategies as st

CITE = Citation("r", "c", "a", "p")


def host(busy: float = 10.0, *, mems: str = "0", somaxconn: str = "4096", boot: str = "x") -> View:
    t_ns = np.arange(3, dtype=np.int64)
    lane = Lane("cpu.total_busy_pct", {}, None, (), t_ns, np.full((3, 1), busy), None, CITE)
    cells = {"path": "/svc", "cpus": "0-1", "mems": mems, "mismatch": "disjoint" if mems != "0" else "none"}
    facts = {"boot_id": boot, "sysctl": {"net.core.somaxconn": somaxconn, "fs.file-nr": boot}}
    return View(lanes=[lane], tables={"cgroup_cpuset": [Row(cells, CITE)]}, facts=facts)


def names(found) -> list[str]:
    return [one["name"] for one in found]


def test_a_wrong_memory_set_comes_first() -> None:
    """The NUMA case: the only difference that all healthy twins agree on."""
    twins = {f"t{at}": host(10 + at) for at in range(3)}
    found = differences(host(12, mems="1"), twins)
    assert names(found)[0] == "cgroup_cpuset[/svc].mems"
    assert found[0]["here"] == "1"
    assert set(found[0]["there"].values()) == {"0"}


def test_what_differs_among_the_twins_is_noise() -> None:
    twins = {f"t{at}": host(somaxconn=str(at), boot=str(at)) for at in range(4)}
    assert names(differences(host(somaxconn="77", boot="mine"), twins)) == []


def test_a_metric_far_from_all_twins_is_told() -> None:
    twins = {f"t{at}": host(10 + at / 10) for at in range(6)}
    [found] = differences(host(90), twins)
    assert (found["kind"], found["name"]) == ("metric", "cpu.total_busy_pct")
    assert differences(host(10.2), twins) == []


def test_what_no_twin_has_or_was_asked_for_is_no_difference() -> None:
    """A control group of another name, and the facts of a stage that ran on the sick host alone."""
    sick = host()
    cells = {"path": "/only-here", "cpus": "0", "mems": "0", "mismatch": "none"}
    tables = {"cgroup_cpuset": [*sick.rows("cgroup_cpuset"), Row(cells, CITE)]}
    facts = {**sick.facts, "perf_record": {"perf_lost_records": 0}, "app_metrics": {"app_log_seen": 9}}
    twin = host()
    beside = View(
        lanes=twin.lanes, tables=twin.tables, facts={**twin.facts, "app_metrics": {"app_log_seen": 7}}
    )
    assert (
        names(differences(View(lanes=sick.lanes, tables=tables, facts=facts), {"t": beside, "u": beside}))
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
    assert (outlying(value, peers) > 1) is outlier


@given(st.floats(0, 1e9), st.lists(st.floats(0, 1e9), max_size=9))
def test_one_of_the_peers_is_never_an_outlier_by_order(value, peers) -> None:
    assert 0 <= outlying(value, peers) <= 100
    assert outlying(value, peers) == outlying(value, list(reversed(peers)))
