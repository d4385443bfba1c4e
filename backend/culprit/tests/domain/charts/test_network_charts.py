"""What the pictures of networks say: which layer lost, how full, in which band; and what calls of threads were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Lane, Outcome, Row, View
from culprit.core.visuals.bodies.graph import Graph
from culprit.core.visuals.bodies.histogram import Histogram
from culprit.core.visuals.bodies.ladder import Ladder, Layer
from culprit.core.visuals.bodies.stacked import Stacked
from culprit.core.visuals.calls import class_of
from culprit.core.visuals.registry import BUILDERS
from culprit.tests.core.visuals.fixtures import captured

CITE = Citation("r", "c", "a", "samples", (1,))


def lane(metric: str, *values: float, **labels: str) -> Lane:
    n = len(values)
    t_ns = np.arange(n, dtype=np.int64) * 2 * 10**9
    return Lane(
        metric, labels, None, (), t_ns, np.array(values, float).reshape(n, 1), list(range(1, n + 1)), CITE
    )


def rows(*cells: dict[str, Any]) -> list[Row]:
    return [Row(one, CITE) for one in cells]


def ladder(view: View) -> dict[str, Layer]:
    [one] = BUILDERS["drop-ladder"].build(view)
    assert isinstance(one.body, Ladder)
    return {layer.id: layer for layer in one.body.layers}


def test_a_loss_has_its_rate_its_sum_and_the_line_of_its_worst_reading() -> None:
    layer = ladder(View(lanes=[lane("conntrack.drops_per_s", 0, 30, 90)]))["conntrack"]
    assert layer.state == "bad"
    [loss] = layer.losses
    assert (loss.rate.value, loss.rate.unit, loss.rate.cite.lines) == (40, "per_s", (3,))
    assert loss.total is not None
    assert loss.total.value == 240


def test_what_is_only_felt_is_no_loss() -> None:
    felt = ladder(View(lanes=[lane("tcp.syn_retrans_per_s", 3, 3), lane("tcp.in_errs_per_s", 0, 0)]))["tcp"]
    assert (felt.state, [loss.tone for loss in felt.losses]) == ("warn", ["warn", "good"])


def test_the_loopback_loses_nothing_that_matters() -> None:
    lanes = [lane("net.rx_err_per_s", 5, 5, dev="lo"), lane("net.rx_err_per_s", 0, 0, dev="eth0")]
    assert ladder(View(lanes=lanes))["nic"].state == "good"


def test_layers_that_nobody_looked_at_say_so_and_a_firewall_without_rules_is_no_gap() -> None:
    outcomes = {name: Outcome(name, "done") for name in ("firewall", "netstat_ext")}
    layers = ladder(View(outcomes, [lane("tcp.listen_drops_per_s", 0, 0)]))
    assert (layers["netfilter"].state, layers["netfilter"].reason.key) == (
        "good",
        "visual.ladder_no_netfilter",
    )
    assert (layers["softnet"].state, layers["softnet"].reason.key) == ("no_data", "missing.not_collected")
    assert layers["socket"].state == "good"


def test_of_many_devices_the_worst_are_drawn() -> None:
    lanes = [lane("net.rx_fifo_per_s", at, at, dev=f"eth{at}") for at in range(40)]
    ring = ladder(View(lanes=lanes))["ring"]
    assert [loss.about for loss in ring.losses] == ["eth39", "eth38", "eth37", "eth36", "eth35"]
    assert ring.left_out == 35


def test_a_drivers_own_counter_names_the_ring() -> None:
    counters = rows(
        {"dev": "eth0", "name": "rx_missed_errors", "per_s": 7.0},
        {"dev": "eth0", "name": "tx_bytes", "per_s": 9.0},
    )
    ring = ladder(View(tables={"nic_counters": counters}))["ring"]
    assert [(loss.about, loss.rate.value) for loss in ring.losses] == [("eth0 rx_missed_errors", 7)]


def test_every_retransmitted_syn_falls_into_its_band() -> None:
    view = captured({"tcp_probe": "debian-12-faulty"})
    [one] = BUILDERS["connect-times"].build(view)
    assert isinstance(one.body, Histogram)
    [series] = view.of("probe.connect_ms")
    times = series.values[np.isfinite(series.values)]
    assert sum(found.count.value for found in one.body.bins) == len(times)
    in_bands = sum(
        found.count.value for found in one.body.bins for band in one.body.bands
        if band.low <= found.low and found.high <= band.high
    )  # fmt: skip
    assert in_bands == (times > 900).sum() == 72
    assert [(label.en, figure.value) for label, figure, _ in one.body.beside] == [("no answer in time", 5)]


def test_states_keep_their_lines_when_readings_are_left_out() -> None:
    values = np.zeros((1000, 2))
    values[:, 1] = np.arange(1000)
    t_ns = np.arange(1000, dtype=np.int64) * 10**9
    states = Lane(
        "tcp.state_count", {}, "state", ("ESTAB", "TIME-WAIT"), t_ns, values, list(range(5, 1005)), CITE
    )
    [one] = BUILDERS["tcp-states"].build(View(lanes=[states]))
    assert isinstance(one.body, Stacked)
    [track] = one.body.tracks
    assert (track.id, len(track.values)) == ("TIME-WAIT", len(one.body.t_ms))
    assert all(line == value + 5 for line, value in zip(track.lines, track.values, strict=True))
    assert one.notes[0].params["n"] == 9


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
    [one] = BUILDERS["wait-chain"].build(View(tables={"strace_futex": futexes, "strace_calls": calls}))
    assert isinstance(one.body, Graph)
    assert [(edge.source, edge.target) for edge in one.body.edges] == [("1", "2"), ("2", "3"), ("3", "end:3")]
    assert one.body.nodes[-1].kind == "network"
    assert one.left_out == 1


def test_java_threads_lead_to_who_holds_the_lock_and_what_that_does() -> None:
    found = BUILDERS["wait-chain"].build(captured({"jstack": "debian-12-locks"}))
    [one] = [visual for visual in found if visual.id.endswith(":java")]
    assert isinstance(one.body, Graph)
    assert {edge.target for edge in one.body.edges if edge.source != "worker-0"} == {"worker-0"}
    assert {edge.target for edge in one.body.edges if edge.source == "worker-0"} == {"end:worker-0"}


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
    assert class_of(call, what) == expected
