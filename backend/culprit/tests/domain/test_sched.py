"""The scheduler's raw events: equal to perf sched timehist, to counting by hand, and safe on malformed input."""

from __future__ import annotations

import itertools
import math
import re
import shutil
import subprocess
from collections import defaultdict

import numpy as np
import pytest
from culprit.domain.profiles.scheduling import compute_delay_histogram, compute_run_queue
from culprit.domain.profiles.scheduling_tracks import build_cpu_tracks, build_thread_tracks, list_wakeups
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import perf_sched
from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.limits import ImportRefusedError, LimitExceededError
from collectors.profiles.schedule_builder import build_sched_table
from collectors.profiles.scheduling import CUT_END, CUT_START, PREEMPTED, WOKEN, SchedTable
from collectors.tests.recorded_profiles import captured, source

_TIMEHIST = re.compile(r"^\s*(.*?)\[(-?\d+)(?:/-?\d+)?\]\s+-?\d+\s+(\d+)\s+([\d.]+)\s", re.MULTILINE)


def table_of(text: bytes) -> SchedTable:
    return build_sched_table(perf_sched.parse_perf_sched(source(text)))


def timehist(text: str) -> dict[int, tuple[int, float]]:
    """tid → (switches, runtime in ms) as `perf sched timehist -s` prints."""
    return {int(tid): (int(n), float(ms)) for _, tid, n, ms in _TIMEHIST.findall(text)}


def agree(table: SchedTable, message: dict[int, tuple[int, float]]) -> None:
    """Switches and runtime of each task are equal.

    timehist files the last slice of a task that is just dying under tid -1, because perf's sample has no task
    any more; the event itself still names it. So there a task of ours may have more, by as much as -1 has in all.
    Where perf lost the switch that began a slice, timehist counts the time before it, and ours is shorter.
    """
    ours = {row.tid: (row.switches, row.runtime_ns / 1e6) for row in table.tasks() if row.switches}
    dying, dying_ms = message.pop(-1, (0, 0.0))
    assert message.keys() <= ours.keys() and (dying or message.keys() == ours.keys())
    more, more_ms, shorter = 0, 0.0, 0
    for tid, (switches, runtime) in ours.items():
        n, ms = message.get(tid, (0, 0.0))
        if switches == n:
            assert runtime - ms < 0.001 + 1e-9  # it cuts off below a microsecond
            shorter += runtime - ms < -1e-9
        else:
            more, more_ms = more + switches - n, more_ms + runtime - ms
    assert shorter <= table.inconsistent
    assert more == dying and more_ms == pytest.approx(dying_ms, abs=0.002 * (dying + 1))


@pytest.fixture(scope="module")
def table():
    return table_of(captured("sched.txt"))


def test_a_capture_agrees_with_timehist(table):
    text = captured("sched_timehist.txt").decode()
    total = int(re.search(r"Total number of context switches: (\d+)", text)[1])
    assert total == captured("sched.txt").count(b"sched:sched_switch:")
    agree(table, timehist(text))
    assert table.lost == table.inconsistent == table.unreadable == 0


def test_every_nanosecond_of_a_cpu_is_counted_once(table):
    for cpu in table.cpus:
        own = np.flatnonzero(table.cpu == cpu)
        own = own[np.argsort(table.t_ns[own])]
        stop = table.t_ns[own] + table.len_ns[own]
        assert (table.t_ns[own][1:] >= stop[:-1]).all() and stop[-1] <= table.t1_ns


def test_tracks_show_what_ran_and_no_more(table):
    for width in (10, 300, 8000):
        cpu_tracks = build_cpu_tracks(table, table.t0_ns, table.t1_ns, width)
        assert sum(s[1] for track in cpu_tracks for s in track.segments) == table.len_ns.sum()
        for track in cpu_tracks:
            assert len(track.segments) <= 2 * width + 2
            assert sum(s[3] for s in track.segments) == int(
                ((table.cpu == track.cpu) & (table.len_ns > 0)).sum()
            )
            assert all(0 <= s[2] < len(table.tid) for s in track.segments)
    middle = (table.t0_ns + table.t1_ns) // 2
    halves = [build_cpu_tracks(table, table.t0_ns, middle), build_cpu_tracks(table, middle, table.t1_ns)]
    assert sum(s[1] for half in halves for track in half for s in track.segments) == table.len_ns.sum()


def test_thread_tracks_have_all_time_of_their_threads(table):
    for width in (10, 300, 8000):
        threads = build_thread_tracks(table, table.t0_ns, table.t1_ns, width, most=1000)
        assert threads.total == len(threads.tracks) == len(table.tid)
        for track in threads.tracks:
            own = table.task == track.task
            waited = table.delay_ns[own & (table.delay_ns > 0)].sum() + table.open_wait_ns[track.task]
            assert sum(s[1] for s in track.segments) == table.len_ns[own].sum()
            assert sum(s[1] for s in track.waits) == waited
            assert {s[2] for s in track.segments} <= set(table.cpu[own].tolist())
            assert len(track.segments) <= 2 * width + 2
    few = build_thread_tracks(table, table.t0_ns, table.t1_ns, 300, most=3, first=[-1, 5])
    assert (few.tracks[0].task, len(few.tracks), few.total) == (5, 3, len(table.tid))
    middle = (table.t0_ns + table.t1_ns) // 2
    halves = [
        build_thread_tracks(table, begin, end, most=1000)
        for begin, end in ((table.t0_ns, middle), (middle, table.t1_ns))
    ]
    ran = [s for half in halves for track in half.tracks for s in track.segments]
    assert sum(s[1] for s in ran) == table.len_ns.sum()


def test_wakeups_lead_from_where_a_thread_was_woken_to_where_it_ran(table):
    everything = list_wakeups(table, table.t0_ns, table.t1_ns, 10**6)
    woken = (table.origin == WOKEN) & (table.wake_cpu >= 0)
    assert everything.total == len(everything.longest) == np.count_nonzero(woken) > 100
    for wakeup in everything.longest:
        if wakeup.waker < 0:
            continue
        # The waker has the CPU at that time. Events of one nanosecond may be on either side of a switch.
        there = (table.task == wakeup.waker) & (table.cpu == wakeup.from_cpu)
        assert (there & (table.t_ns <= wakeup.at_ns) & (table.t_ns + table.len_ns >= wakeup.at_ns)).any()
    longest = list_wakeups(table, table.t0_ns, table.t1_ns, 10)
    assert longest.total == everything.total
    assert sorted(w.delay_ns for w in longest.longest) == sorted(w.delay_ns for w in everything.longest)[-10:]
    task = longest.longest[0].task
    own = list_wakeups(table, table.t0_ns, table.t1_ns, 10**6, task)
    assert own.longest == [w for w in everything.longest if task in (w.task, w.waker)]
    assert list_wakeups(table, table.t0_ns, table.t1_ns, 10, -1).total == 0


def test_parts_of_the_time_add_up_to_the_whole(table):
    edges = [
        table.t0_ns,
        *np.quantile(table.t_ns, [0.2, 0.5, 0.51, 0.9]).astype(int).tolist(),
        table.t1_ns + 1,
    ]
    parts = [table.select_range(begin, end) for begin, end in itertools.pairwise(edges)]
    for tid in table.tid.tolist():
        rows = [row for part in parts for row in part.tasks() if row.tid == tid]
        (whole,) = [row for row in table.tasks() if row.tid == tid]
        for name in ("runtime_ns", "cut_ns", "switches", "waits", "delay_sum_ns", "open_wait_ns"):
            assert sum(getattr(row, name) for row in rows) == getattr(whole, name), name
        assert max(row.delay_max_ns for row in rows) == whole.delay_max_ns
    assert table.select_range(0, 1).tasks()[0].switches == 0


def test_histogram_and_queue_hold_every_wait(table):
    histogram = compute_delay_histogram(table)
    waits = int((table.delay_ns >= 0).sum())
    assert sum(histogram.counts) == waits == sum(row.waits for row in table.tasks())
    assert len(histogram.counts) == len(histogram.edges_us)
    queue = compute_run_queue(table, 50)
    area = sum(m * queue.bin_ns for m in queue.mean)
    assert area == pytest.approx(table.delay_ns[table.delay_ns > 0].sum(), rel=0.01)
    assert max(queue.peak) >= max(queue.mean)


def switch(t: int, cpu: int, prev: str, state: str, following: str) -> str:
    (a, i), (b, j) = prev.split(":"), following.split(":")
    return (
        f"  {a} {i}/{i} [{cpu:03}] {t // 10**9}.{t % 10**9:09}: sched:sched_switch: prev_comm={a} prev_pid={i} "
        f"prev_prio=120 prev_state={state} ==> next_comm={b} next_pid={j} next_prio=120\n"
    )


def waking(t: int, tid: str) -> str:
    a, i = tid.split(":")
    head = f"  x 9/9 [000] {t // 10**9}.{t % 10**9:09}: sched:sched_waking:"
    return f"{head} comm={a} pid={i} prio=120 target_cpu=000\n"


def test_waits_begin_with_waking_or_preemption():
    text = (
        switch(1_000, 0, "a:1", "S", "b:2")
        + waking(1_500, "a:1")
        + waking(1_700, "a:1")
        + switch(2_000, 0, "b:2", "R", "a:1")
        + switch(5_000, 0, "a:1", "S", "b:2")
        + waking(5_500, "a:1")
        + switch(6_000, 0, "b:2", "R+", "swapper/0:0")
    )
    table = table_of(text.encode())
    rows = {row.comm: row for row in table.tasks()}
    assert set(rows) == {"a", "b"}
    a, b = rows["a"], rows["b"]
    assert (a.switches, a.runtime_ns, a.waits, a.delay_max_ns, a.delay_max_at_ns) == (2, 3_000, 1, 500, 1_500)
    assert (b.switches, b.runtime_ns, b.waits, b.delay_max_ns, b.delay_max_at_ns) == (
        2,
        2_000,
        1,
        3_000,
        2_000,
    )
    assert (a.woken_sum_ns, b.woken_sum_ns) == (500, 0)
    assert (a.open_wait_ns, b.open_wait_ns) == (500, 0)
    assert a.cut_ns == 0 and table.cut.tolist().count(CUT_START) == 1 and CUT_END not in table.cut
    assert table.origin[(table.task == 0) & (table.cut == 0)].tolist() == [WOKEN]
    assert PREEMPTED in table.origin.tolist()


def test_both_ways_of_printing_and_hostile_names():
    named = switch(1_000, 0, "a b 1 [001]:1", "S", "x prev_pid=7:2").replace(
        "a b 1 [001] 1/1", "a b 1 [001] 1/1"
    )
    short = (
        "  a 1 [000] 0.000002: sched:sched_switch: x ==> y:2 [120] R ==> a: 5:1 [120]\n"
        "  a 1 [000] 0.000003: sched:sched_wakeup: k:w:7 [120] success=1 CPU:000\n"
    )
    table = table_of((named + short).encode())
    assert table.events == 3 and table.unreadable == 0
    assert sorted(table.tid.tolist()) == [1, 2]
    events = perf_sched.parse_perf_sched(source((named + short).encode()))
    assert events.comm[7] == "k:w" and events.comm[1] == "a: 5" and events.prio[1] == 120
    assert events.pid == {1: 1}


def test_a_slice_whose_begin_is_missing_begins_after_the_thread_was_seen_elsewhere():
    text = (
        switch(1_000, 0, "b:8", "S", "a:7")
        + switch(1_500, 1, "b:8", "S", "swapper/1:0")
        + switch(2_000, 0, "a:7", "S", "swapper/0:0")
        + switch(9_000, 1, "a:7", "S", "swapper/1:0")
        + switch(9_500, 2, "a:7", "S", "swapper/2:0")
    )
    table = table_of(text.encode())
    assert [
        (int(table.tid[task]), begin, length)
        for task, begin, length in zip(
            table.task.tolist(), table.t_ns.tolist(), table.len_ns.tolist(), strict=True
        )
    ] == [(7, 1_000, 1_000), (8, 1_000, 0), (8, 1_000, 500), (7, 2_000, 7_000), (7, 9_000, 500)]
    assert table.inconsistent == 1


def test_table_counts_lost_and_inconsistent_events():
    text = (
        switch(1_000, 0, "a:1", "S", "b:2")
        + "  x 9/9 [000] 0.000001500: PERF_RECORD_LOST lost 12\n"
        + switch(2_000, 0, "c:3", "S", "d:4")
        + "  y 1/1 [000] broken sched:sched_switch: nothing\n"
    )
    table = table_of(text.encode())
    assert (table.lost, table.inconsistent, table.unreadable) == (12, 1, 1)
    assert table.lost_share == pytest.approx(12 / 14)


def test_other_text_is_refused():
    for text in (b"", b"hello\n", captured("cpu.txt")[:5000]):
        with pytest.raises(ImportRefusedError) as refused:
            table_of(text)
        assert refused.value.sentence.key == "import.not_sched"
    with pytest.raises(LimitExceededError):
        table_of(b"x" * (3 << 20))


def test_the_file_gives_back_the_table(tmp_path, table):
    table.save(tmp_path / "s")
    loaded = SchedTable.load(tmp_path / "s")
    assert loaded.tasks() == table.tasks()
    assert list_wakeups(loaded, 0, 1 << 62, 10**6) == list_wakeups(table, 0, 1 << 62, 10**6)
    data = (tmp_path / "s").read_bytes()
    (tmp_path / "s").write_bytes(data[:-100])
    with pytest.raises(DamagedFileError):
        SchedTable.load(tmp_path / "s")


def test_a_file_of_before_has_no_wakeups(tmp_path, table):
    table.save(tmp_path / "new")
    now = column_file.read_columns(tmp_path / "new", "sched", 1)
    arrays = {name: array for name, array in now.arrays.items() if not name.startswith("wake")}
    column_file.write_columns(tmp_path / "old", "sched", 1, now.meta, arrays)
    loaded = SchedTable.load(tmp_path / "old")
    assert loaded.tasks() == table.tasks()
    assert list_wakeups(loaded, 0, 1 << 62, 10).total == 0


EVENTS = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.integers(0, 1),
        st.integers(0, 3),
        st.sampled_from("SRD"),
        st.booleans(),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_vectors_agree_with_a_walk(events):
    """A slow walk over the events in order, one task at a time."""
    now, running, text, ready = 1000, {0: 0, 1: 0}, "", {}
    left: dict[int, str] = {}
    delays, runtime, since = defaultdict(list), defaultdict(int), {}
    for step, cpu, to, state, wake, woken in events:
        now += step
        if wake:
            text += waking(now, f"t:{woken}")
            if woken not in running.values() and left.get(woken) != "R":
                ready.setdefault(woken, now)
            now += 1
        elsewhere = running[1 - cpu]
        if to in (running[cpu], elsewhere) and to != 0:
            continue
        if to == running[cpu]:
            continue
        prev = running[cpu]
        text += switch(now, cpu, f"t:{prev}", state, f"t:{to}")
        if prev:
            ready.pop(prev, None)
            left[prev] = state
            if state == "R":
                ready[prev] = now
            if cpu in since:
                runtime[prev] += now - since[cpu]
        if to:
            if to in ready:
                delays[to].append((now - ready[to], ready.pop(to)))
            left.pop(to, None)
        running[cpu], since[cpu] = to, now
    if "sched_switch" not in text:
        return
    rows = {row.tid: row for row in table_of(text.encode()).tasks()}
    assert {t: n for t, n in runtime.items() if n} == {
        t: r.runtime_ns for t, r in rows.items() if r.runtime_ns
    }
    assert {
        t: (len(waits), sum(delay for delay, _ in waits), compute_p99(waits), *max(waits))
        for t, waits in delays.items()
    } == {
        t: (r.waits, r.delay_sum_ns, r.delay_p99_ns, r.delay_max_ns, r.delay_max_at_ns)
        for t, r in rows.items()
        if r.waits
    }


def compute_p99(waits: list[tuple[int, int]]) -> int:
    """The smallest delay that at least 99 of 100 do not exceed."""
    return sorted(delay for delay, _ in waits)[math.ceil(0.99 * len(waits)) - 1]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2500))
def test_malformed_input_raises_nothing_else(noise, at):
    text = captured("sched.txt")[:2500]
    try:
        result = table_of(text[:at] + noise + text[at + len(noise) :])
    except ImportRefusedError:
        return
    result.tasks()
    build_cpu_tracks(result, result.t0_ns, result.t1_ns)
    build_thread_tracks(result, result.t0_ns, result.t1_ns)
    list_wakeups(result, result.t0_ns, result.t1_ns, 10)


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
def test_a_fresh_capture_agrees_with_timehist(tmp_path, busy_cpus):
    data = tmp_path / "perf.data"
    result = subprocess.run(
        ["perf", "sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "2048", "-o", data, "--", "sleep", "0.2"],
        capture_output=True,
        check=False,
    )
    if result.returncode:
        pytest.skip(f"perf may not record here: {result.stderr[-200:]!r}")
    fields = "comm,pid,tid,cpu,time,event,trace"
    text = subprocess.run(
        ["perf", "script", "-i", data, "-F", fields, "--ns", "--show-lost-events"],
        capture_output=True,
        check=True,
    ).stdout
    stdout = subprocess.run(
        ["perf", "sched", "timehist", "-s", "-i", data], capture_output=True, check=True
    ).stdout
    table = table_of(text)
    agree(table, timehist(stdout.decode()))
