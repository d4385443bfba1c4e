"""Pictures of hosts that are empty, huge or lie: nothing raises, everything is bounded, every number can be shown."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from culprit.domain.charts.bodies.cpu_heat import MAX_CELLS, CpuHeat
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.panels import MAX_READINGS, Panels
from culprit.domain.charts.bodies.peer_strips import MAX_DOTS, PeerStrips
from culprit.domain.charts.bodies.sched_latency import SchedLatency
from culprit.domain.charts.bodies.use_grid import UseGrid
from culprit.domain.charts.chart import MAX_PER_BUILDER, RunChart
from culprit.domain.charts.peer_strips import build_strip
from culprit.domain.charts.registry import BUILDERS, draw_charts
from culprit.domain.charts.use_grid import build_use_grid
from culprit.domain.profiles.scheduling import list_longest_waits
from culprit.domain.rules.finding import Citation, Finding, Number, Strength
from culprit.domain.rules.use_method import RESOURCES, USE_TYPES
from culprit.domain.rules.view import CollectorOutcome, HostView, SchedulerEvents, TableRow, ViewSeries
from culprit.tests.domain.charts.hosts import HOSTS, crowd, of, scaled, waiting
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from collectors.parse.perf import perf_sched
from collectors.profiles.schedule_builder import build_sched_table
from collectors.profiles.scheduling import SchedTable
from collectors.tests.recorded_profiles import HOSTILE, captured, source

CITE = Citation("r", "c", "a", "p")
MINE = sorted(HOSTS)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -1.0, 1e300, -1e300, 5e-324, math.nan, math.inf]),
)
CELLS = st.one_of(NUMBERS, st.integers(-(10**18), 10**18), st.sampled_from(HOSTILE), st.none())


def pictures(builder: str, view: HostView) -> tuple[RunChart, ...]:
    [item] = draw_charts([BUILDERS[builder]], view)
    return item.charts


def body(builder: str, view: HostView) -> Any:
    return pictures(builder, view)[0].body


def build_series(
    metric: str, values: Any, t_ns: Any = None, axis: str | None = None, names: Any = (), **labels: str
) -> ViewSeries:
    matrix = np.asarray(values, float)
    matrix = matrix.reshape(-1, 1) if matrix.ndim == 1 else matrix
    times = np.arange(len(matrix)) * 10**9 if t_ns is None else np.asarray(t_ns)
    return ViewSeries(
        metric, labels, axis, tuple(names), times, matrix, list(range(1, len(matrix) + 1)), CITE
    )


@pytest.mark.parametrize("builder", MINE)
def test_nothing_came_home(builder: str) -> None:
    [item] = pictures(builder, HostView())
    assert item.state == "no_data"
    assert item.body is None
    assert item.reason is not None


@pytest.mark.parametrize("builder", MINE)
def test_builder_with_empty_collectors_has_no_body(builder: str) -> None:
    requested_builder = BUILDERS[builder]
    view = HostView(outcomes={name: CollectorOutcome(name, "done") for name in requested_builder.collectors})
    series_list = [
        build_series(metric, np.zeros((0, 1))) for metric in sorted(requested_builder.reads.metrics)
    ]
    [item] = pictures(builder, replace(view, series=series_list))
    assert item.body is None


@pytest.mark.parametrize("builder", MINE)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_hosts_that_lie(builder: str, data: st.DataObject) -> None:
    reads = BUILDERS[builder].reads
    words = st.sampled_from([*HOSTILE, "0", "1", "vda", "/h1lab", "disjoint", "default"])
    series_list = []
    for metric in sorted(reads.metrics):
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
        series_list.append(
            build_series(
                metric, np.array(values).reshape(n, k), np.array(times, np.int64), axis, names, **labels
            )
        )
    columns = (
        "path comm pid wchan wchan_pct blocked_pct seen scans limit_kb usage_kb usage_pct anon_kb anon_pct oom_kills"
        " node memory_kb nodes_of_cpus nodes_of_mems mismatch delay_ms_per_switch threads switches major_faults"
        " refault_file_per_s"
    ).split()
    rows = st.lists(st.fixed_dictionaries(dict.fromkeys(columns, CELLS)), max_size=3)
    tables = {kind: [TableRow(cells, CITE) for cells in data.draw(rows)] for kind in sorted(reads.tables)}
    outcomes = {
        name: CollectorOutcome(name, "done") for name in ("iostat", "numastat", "cpu_stat", "meminfo")
    }
    facts = {
        "numastat": {
            "numa_distances": data.draw(st.sampled_from([None, {}, {"0": "x"}, {"0": [10]}, {"0": [{}]}]))
        }
    }
    view = HostView(outcomes=outcomes, series=series_list, tables=tables, facts=facts)
    for item in pictures(builder, view.with_peers({"twin": view}) if reads.peers else view):
        finite(json.loads(to_json(item.body, inf_nan_mode="strings")))


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
    view = HostView(
        series=[build_series("sched.runq", values), build_series("sched.blocked", np.zeros((20_000, 1)))]
    )
    rendered = body("load", view)
    assert isinstance(rendered, Panels)
    [tasks] = rendered.panels
    assert len(tasks.t_ns) == MAX_READINGS
    at = tasks.tracks[0].values.index(900.0)
    assert tasks.tracks[0].lines[at] == 12_346
    assert tasks.t_ns[at] == 12_345 * 10**9


def test_disk_times_aligns_other_collectors_to_nearest_time() -> None:
    rate = build_series("app.requests_per_s", [[100.0], [300.0]], [0, 10 * 10**9], route="*")
    writes = build_series("disk.w_iops", np.full((12, 1), 300.0), dev="vda")
    rendered = body(
        "disk-times", HostView(series=[rate, writes], outcomes={"iostat": CollectorOutcome("iostat", "done")})
    )
    [related] = rendered.panels[0].related
    assert related.values[0] == 100.0
    assert related.values[11] == 300.0
    assert related.lines[11] == 2
    facts = {label.en: figure.value for label, figure in rendered.facts}
    assert facts["Writes per request"] == pytest.approx(1.5)


def test_a_reading_far_away_in_time_is_no_data() -> None:
    rate = build_series("app.requests_per_s", [[100.0], [300.0]], [500 * 10**9, 510 * 10**9], route="*")
    writes = build_series("disk.w_iops", np.full((12, 1), 300.0), dev="vda")
    rendered = body(
        "disk-times", HostView(series=[rate, writes], outcomes={"iostat": CollectorOutcome("iostat", "done")})
    )
    assert set(rendered.panels[0].related[0].values) == {None}


def test_disk_times_renders_busiest_disks_and_counts_rest() -> None:
    series_list = [build_series("disk.aqu", [[float(at)]] * 3, dev=f"sd{at:02}") for at in range(20)]
    result = pictures("disk-times", HostView(series=series_list))
    assert [dict(item.subject)["dev"] for item in result] == [
        f"sd{at}" for at in range(19, 19 - MAX_PER_BUILDER, -1)
    ]
    assert result[0].left_out == 12


def test_a_heat_of_many_cpus_stays_small() -> None:
    names = [str(at) for at in range(256)]
    rows = np.random.default_rng(1).random((120, 256)) * 1000
    series_list = [
        build_series("softirq.rate_per_s", rows * (at + 1), axis="cpu", names=names, vector=f"V{at}")
        for at in range(10)
    ]
    rendered = body("softirq-heat", HostView(series=series_list))
    assert isinstance(rendered, CpuHeat)
    assert [matrix.vector for matrix in rendered.matrices] == ["V9", "V8", "V7"]
    assert sum(len(matrix.values) * len(matrix.values[0]) for matrix in rendered.matrices) <= MAX_CELLS
    assert len(rendered.t_ns) == len(rendered.matrices[0].values[0])
    total = sum(value or 0.0 for row in rendered.matrices[0].values for value in row) / len(rendered.t_ns)
    assert total == pytest.approx(rows.sum(axis=1).mean() * 10, rel=0.02)


def test_softirq_heat_reports_single_busy_cpu() -> None:
    rows = np.zeros((10, 8))
    rows[:, 3] = 800.0
    names = [str(at) for at in range(8)]
    view = HostView(
        series=[build_series("softirq.rate_per_s", rows, axis="cpu", names=names, vector="NET_RX")]
    )
    [item] = body("softirq-heat", view).matrices
    assert item.busiest == "3"
    assert item.uneven is not None
    assert item.uneven.value == pytest.approx(8.0)


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


def test_numa_with_many_nodes_leaves_remote_cells_empty() -> None:
    names = ["0", "1", "2", "3"]
    near = build_series("numa.local_node_per_s", np.full((5, 4), 1000.0), axis="node", names=names)
    far = build_series("numa.other_node_per_s", np.full((5, 4), 1000.0), axis="node", names=names)
    rendered = body("numa", HostView(series=[near, far]))
    assert [row.nodes for row in rendered.rows] == [("0",), ("1",), ("2",), ("3",), ()]
    assert rendered.rows[0].cells[1].figure is None
    assert all(cell.figure.value == 1000.0 and cell.mismatch for cell in rendered.rows[-1].cells)


def table() -> SchedTable:
    return build_sched_table(perf_sched.parse_perf_sched(source(captured("sched.txt"))))


def test_who_ran_instead_fills_the_wait() -> None:
    """While a task waits for a CPU that others share, that CPU does not idle: what ran adds up to the wait."""
    longest_waits = list_longest_waits(table(), 20)
    assert [longest_wait.waited_ns for longest_wait in longest_waits] == sorted(
        (longest_wait.waited_ns for longest_wait in longest_waits), reverse=True
    )
    for longest_wait in longest_waits[:5]:
        assert sum(ns for _, ns in longest_wait.instead) == pytest.approx(longest_wait.waited_ns, rel=0.02)
        assert longest_wait.task not in {task for task, _ in longest_wait.instead}


def test_worst_waits_are_those_of_a_slow_search() -> None:
    slices = table()
    longest = sorted(slices.delay_ns.tolist(), reverse=True)[:20]
    longest_waits = list_longest_waits(slices, 20)
    assert [longest_wait.waited_ns for longest_wait in longest_waits] == longest
    longest_wait = longest_waits[0]
    slow: dict[int, int] = {}
    for at in range(len(slices.t_ns)):
        low = max(int(slices.t_ns[at]), longest_wait.from_ns)
        high = min(int(slices.t_ns[at] + slices.len_ns[at]), longest_wait.from_ns + longest_wait.waited_ns)
        if slices.cpu[at] == longest_wait.cpu and high > low:
            slow[int(slices.task[at])] = slow.get(int(slices.task[at]), 0) + high - low
    assert dict(longest_wait.instead) == slow


def test_waits_before_and_after() -> None:
    rendered = body("sched-latency", waiting())
    assert isinstance(rendered, SchedLatency)
    assert sum(rendered.now.counts) == rendered.now.waits
    assert rendered.before is not None
    assert sum(rendered.before.counts) == rendered.before.waits
    assert rendered.now.average.value <= rendered.now.p99.value <= rendered.now.maximum.value
    assert rendered.worst[0].waited.value == rendered.now.maximum.value


def test_sched_latency_without_events_reports_means_only() -> None:
    [item] = pictures("sched-latency", of({"proc_schedstat": "debian-12-quota"}))
    assert item.notes[0].key == "chart.only_means"
    assert item.body.rows[0].label == "h1-busy 28949"
    assert item.left_out == 44


def test_an_empty_table_of_slices_has_no_waits() -> None:
    whole = table()
    columns = ("t_ns", "len_ns", "cpu", "task", "state", "delay_ns", "origin", "cut")
    none: dict[str, Any] = {name: getattr(whole, name)[:0] for name in columns}
    empty = SchedulerEvents(replace(whole, **none), CITE)
    assert list_longest_waits(empty.table) == []
    assert pictures("sched-latency", replace(HostView(), sched=empty))[0].body is None


def make_finding(rule: str, state: str, value: float, threshold: float, severity: str = "warn") -> Finding:
    number = Number("m", value, "pct", ">", threshold, (CITE,))
    return Finding(rule, state, severity, Strength.CONTEXT, (), (number,))  # type: ignore[arg-type]


def test_build_use_grid_shows_strongest_finding_per_cell() -> None:
    use_grid = build_use_grid(
        [
            make_finding("F-CPU-BUSY", "not_matched", 60, 85),
            make_finding("F-CPU-ONE-CORE", "not_matched", 96, 95),
            make_finding("F-SCHED-RUNQ", "matched", 5, 1),
            make_finding("F-CPU-STEAL", "matched", 40, 10, "critical"),
            Finding("F-DISK-UTIL", "not_evaluated", "info", Strength.CONTEXT, ()),
        ]
    )
    assert [row.id for row in use_grid.rows] == list(RESOURCES)
    busy, waits, errors = use_grid.rows[0].cells
    assert [cell.use_category for cell in use_grid.rows[0].cells] == list(USE_TYPES)
    assert (busy.state, busy.rule, busy.evaluated) == ("not_matched", "F-CPU-BUSY", 2)
    assert (waits.state, waits.rule, waits.matched) == ("critical", "F-CPU-STEAL", 2)
    assert errors.state == "unknown"
    disk = use_grid.rows[2].cells[0]
    assert (disk.state, disk.rule, disk.evaluated, disk.total) == ("unknown", "F-DISK-UTIL", 0, 1)


def test_use_grid_of_real_host_marks_unchecked_cells() -> None:
    rendered = body("use-grid", HOSTS["use-grid"]())
    assert isinstance(rendered, UseGrid)
    states = {row.id: [cell.state for cell in row.cells] for row in rendered.rows}
    assert states["cpu"][1] == "critical"
    assert states["network"] == ["unknown"] * 3
    assert all(
        cell.figure is not None for row in rendered.rows for cell in row.cells if cell.state == "not_matched"
    )


def test_peers_lists_outlier_first_and_outside_band() -> None:
    rendered = body("peers", crowd())
    assert isinstance(rendered, PeerStrips)
    first = rendered.strips[0]
    assert first.hosts == 24
    own = next(dot for dot in first.dots if dot.own)
    assert own.unlike
    assert first.high is not None
    assert first.low is not None
    assert all((first.low <= dot.figure.value <= first.high) is not dot.unlike for dot in first.dots)


def test_few_hosts_have_no_band() -> None:
    rendered = body("peers", crowd(2))
    assert rendered.strips[0].median is None
    assert all(dot.z is None for dot in rendered.strips[0].dots)


def test_peers_of_single_host_reports_no_peers() -> None:
    [item] = pictures("peers", scaled(crowd(0), 1.0))
    assert item.reason is not None
    assert item.reason.key == "chart.no_peers"


def test_build_strip_keeps_outliers_among_many_hosts() -> None:
    figures = {f"h{at:04}": Figure(10.0 + at % 7 / 10, "pct", CITE) for at in range(3000)}
    figures["odd"] = Figure(99.0, "pct", CITE)
    strip = build_strip("m", "m", figures, own="h2999")
    assert strip is not None
    assert strip.hosts == 3001
    assert len(strip.dots) <= MAX_DOTS
    assert strip.dots[0].host == "odd"
    assert any(dot.own for dot in strip.dots)


def test_kills_are_marked_where_they_happened() -> None:
    result = pictures("group-memory", HOSTS["group-memory"]())
    overview, *groups = result
    assert overview.body.kind == "gauges"
    kills = {dict(group.subject)["cgroup"]: group.body.moments for group in groups}
    assert [item.detail for item in kills["/h1lab/app"]] == ["python3 30052"]
    assert kills["/h1lab/app"][0].citation.lines
    assert len(kills["/h1lab"]) == 1
