"""The number by which a fix is judged, read from runs: its subject, its readings and the load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from culprit.analysis.playbooks.library import load_catalog
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow, ViewSeries
from culprit.domain.verification import primary_number
from culprit.domain.verification.judge import judge_windows

from collectors.metrics.registry import METRICS

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND


def build_series(
    metric: str,
    values: Sequence[float] | np.ndarray,
    collector: str = "vmstat",
    labels: Mapping[str, str] | None = None,
    axis: tuple[str, ...] = (),
    step_s: float = 1.0,
    from_s: float = 0.0,
) -> ViewSeries:
    array = np.asarray(values, float)
    array = array[:, None] if array.ndim == 1 else array
    t_ns = T0 + ((from_s + step_s * np.arange(len(array))) * SECOND).astype(np.int64)
    citation = Citation("run", collector, "artifact", "samples")
    return ViewSeries(
        metric, labels or {}, METRICS[metric].axis if axis else None, axis, t_ns, array, None, citation
    )


def view(
    *series_list: ViewSeries, tables: Mapping[str, Sequence[TableRow]] | None = None, seconds: int = 15
) -> HostView:
    names = {series.citation.collector for series in series_list} | {
        "proc_schedstat",
        "tcp_waits",
        "ss",
        "proc_threads",
    }
    outcomes = {name: CollectorOutcome(name, "done", seconds=seconds) for name in names}
    # A log brings the minute before along, and the span of a run is that of all that it brought.
    span = (T0 - 60 * SECOND, T0 + seconds * SECOND)
    return HostView(outcomes=outcomes, series=series_list, tables=tables or {}, seconds=seconds, span_ns=span)


def log(rate: float, errors: float) -> list[ViewSeries]:
    """Return the series of an access log: 15 s and the minute before, in steps of 5 s."""
    labels = {"route": "*"}
    times = {"labels": labels, "step_s": 5.0, "from_s": -57.5}
    return [
        build_series("app.requests_per_s", [9999.0] * 12 + [rate] * 3, "app_metrics", **times),
        build_series("app.errors_pct", [0.0] * 12 + [errors] * 3, "app_metrics", **times),
        build_series(
            "app.requests_per_s", [1.0] * 15, "app_metrics", {"route": "GET /"}, step_s=5.0, from_s=-57.5
        ),
    ]


def test_the_load_is_what_was_answered_well_while_the_run_lasted() -> None:
    result = view(*log(200.0, 25.0))
    assert primary_number.measure_load(result) == (pytest.approx(150.0), "goodput")
    scraped = [
        build_series("app.requests_per_s", [30.0] * 15, "prom_service", {"route": item})
        for item in ("GET /a", "GET /b")
    ]
    assert primary_number.measure_load(view(*scraped)) == (pytest.approx(60.0), "goodput")


def test_connections_are_a_load_of_another_kind_and_none_is_none() -> None:
    accepted = view(build_series("app.accepts_per_s", [40.0] * 15, "accepts", {"proxy": "accepts"}))
    assert primary_number.measure_load(accepted) == (pytest.approx(40.0), "accepts")
    load, kind = primary_number.measure_load(view(build_series("cpu.total_busy_pct", [5.0] * 15)))
    assert math.isnan(load) and kind == "none"


def test_a_series_is_read_a_second_at_a_time_without_what_was_before() -> None:
    run = view(build_series("cpu.total_busy_pct", np.arange(15.0), from_s=1.0), *log(100.0, 0.0))
    primary = primary_number.measure_primary(run, "cpu.total_busy_pct", ())
    assert primary.window.values.tolist() == [float(item) for item in range(15)]
    assert (primary.window.block, primary.window.load, primary.load_kind) == (
        5,
        pytest.approx(100.0),
        "goodput",
    )
    assert primary.t_ns[0] == T0 + SECOND and primary.citations[0].artifact == "artifact"
    rates = primary_number.measure_primary(run, "app.requests_per_s", (("route", "*"),)).window
    assert rates.values.tolist() == [100.0] * 3, "neither the minute before nor a second more"


def test_readings_that_are_further_apart_are_blocks_of_their_own() -> None:
    run = view(build_series("app.p99_ms", [9.0] * 3, "app_metrics", {"route": "*"}, step_s=5.0, from_s=2.5))
    assert primary_number.measure_primary(run, "app.p99_ms", (("route", "*"),)).window.block == 1


def test_the_subject_is_the_worst_before_and_is_kept() -> None:
    def run(a: float, b: float) -> HostView:
        return view(
            build_series("disk.aqu", [a] * 15, labels={"dev": "a"}),
            build_series("disk.aqu", [b] * 15, labels={"dev": "b"}),
        )

    before = [run(1.0, 8.0), run(9.0, 7.0), run(1.5, 8.0)]
    subject = primary_number.select_subject(before, "disk.aqu", "lower")
    assert subject == (("dev", "b"),)
    assert primary_number.measure_primary(run(50.0, 1.0), "disk.aqu", subject).window.values[0] == 1.0
    assert primary_number.select_subject(before, "disk.aqu", "higher") == (("dev", "a"),)
    routes = view(*log(100.0, 5.0))
    assert primary_number.select_subject([routes], "app.requests_per_s", "lower") == (("route", "*"),)


def test_a_column_of_a_matrix_is_a_subject() -> None:
    run = view(build_series("cpu.soft_pct", [[1.0, 60.0]] * 15, axis=("0", "1")))
    assert primary_number.select_subject([run], "cpu.soft_pct", "lower") == (("cpu", "1"),)
    assert primary_number.measure_primary(run, "cpu.soft_pct", (("cpu", "1"),)).window.values[0] == 60.0


def waits(pid: int, ms: float) -> dict[str, list[TableRow]]:
    cells = {"pid": pid, "peer": "db:5432", "comm": "api"}
    return {
        "thread_groups": [
            TableRow({**cells, "cpu_pct": ms, "cgroup": "/db", "comm": "postgres"}, Citation("", "", "", ""))
        ]
    }


def test_measure_primary_reads_single_value_per_run() -> None:
    def side(level: float, count: int) -> list[primary_number.MeasuredNumber]:
        runs = [view(*log(100.0, 0.0), tables=waits(7 + at, level + at % 2)) for at in range(count)]
        return [primary_number.measure_primary(run, "db.cpu_pct", (("cgroup", "/db"),)) for run in runs]

    result = side(80.0, 5)
    assert [len(item.window.values) for item in result] == [1] * 5 and result[0].window.block == 1
    before, after = (
        [replace(item.window, t_s=item.window.t_s + start + 60 * at) for at, item in enumerate(numbers)]
        for start, numbers in ((0, result), (270, side(40.0, 5)))
    )
    assert judge_windows(before, after, "lower").outcome == "verified"
    few = judge_windows(before[:4], after, "lower")
    assert few.reason is not None and few.reason.params == {"least": 5}


def test_measure_primary_reports_reason_for_missing_data() -> None:
    primary = primary_number.measure_primary(HostView(), "db.cpu_pct", ())
    assert primary.missing is not None and primary.missing.key == "missing.not_collected"
    assert not len(primary.window.values)
    assert primary_number.measure_primary(HostView(), "cpu.total_busy_pct", ()).missing is not None
    gone = primary_number.measure_primary(
        view(build_series("disk.aqu", [1.0] * 15, labels={"dev": "a"})), "disk.aqu", (("dev", "b"),)
    )
    assert gone.missing is not None and gone.missing.params == {"subject": "dev=b"}


def test_measure_primary_reads_vanished_subject_as_zero() -> None:
    taken = view(*log(100.0, 0.0))
    primary = primary_number.measure_primary(taken, "dep.reply_wait_ms", (("peer", "10.0.0.9:6379"),))
    assert primary.window.values.tolist() == [0.0] and primary.missing is None and primary.window.block == 1
    assert primary_number.measure_primary(taken, "dep.reply_wait_ms", (), "higher").missing is not None
    assert primary_number.measure_primary(HostView(), "dep.reply_wait_ms", ()).missing is not None, (
        "not taken is not nought"
    )


def crowd(wait_s: float, *others: float) -> HostView:
    """A group of eight threads, and others that wait for so long."""
    rows = [
        {"pid": 7 + at, "comm": "api", "cgroup": f"/app{at}", "run_s": 0.5, "wait_s": item, "switches": 1000}
        for at, item in enumerate((wait_s, *others))
    ]
    citation = Citation("run", "proc_schedstat", "artifact", "stdout")
    return view(*log(100.0, 0.0), tables={"sched_delay": [TableRow(row, citation) for row in rows]})


def test_measure_primary_keeps_subject_that_recovered() -> None:
    read = "sched.lost_pct"
    subject = primary_number.select_subject([crowd(400.0, 9.0), crowd(420.0, 8.0)], read, "lower")
    assert subject == (("cgroup", "/app0"),)
    primary = primary_number.measure_primary(crowd(0.1, 9.0), read, subject)
    assert primary.missing is None and primary.window.values.tolist() == [pytest.approx(100 * 0.1 / 0.6)]


def test_measure_primary_keeps_device_when_another_is_busier() -> None:
    def disks(log_disk: float, other: float) -> HostView:
        series_list = (
            build_series("disk.w_iops", [rate] * 15, "iostat", {"dev": name})
            for name, rate in (("loop0", log_disk), ("vda", other))
        )
        return view(*series_list, *log(100.0, 0.0))

    read, subject = "disk.writes_per_request", (("dev", "loop0"),)
    assert primary_number.select_subject([disks(300.0, 40.0)], read, "lower") == subject
    assert primary_number.measure_primary(disks(300.0, 40.0), read, subject).window.values.tolist() == [3.0]
    assert primary_number.measure_primary(disks(0.0, 40.0), read, subject).window.values.tolist() == [0.0]


def test_every_primary_of_the_playbooks_can_be_read() -> None:
    for playbook in load_catalog().values():
        for hypothesis in playbook.hypotheses:
            if hypothesis.primary:
                assert primary_number.get_unit(hypothesis.primary.read), hypothesis.primary.read
                assert primary_number.list_collectors(hypothesis.primary.read), hypothesis.primary.read


def test_only_numbers_that_exist_grow_with_work_and_no_loss_or_wait_does() -> None:
    for read in primary_number.GROWS_WITH_WORK:
        assert primary_number.get_unit(read), read
        assert not any(word in read for word in ("drop", "err", "await", "_ms", "overflow", "retrans")), read
    assert primary_number.is_divisible("disk.w_iops") and not primary_number.is_divisible("app.p99_ms")
