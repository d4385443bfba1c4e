"""Parsing the output of a watcher, including malformed output."""

from __future__ import annotations

import math

from culprit.domain.hosts.watcher_readings import (
    MAX_FAILURES,
    MAX_REPORTS,
    MAX_RETRY_DELAY_S,
    WatcherReadings,
    compute_retry_delay_s,
)
from hypothesis import given
from hypothesis import strategies as st

from collectors.runner import watcher
from collectors.runner.watcher import WatcherCondition, WatcherStatus

COUNTS = st.integers(0, 10**15)
REPORTS = st.builds(
    WatcherStatus,
    boot_ns=COUNTS,
    cpu_ms=st.integers(0, 10**12),
    rss_kb=st.integers(0, 10**12),
    lookback_bytes=st.integers(0, 10**12),
    values=st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=4).map(tuple),
)


@given(st.lists(REPORTS, max_size=80), st.integers(0, 4))
def test_a_cost_is_a_number_or_nothing(reports: list[WatcherStatus], conditions: int) -> None:
    readings = WatcherReadings()
    for report in reports:
        readings.add_report(report)
    cost = readings.compute_cost()
    assert (cost is None) == (not reports)
    if cost is not None:
        assert cost["cpu_pct"] is None or (math.isfinite(cost["cpu_pct"]) and cost["cpu_pct"] >= 0)
    rows = readings.list_values(conditions)
    assert len(rows) == conditions
    assert all(len(row) == len(readings.reports) <= MAX_REPORTS for row in rows)
    times = [report.boot_ns for report in readings.reports]
    assert times == sorted(set(times))


def test_a_cost_is_that_of_the_last_minute() -> None:
    """Ten per cent for ten minutes, then one: the minute counts, and not the hour."""
    readings = WatcherReadings()
    spent = 0.0
    for second in range(0, 660, 5):
        readings.add_report(WatcherStatus(second * 10**9, round(spent), 1000, 0, ()))
        spent += 5 * (100 if second < 600 else 10)
    cost = readings.compute_cost()
    assert cost is not None and cost["cpu_pct"] == 1.75  # eleven of twelve steps are cheap, one is not


@given(st.integers(1, 50))
def test_a_pause_grows_to_an_end(failures: int) -> None:
    pause = compute_retry_delay_s(failures)
    assert (pause is None) == (failures > MAX_FAILURES)
    assert pause is None or 60 <= pause <= MAX_RETRY_DELAY_S


@given(st.text(max_size=120))
def test_any_line_is_a_word_or_noise(line: str) -> None:
    for text in (line, f"watch {line}", f"fire {line}", f"watch 1 1 1 1 {line}"):
        watcher.parse_line(text)


def conditions() -> st.SearchStrategy[WatcherCondition]:
    """Conditions that hosts are asked."""
    limits = st.floats(0, 1e12, allow_nan=False)
    counts = st.integers(1, 60)
    return st.one_of(
        st.builds(WatcherCondition, st.just("process_start"), st.from_regex(r"[A-Za-z0-9_.:@+-]{1,15}", fullmatch=True)),
        st.builds(
            lambda limit, a, b, op: WatcherCondition("load1", "", op, limit, min(a, b), max(a, b)),
            limits, counts, counts, st.sampled_from(("over", "under")),
        ),
    )  # fmt: skip


@given(conditions())
def test_a_condition_is_stored_and_read_as_it_was(condition: WatcherCondition) -> None:
    assert WatcherCondition.from_json(condition.to_json()) == condition
    limits = watcher.build_limits("00000000-0000-0000-0000-000000000000", "conditional", 60, 15, RING)
    assert b"WATCHER=1\n" in watcher.build_program(RING, [condition], limits)


RING = watcher.LookbackBuffer(60, 1 << 20, ("/proc/stat",))
