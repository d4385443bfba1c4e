"""Pictures of hosts that are empty, huge or lie: nothing raises, everything is bounded, every number can be shown."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from culprit.core.rules.contract import Citation, Finding, Grade, Number
from culprit.core.rules.use import LETTERS, RESOURCES
from culprit.core.rules.view import Lane, Outcome, Row, Scheduled, View
from culprit.core.sched import worst_waits
from culprit.core.visuals.bodies.cpu_heat import MAX_CELLS, CpuHeat
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.panels import MAX_READINGS, Panels
from culprit.core.visuals.bodies.peer_strips import MAX_DOTS, PeerStrips
from culprit.core.visuals.bodies.sched_latency import SchedLatency
from culprit.core.visuals.bodies.use_grid import UseGrid
from culprit.core.visuals.contract import MAX_PER_BUILDER, Visual
from culprit.core.visuals.registry import BUILDERS, draw
from culprit.core.visuals.strips import strip
from culprit.core.visuals.use import grid
from culprit.tests.core.visuals.hosts import HOSTS, crowd, of, scaled, waiting
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from collectors.parse import perf_sched
from collectors.sched import SchedTable, build
from collectors.tests.profiles import HOSTILE, captured, source

CITE = Citation("r", "c", "a", "p")
MINE = sorted(HOSTS)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -1.0, 1e300, -1e300, 5e-324, math.nan, math.inf]),
)
CELLS = st.one_of(NUMBERS, st.integers(-(10**18), 10**18), st.sampled_from(HOSTILE), st.none())


def pictures(builder: str, view: View) -> tuple[Visual, ...]:
    [one] = draw([BUILDERS[builder]], view)
    return one.visuals


def body(builder: str, view: View) -> Any:
    return pictures(builder, view)[0].body


def lane(
    metric: str, values: Any, t_ns: Any = None, axis: str | None = None, names: Any = (), **labels: str
) -> Lane:
    matrix = np.asarray(values, float)
    matrix = matrix.reshape(-1, 1) if matrix.ndim == 1 else matrix
    times = np.arange(len(matrix)) * 10**9 if t_ns is None else np.asarray(t_ns)
    return Lane(metric, labels, axis, tuple(names), times, matrix, list(range(1, len(matrix) + 1)), CITE)


@pytest.mark.parametrize("builder", MINE)
def test_nothing_came_home(builder: str) -> None:
    [one] = pictures(builder, View())
    assert one.state == "no_data"
    assert one.body is None
    assert one.reason is not None


@pytest.mark.parametrize("builder", MINE)
def test_collectors_that_found_nothing(builder: str) -> None:
    wanted = BUILDERS[builder]
    view = View(outcomes={name: Outcome(name, "done") for name in wanted.collectors})
    lanes = [lane(metric, np.zeros((0, 1))) for metric in sorted(wanted.reads.metrics)]
    [one] = pictures(builder, replace(view, lanes=lanes))
    assert one.body is None


@pytest.mark.parametrize("builder", MINE)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_hosts_that_lie(builder: str, data: st.DataObject) -> None:
    wanted = BUILDERS[builder].reads
    words = st.sampled_from([*HOSTILE, "0", "1", "vda", "/h1lab", "disjoint", "default"])
    lanes = []
    for metric in sorted(wanted.metrics):
        n, k = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 3))
        values = data.draw(st.lists(st.lists(NUMBERS, min_size=k, max_size=k), min_size=n, max_size=n))
        axis = (
            "node"
            if metric.startswith("numa.")
            else "cpu"
            if metric in {"softirq.rate_per_s", "cpu.soft_pct"}
            else None
        )
        times = sorted(data.draw(st.lists(st.integers(0, 2**62), min_size=n, max_size=n)))
        names = [str(at) for at in range(k)] if axis else []
        labels = {name: data.draw(words) for name in ("dev", "cgroup", "vector", "route")}
        lanes.append(
            lane(metric, np.array(values).reshape(n, k), np.array(times, np.int64), axis, names, **labels)
        )
    columns = (
        "path comm pid wchan wchan_pct blocked_pct seen scans limit_kb usage_kb usage_pct anon_kb anon_pct oom_kills"
        " node memory_kb nodes_of_cpus nodes_of_mems mismatch delay_ms_per_switch threads switches major_faults"
        " refault_file_per_s"
    ).split()
    rows = st.lists(st.fixed_dictionaries(dict.fromkeys(columns, CELLS)), max_size=3)
    tables = {kind: [Row(cells, CITE) for cells in data.draw(rows)] for kind in sorted(wanted.tables)}
    outcomes = {name: Outcome(name, "done") for name in ("iostat", "numastat", "cpu_stat", "meminfo")}
    facts = {
        "numastat": {
            "numa_distances": data.draw(st.sampled_from([None, {}, {"0": "x"}, {"0": [10]}, {"0": [{}]}]))
        }
    }
    view = View(outcomes=outcomes, lanes=lanes, tables=tables, facts=facts)
    for one in pictures(builder, view.beside({"twin": view}) if wanted.peers else view):
        finite(json.loads(to_json(one.body, inf_nan_mode="strings")))


def finite(value: Any) -> None:
    """No number that cannot be shown."""
    if isinstance(value, dict):
        for each in value.values():
            finite(each)
    elif isinstance(value, list):
        for each in value:
            finite(each)
    else:
        assert value not in ("NaN", "Infinity", "-Infinity")


def test_many_readings_are_thinned_to_those_that_stand_out() -> None:
    values = np.ones((20_000, 1))
    values[12_345] = 900.0
    view = View(lanes=[lane("sched.runq", values), lane("sched.blocked", np.zeros((20_000, 1)))])
    drawn = body("load", view)
    assert isinstance(drawn, Panels)
    [tasks] = drawn.panels
    assert len(tasks.t_ns) == MAX_READINGS
    at = tasks.tracks[0].values.index(900.0)
    assert tasks.tracks[0].lines[at] == 12_346
    assert tasks.t_ns[at] == 12_345 * 10**9


def test_readings_of_another_collector_are_brought_to_the_nearest_time() -> None:
    rate = lane("app.requests_per_s", [[100.0], [300.0]], [0, 10 * 10**9], route="*")
    writes = lane("disk.w_iops", np.full((12, 1), 300.0), dev="vda")
    drawn = body("disk-times", View(lanes=[rate, writes], outcomes={"iostat": Outcome("iostat", "done")}))
    [beside] = drawn.panels[0].beside
    assert beside.values[0] == 100.0
    assert beside.values[11] == 300.0
    assert beside.lines[11] == 2
    facts = {label.en: figure.value for label, figure in drawn.facts}
    assert facts["Writes per request"] == pytest.approx(1.5)


def test_a_reading_far_away_in_time_is_no_data() -> None:
    rate = lane("app.requests_per_s", [[100.0], [300.0]], [500 * 10**9, 510 * 10**9], route="*")
    writes = lane("disk.w_iops", np.full((12, 1), 300.0), dev="vda")
    drawn = body("disk-times", View(lanes=[rate, writes], outcomes={"iostat": Outcome("iostat", "done")}))
    assert set(drawn.panels[0].beside[0].values) == {None}


def test_the_busiest_disks_are_drawn_and_the_others_counted() -> None:
    lanes = [lane("disk.aqu", [[float(at)]] * 3, dev=f"sd{at:02}") for at in range(20)]
    found = pictures("disk-times", View(lanes=lanes))
    assert [dict(one.subject)["dev"] for one in found] == [
        f"sd{at}" for at in range(19, 19 - MAX_PER_BUILDER, -1)
    ]
    assert found[0].left_out == 12


def test_a_heat_of_many_cpus_stays_small() -> None:
    names = [str(at) for at in range(256)]
    rows = np.random.default_rng(1).random((120, 256)) * 1000
    lanes = [
        lane("softirq.rate_per_s", rows * (at + 1), axis="cpu", names=names, vector=f"V{at}")
        for at in range(10)
    ]
    drawn = body("softirq-heat", View(lanes=lanes))
    assert isinstance(drawn, CpuHeat)
    assert [one.vector for one in drawn.matrices] == ["V9", "V8", "V7"]
    assert sum(len(one.values) * len(one.values[0]) for one in drawn.matrices) <= MAX_CELLS
    assert len(drawn.t_ns) == len(drawn.matrices[0].values[0])
    total = sum(value or 0.0 for row in drawn.matrices[0].values for value in row) / len(drawn.t_ns)
    assert total == pytest.approx(rows.sum(axis=1).mean() * 10, rel=0.02)


def test_one_cpu_that_takes_all_is_told() -> None:
    rows = np.zeros((10, 8))
    rows[:, 3] = 800.0
    names = [str(at) for at in range(8)]
    view = View(lanes=[lane("softirq.rate_per_s", rows, axis="cpu", names=names, vector="NET_RX")])
    [one] = body("softirq-heat", view).matrices
    assert one.busiest == "3"
    assert one.uneven is not None
    assert one.uneven.value == pytest.approx(8.0)


def test_the_mismatch_of_a_cpuset_is_marked_where_it_is() -> None:
    whole, process = pictures("numa", HOSTS["numa"]())
    assert isinstance(whole.body.rows, tuple)
    marked = [
        (row.nodes, column)
        for row in whole.body.rows
        for column, cell in zip(whole.body.columns, row.cells, strict=True)
        if cell.mismatch
    ]
    assert marked == [(("0",), "1")]
    assert whole.body.far_pct == pytest.approx(99.2, abs=0.1)
    assert process.subject == (("comm", "items"), ("pid", "186"))
    assert process.body.far_pct == 100.0


def test_of_more_than_two_nodes_nobody_knows_which_other_one_asked() -> None:
    names = ["0", "1", "2", "3"]
    near = lane("numa.local_node_per_s", np.full((5, 4), 1000.0), axis="node", names=names)
    far = lane("numa.other_node_per_s", np.full((5, 4), 1000.0), axis="node", names=names)
    drawn = body("numa", View(lanes=[near, far]))
    assert [row.nodes for row in drawn.rows] == [("0",), ("1",), ("2",), ("3",), ()]
    assert drawn.rows[0].cells[1].figure is None
    assert all(cell.figure.value == 1000.0 and cell.mismatch for cell in drawn.rows[-1].cells)


def table() -> SchedTable:
    return build(perf_sched.read(source(captured("sched.txt"))))


def test_who_ran_instead_fills_the_wait() -> None:
    """While a task waits for a CPU that others share, that CPU does not idle: what ran adds up to the wait."""
    found = worst_waits(table(), 20)
    assert [one.waited_ns for one in found] == sorted((one.waited_ns for one in found), reverse=True)
    for one in found[:5]:
        assert sum(ns for _, ns in one.instead) == pytest.approx(one.waited_ns, rel=0.02)
        assert one.task not in {task for task, _ in one.instead}


def test_worst_waits_are_those_of_a_slow_search() -> None:
    slices = table()
    longest = sorted(slices.delay_ns.tolist(), reverse=True)[:20]
    found = worst_waits(slices, 20)
    assert [one.waited_ns for one in found] == longest
    one = found[0]
    slow: dict[int, int] = {}
    for at in range(len(slices.t_ns)):
        low = max(int(slices.t_ns[at]), one.from_ns)
        high = min(int(slices.t_ns[at] + slices.len_ns[at]), one.from_ns + one.waited_ns)
        if slices.cpu[at] == one.cpu and high > low:
            slow[int(slices.task[at])] = slow.get(int(slices.task[at]), 0) + high - low
    assert dict(one.instead) == slow


def test_waits_before_and_after() -> None:
    drawn = body("sched-latency", waiting())
    assert isinstance(drawn, SchedLatency)
    assert sum(drawn.now.counts) == drawn.now.waits
    assert drawn.before is not None
    assert sum(drawn.before.counts) == drawn.before.waits
    assert drawn.now.average.value <= drawn.now.p99.value <= drawn.now.most.value
    assert drawn.worst[0].waited.value == drawn.now.most.value


def test_without_events_only_means_are_told() -> None:
    [one] = pictures("sched-latency", of({"proc_schedstat": "debian-12-quota"}))
    assert one.notes[0].key == "visual.only_means"
    assert one.body.rows[0].label == "h1-busy 28949"
    assert one.left_out == 44


def test_an_empty_table_of_slices_has_no_waits() -> None:
    whole = table()
    columns = ("t_ns", "len_ns", "cpu", "task", "state", "delay_ns", "origin", "cut")
    none: dict[str, Any] = {name: getattr(whole, name)[:0] for name in columns}
    empty = Scheduled(replace(whole, **none), CITE)
    assert worst_waits(empty.table) == []
    assert pictures("sched-latency", replace(View(), sched=empty))[0].body is None


def said(rule: str, state: str, value: float, threshold: float, severity: str = "warn") -> Finding:
    number = Number("m", value, "pct", ">", threshold, (CITE,))
    return Finding(rule, state, severity, Grade.CONTEXT, (), (number,))  # type: ignore[arg-type]


def test_a_cell_is_told_by_what_says_most() -> None:
    found = grid(
        [
            said("F-CPU-BUSY", "quiet", 60, 85),
            said("F-CPU-ONE-CORE", "quiet", 96, 95),
            said("F-SCHED-RUNQ", "fired", 5, 1),
            said("F-CPU-STEAL", "fired", 40, 10, "critical"),
            Finding("F-DISK-UTIL", "not_evaluated", "info", Grade.CONTEXT, ()),
        ]
    )
    assert [row.id for row in found.rows] == list(RESOURCES)
    busy, waits, errors = found.rows[0].cells
    assert [cell.letter for cell in found.rows[0].cells] == list(LETTERS)
    assert (busy.state, busy.rule, busy.said) == ("quiet", "F-CPU-BUSY", 2)
    assert (waits.state, waits.rule, waits.fired) == ("critical", "F-CPU-STEAL", 2)
    assert errors.state == "unknown"
    disk = found.rows[2].cells[0]
    assert (disk.state, disk.rule, disk.said, disk.asked) == ("unknown", "F-DISK-UTIL", 0, 1)


def test_a_grid_of_a_real_host_shows_what_was_not_looked_at() -> None:
    drawn = body("use-grid", HOSTS["use-grid"]())
    assert isinstance(drawn, UseGrid)
    states = {row.id: [cell.state for cell in row.cells] for row in drawn.rows}
    assert states["cpu"][1] == "critical"
    assert states["network"] == ["unknown"] * 3
    assert all(cell.figure is not None for row in drawn.rows for cell in row.cells if cell.state == "quiet")


def test_the_odd_host_comes_first_and_stands_outside_of_the_band() -> None:
    drawn = body("peers", crowd())
    assert isinstance(drawn, PeerStrips)
    first = drawn.strips[0]
    assert first.hosts == 24
    own = next(dot for dot in first.dots if dot.own)
    assert own.unlike
    assert first.high is not None
    assert first.low is not None
    assert all((first.low <= dot.figure.value <= first.high) is not dot.unlike for dot in first.dots)


def test_few_hosts_have_no_band() -> None:
    drawn = body("peers", crowd(2))
    assert drawn.strips[0].median is None
    assert all(dot.z is None for dot in drawn.strips[0].dots)


def test_a_capture_of_one_host_says_that_there_are_no_peers() -> None:
    [one] = pictures("peers", scaled(crowd(0), 1.0))
    assert one.reason is not None
    assert one.reason.key == "visual.no_peers"


def test_of_very_many_hosts_the_unusual_ones_stay() -> None:
    figures = {f"h{at:04}": Figure(10.0 + at % 7 / 10, "pct", CITE) for at in range(3000)}
    figures["odd"] = Figure(99.0, "pct", CITE)
    drawn = strip("m", "m", figures, own="h2999")
    assert drawn is not None
    assert drawn.hosts == 3001
    assert len(drawn.dots) <= MAX_DOTS
    assert drawn.dots[0].host == "odd"
    assert any(dot.own for dot in drawn.dots)


def test_kills_are_marked_where_they_happened() -> None:
    found = pictures("group-memory", HOSTS["group-memory"]())
    overview, *groups = found
    assert overview.body.kind == "gauges"
    kills = {dict(one.subject)["cgroup"]: one.body.moments for one in groups}
    assert [one.detail for one in kills["/h1lab/app"]] == ["python3 30052"]
    assert kills["/h1lab/app"][0].cite.lines
    assert len(kills["/h1lab"]) == 1
