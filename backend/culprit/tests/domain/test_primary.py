"""The number by which a fix is judged, read out of runs: its subject, its readings, and the load beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from culprit.core import primary
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Lane, Outcome, Row, View
from culprit.core.verify import judge
from culprit.playbooks.library import library

from collectors.metrics import CATALOGUE

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND


def lane(
    metric: str,
    values: Sequence[float] | np.ndarray,
    collector: str = "vmstat",
    labels: Mapping[str, str] | None = None,
    axis: tuple[str, ...] = (),
    step_s: float = 1.0,
    from_s: float = 0.0,
) -> Lane:
    array = np.asarray(values, float)
    array = array[:, None] if array.ndim == 1 else array
    t_ns = T0 + ((from_s + step_s * np.arange(len(array))) * SECOND).astype(np.int64)
    cite = Citation("run", collector, "artifact", "samples")
    return Lane(metric, labels or {}, CATALOGUE[metric].axis if axis else None, axis, t_ns, array, None, cite)


def view(*lanes: Lane, tables: Mapping[str, Sequence[Row]] | None = None, seconds: int = 15) -> View:
    names = {one.cite.collector for one in lanes} | {"proc_schedstat", "tcp_waits", "ss", "proc_threads"}
    outcomes = {name: Outcome(name, "done", seconds=seconds) for name in names}
    # A log brings the minute before along, and the span of a run is that of all that it brought.
    span = (T0 - 60 * SECOND, T0 + seconds * SECOND)
    return View(outcomes=outcomes, lanes=lanes, tables=tables or {}, seconds=seconds, span_ns=span)


def log(rate: float, errors: float) -> list[Lane]:
    """What an access log of 15 s tells, and of the minute before, in steps of 5 s."""
    labels = {"route": "*"}
    times = {"labels": labels, "step_s": 5.0, "from_s": -57.5}
    return [
        lane("app.requests_per_s", [9999.0] * 12 + [rate] * 3, "app_metrics", **times),
        lane("app.errors_pct", [0.0] * 12 + [errors] * 3, "app_metrics", **times),
        lane("app.requests_per_s", [1.0] * 15, "app_metrics", {"route": "GET /"}, step_s=5.0, from_s=-57.5),
    ]


def test_the_load_is_what_was_answered_well_while_the_run_lasted() -> None:
    found = view(*log(200.0, 25.0))
    assert primary.load_of(found) == (pytest.approx(150.0), "goodput")
    scraped = [
        lane("app.requests_per_s", [30.0] * 15, "prom_import", {"route": one}) for one in ("GET /a", "GET /b")
    ]
    assert primary.load_of(view(*scraped)) == (pytest.approx(60.0), "goodput")


def test_connections_are_a_load_of_another_kind_and_none_is_none() -> None:
    accepted = view(lane("app.accepts_per_s", [40.0] * 15, "accepts", {"proxy": "accepts"}))
    assert primary.load_of(accepted) == (pytest.approx(40.0), "accepts")
    load, kind = primary.load_of(view(lane("cpu.total_busy_pct", [5.0] * 15)))
    assert math.isnan(load) and kind == "none"


def test_a_series_is_read_a_second_at_a_time_without_what_was_before() -> None:
    run = view(lane("cpu.total_busy_pct", np.arange(15.0), from_s=1.0), *log(100.0, 0.0))
    found = primary.seen(run, "cpu.total_busy_pct", ())
    assert found.window.values.tolist() == [float(one) for one in range(15)]
    assert (found.window.block, found.window.load, found.load_kind) == (5, pytest.approx(100.0), "goodput")
    assert found.t_ns[0] == T0 + SECOND and found.citations[0].artifact == "artifact"
    rates = primary.seen(run, "app.requests_per_s", (("route", "*"),)).window
    assert rates.values.tolist() == [100.0] * 3, "neither the minute before nor a second more"


def test_readings_that_are_further_apart_are_blocks_of_their_own() -> None:
    run = view(lane("app.p99_ms", [9.0] * 3, "app_metrics", {"route": "*"}, step_s=5.0, from_s=2.5))
    assert primary.seen(run, "app.p99_ms", (("route", "*"),)).window.block == 1


def test_the_subject_is_the_worst_before_and_is_kept() -> None:
    def run(a: float, b: float) -> View:
        return view(
            lane("disk.aqu", [a] * 15, labels={"dev": "a"}), lane("disk.aqu", [b] * 15, labels={"dev": "b"})
        )

    before = [run(1.0, 8.0), run(9.0, 7.0), run(1.5, 8.0)]
    subject = primary.subject_of(before, "disk.aqu", "lower")
    assert subject == (("dev", "b"),)
    assert primary.seen(run(50.0, 1.0), "disk.aqu", subject).window.values[0] == 1.0
    assert primary.subject_of(before, "disk.aqu", "higher") == (("dev", "a"),)
    routes = view(*log(100.0, 5.0))
    assert primary.subject_of([routes], "app.requests_per_s", "lower") == (("route", "*"),)


def test_a_column_of_a_matrix_is_a_subject() -> None:
    run = view(lane("cpu.soft_pct", [[1.0, 60.0]] * 15, axis=("0", "1")))
    assert primary.subject_of([run], "cpu.soft_pct", "lower") == (("cpu", "1"),)
    assert primary.seen(run, "cpu.soft_pct", (("cpu", "1"),)).window.values[0] == 60.0


def waits(pid: int, ms: float) -> dict[str, list[Row]]:
    cells = {"pid": pid, "peer": "db:5432", "comm": "api"}
    return {
        "thread_groups": [
            Row({**cells, "cpu_pct": ms, "cgroup": "/db", "comm": "postgres"}, Citation("", "", "", ""))
        ]
    }


def test_a_measure_is_one_reading_of_a_run_and_needs_more_runs() -> None:
    def side(level: float, count: int) -> list[primary.Seen]:
        runs = [view(*log(100.0, 0.0), tables=waits(7 + at, level + at % 2)) for at in range(count)]
        return [primary.seen(one, "db.cpu_pct", (("cgroup", "/db"),)) for one in runs]

    found = side(80.0, 5)
    assert [len(one.window.values) for one in found] == [1] * 5 and found[0].window.block == 1
    before, after = [one.window for one in found], [one.window for one in side(40.0, 5)]
    assert judge(before, after, "lower").outcome == "verified"
    few = judge(before[:4], after, "lower")
    assert few.reason is not None and few.reason.params == {"least": 5}


def test_what_did_not_come_home_says_why() -> None:
    found = primary.seen(View(), "db.cpu_pct", ())
    assert found.missing is not None and found.missing.key == "missing.not_collected"
    assert not len(found.window.values)
    assert primary.seen(View(), "cpu.total_busy_pct", ()).missing is not None
    gone = primary.seen(view(lane("disk.aqu", [1.0] * 15, labels={"dev": "a"})), "disk.aqu", (("dev", "b"),))
    assert gone.missing is not None and gone.missing.params == {"subject": "dev=b"}


def test_an_illness_of_which_nothing_is_left_is_nought() -> None:
    taken = view(*log(100.0, 0.0))
    found = primary.seen(taken, "dep.reply_wait_ms", (("peer", "10.0.0.9:6379"),))
    assert found.window.values.tolist() == [0.0] and found.missing is None and found.window.block == 1
    assert primary.seen(taken, "dep.reply_wait_ms", (), "higher").missing is not None
    assert primary.seen(View(), "dep.reply_wait_ms", ()).missing is not None, "not taken is not nought"


def crowd(wait_s: float, *others: float) -> View:
    """A group of eight threads, and others that wait for so long."""
    rows = [
        {"pid": 7 + at, "comm": "api", "cgroup": f"/app{at}", "run_s": 0.5, "wait_s": one, "switches": 1000}
        for at, one in enumerate((wait_s, *others))
    ]
    cite = Citation("run", "proc_schedstat", "artifact", "stdout")
    return view(*log(100.0, 0.0), tables={"sched_delay": [Row(one, cite) for one in rows]})


def test_whoever_became_well_is_still_told_beside_others_that_are_not() -> None:
    read = "sched.delay_ms_per_turn"
    subject = primary.subject_of([crowd(400.0, 9.0), crowd(420.0, 8.0)], read, "lower")
    assert subject == (("cgroup", "/app0"),)
    found = primary.seen(crowd(0.1, 9.0), read, subject)
    assert found.missing is None and found.window.values.tolist() == [pytest.approx(0.1)]


def test_the_writes_of_a_device_are_told_when_another_became_the_busiest() -> None:
    def disks(log_disk: float, other: float) -> View:
        lanes = (
            lane("disk.w_iops", [rate] * 15, "iostat", {"dev": name})
            for name, rate in (("loop0", log_disk), ("vda", other))
        )
        return view(*lanes, *log(100.0, 0.0))

    read, subject = "disk.writes_per_request", (("dev", "loop0"),)
    assert primary.subject_of([disks(300.0, 40.0)], read, "lower") == subject
    assert primary.seen(disks(300.0, 40.0), read, subject).window.values.tolist() == [3.0]
    assert primary.seen(disks(0.0, 40.0), read, subject).window.values.tolist() == [0.0]


def test_every_primary_of_the_playbooks_can_be_read() -> None:
    for playbook in library().values():
        for one in playbook.hypotheses:
            if one.primary:
                assert primary.unit_of(one.primary.read), one.primary.read
                assert primary.collectors_of(one.primary.read), one.primary.read


def test_only_numbers_that_exist_grow_with_work_and_no_loss_or_wait_does() -> None:
    for read in primary.GROWS_WITH_WORK:
        assert primary.unit_of(read), read
        assert not any(word in read for word in ("drop", "err", "await", "_ms", "overflow", "retrans")), read
    assert primary.divisible("disk.w_iops") and not primary.divisible("app.p99_ms")
