"""Network charts: losses per layer, fill levels and bands; and calls of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from culprit.domain.charts.bodies.graph import Graph
from culprit.domain.charts.bodies.histogram import Histogram
from culprit.domain.charts.bodies.ladder import Ladder, NetworkLayer
from culprit.domain.charts.bodies.stacked import Stacked
from culprit.domain.charts.registry import BUILDERS
from culprit.domain.charts.syscall_classes import classify_syscall
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow, ViewSeries
from culprit.tests.domain.charts.fixtures import captured

CITE = Citation("r", "c", "a", "samples", (1,))


def build_series(metric: str, *values: float, **labels: str) -> ViewSeries:
    n = len(values)
    t_ns = np.arange(n, dtype=np.int64) * 2 * 10**9
    return ViewSeries(
        metric, labels, None, (), t_ns, np.array(values, float).reshape(n, 1), list(range(1, n + 1)), CITE
    )


def rows(*cells: dict[str, Any]) -> list[TableRow]:
    return [TableRow(cell, CITE) for cell in cells]


def ladder(view: HostView) -> dict[str, NetworkLayer]:
    [item] = BUILDERS["drop-ladder"].build(view)
    assert isinstance(item.body, Ladder)
    return {layer.id: layer for layer in item.body.layers}


def test_a_loss_has_its_rate_its_sum_and_the_line_of_its_worst_reading() -> None:
    layer = ladder(HostView(series=[build_series("conntrack.drops_per_s", 0, 30, 90)]))["conntrack"]
    assert layer.state == "bad"
    [loss] = layer.losses
    assert (loss.rate.value, loss.rate.unit, loss.rate.citation.lines) == (40, "per_s", (3,))
    assert loss.total is not None
    assert loss.total.value == 240


def test_what_is_only_felt_is_no_loss() -> None:
    felt = ladder(
        HostView(
            series=[build_series("tcp.syn_retrans_per_s", 3, 3), build_series("tcp.in_errs_per_s", 0, 0)]
        )
    )["tcp"]
    assert (felt.state, [loss.tone for loss in felt.losses]) == ("warn", ["warn", "good"])


def test_the_loopback_loses_nothing_that_matters() -> None:
    series_list = [
        build_series("net.rx_err_per_s", 5, 5, dev="lo"),
        build_series("net.rx_err_per_s", 0, 0, dev="eth0"),
    ]
    assert ladder(HostView(series=series_list))["nic"].state == "good"


def test_ladder_marks_unchecked_layers_and_accepts_empty_firewall() -> None:
    outcomes = {name: CollectorOutcome(name, "done") for name in ("firewall", "netstat_ext")}
    layers = ladder(HostView(outcomes, [build_series("tcp.listen_drops_per_s", 0, 0)]))
    assert (layers["netfilter"].state, layers["netfilter"].reason.key) == (
        "good",
        "chart.ladder_no_netfilter",
    )
    assert (layers["softnet"].state, layers["softnet"].reason.key) == ("no_data", "missing.not_collected")
    assert layers["socket"].state == "good"


def test_ladder_lists_worst_devices() -> None:
    series_list = [build_series("net.rx_fifo_per_s", at, at, dev=f"eth{at}") for at in range(40)]
    ring = ladder(HostView(series=series_list))["ring"]
    assert [loss.about for loss in ring.losses] == ["eth39", "eth38", "eth37", "eth36", "eth35"]
    assert ring.left_out == 35


def test_a_drivers_own_counter_names_the_ring() -> None:
    counters = rows(
        {"dev": "eth0", "name": "rx_missed_errors", "per_s": 7.0},
        {"dev": "eth0", "name": "tx_bytes", "per_s": 9.0},
    )
    ring = ladder(HostView(tables={"nic_counters": counters}))["ring"]
    assert [(loss.about, loss.rate.value) for loss in ring.losses] == [("eth0 rx_missed_errors", 7)]


def test_every_retransmitted_syn_falls_into_its_band() -> None:
    view = captured({"tcp_probe": "debian-12-faulty"})
    [item] = BUILDERS["connect-times"].build(view)
    assert isinstance(item.body, Histogram)
    [series] = view.series_of("probe.connect_ms")
    times = series.values[np.isfinite(series.values)]
    assert sum(matching_bin.count.value for matching_bin in item.body.bins) == len(times)
    in_bands = sum(
        matching_bin.count.value for matching_bin in item.body.bins for band in item.body.bands
        if band.low <= matching_bin.low and matching_bin.high <= band.high
    )  # fmt: skip
    assert in_bands == (times > 900).sum() == 72
    assert [(label.en, figure.value) for label, figure, _ in item.body.unbinned] == [("no answer in time", 5)]


def test_states_keep_their_lines_when_readings_are_left_out() -> None:
    values = np.zeros((1000, 2))
    values[:, 1] = np.arange(1000)
    t_ns = np.arange(1000, dtype=np.int64) * 10**9
    states = ViewSeries(
        "tcp.state_count", {}, "state", ("ESTAB", "TIME-WAIT"), t_ns, values, list(range(5, 1005)), CITE
    )
    [item] = BUILDERS["tcp-states"].build(HostView(series=[states]))
    assert isinstance(item.body, Stacked)
    [track] = item.body.tracks
    assert (track.id, len(track.values)) == ("TIME-WAIT", len(item.body.t_ms))
    assert all(line == value + 5 for line, value in zip(track.lines, track.values, strict=True))
    assert item.notes[0].params["n"] == 9


def test_a_chain_ends_at_what_its_last_thread_waits_for() -> None:
    futexes = rows(
        {
            "tid": 1,
            "comm": "w",
            "address": "0xa",
            "waits": 9,
            "total_wait": 900.0,
            "waker_tid": 2,
            "waker": "w",
        },
        {
            "tid": 2,
            "comm": "w",
            "address": "0xb",
            "waits": 3,
            "total_wait": 800.0,
            "waker_tid": 3,
            "waker": "io",
        },
        {
            "tid": 4,
            "comm": "w",
            "address": "0xc",
            "waits": 1,
            "total_wait": 0.1,
            "waker_tid": 1,
            "waker": "w",
        },
    )
    calls = rows(
        {
            "tid": 3,
            "syscall": "recvfrom",
            "what": "TCP:[10.0.0.1:5->10.0.0.2:80]",
            "total": 700.0,
            "calls": 4,
        },
        {"tid": 3, "syscall": "futex", "what": "", "total": 9000.0, "calls": 4},
    )
    [item] = BUILDERS["wait-chain"].build(HostView(tables={"strace_futex": futexes, "strace_calls": calls}))
    assert isinstance(item.body, Graph)
    assert [(edge.source, edge.target) for edge in item.body.edges] == [
        ("1", "2"),
        ("2", "3"),
        ("3", "end:3"),
    ]
    assert item.body.nodes[-1].kind == "network"
    assert item.left_out == 1


def test_java_threads_lead_to_who_holds_the_lock_and_what_that_does() -> None:
    result = BUILDERS["wait-chain"].build(captured({"jstack": "debian-12-locks"}))
    [item] = [visual for visual in result if visual.id.endswith(":java")]
    assert isinstance(item.body, Graph)
    assert {edge.target for edge in item.body.edges if edge.source != "worker-0"} == {"worker-0"}
    assert {edge.target for edge in item.body.edges if edge.source == "worker-0"} == {"end:worker-0"}


@pytest.mark.parametrize(
    ("call", "what", "expected"),
    [
        ("futex", "", "futex"),
        ("read", "UNIX-STREAM:[70951->70950]", "ipc"),
        ("write", "pipe:[123]", "ipc"),
        ("write", "TCP:[1.2.3.4:5->6.7.8.9:10]", "network"),
        ("read", "/var/lib/app.db", "file"),
        ("recvfrom", "", "network"),
        ("epoll_wait", "", "network"),
        ("clock_nanosleep", "", "sleep"),
        ("fsync", "", "file"),
        ("mmap", "", "other"),
    ],
)  # fmt: skip
def test_calls_by_what_they_wait_for(call: str, what: str, expected: str) -> None:
    assert classify_syscall(call, what) == expected
