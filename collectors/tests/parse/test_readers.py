"""The small readers that parsers use: sampled text, tokens, rates, stamps, columns of CPUs."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.clock.mapping import ClockMap
from collectors.contract import Context
from collectors.parse.proc import sampled
from collectors.parse.proc.diskstats import select_whole_devices
from collectors.parse.proc.id_list import parse_ids
from collectors.parse.tables import iostat_reports, rates, report_times
from collectors.parse.tables.tokens import (
    parse_amount,
    parse_counter,
    parse_decimal,
    parse_seconds_ns,
    parse_whole,
    to_text,
)
from collectors.tests.support import SIMPLE, part

S = 10**9


def read(text: bytes, limit: int = 1 << 20) -> sampled.Samples:
    return sampled.read_samples({"samples": part(text)}, limit)


def test_lines_of_files_that_begin_with_the_mark() -> None:
    """The sampler doubles the mark; the reader takes it back, and lines keep their numbers."""
    result = read(b"@ 0 5 /a\n@@ 1 6 /b\nplain\n@ 1 7 /a\nx\n")
    first, second = result.of("/a")
    assert first.lines() == [b"@ 1 6 /b", b"plain"] and (first.line, second.line) == (2, 5)
    assert result.of("/b") == () and result.warnings == ()


def test_the_line_that_was_cut_is_dropped() -> None:
    result = read(b"@ 0 5 /a\npgfault 100\npgfault 12")
    assert result.of("/a")[0].lines() == [b"pgfault 100"]
    assert [warning.key for warning in result.warnings] == ["warning.last_line_cut"]


def test_more_than_the_limit_is_not_read() -> None:
    result = read(b"@ 0 5 /a\n" + b"1\n" * 100, 20)
    assert {warning.key for warning in result.warnings} == {"warning.cut_at_limit", "warning.last_line_cut"}


def test_readings_whose_clock_ran_backwards_are_left_out() -> None:
    result = read(b"@ 0 5 /a\n1\n@ 1 4 /a\n2\n@ 2 6 /a\n3\n")
    assert [item.boot_ns for item in result.of("/a")] == [5, 6]
    assert [warning.key for warning in result.warnings] == ["warning.time_backwards"]


def test_an_empty_file_is_a_reading() -> None:
    result = read(b"@ 0 5 /a\n@ 0 6 /b\n1\n")
    assert [item.lines() for item in result.of("/a")] == [[]]


files = st.lists(
    st.tuples(
        st.sampled_from(["/a", "/b/c"]), st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")))
    ),
    max_size=12,
)


@given(files)
def test_what_was_written_is_read(snapshots: list[tuple[str, list[bytes]]]) -> None:
    """Writing and reading are inverse for all file contents; line numbers are correct."""
    out: list[bytes] = []
    for tick, (path, lines) in enumerate(snapshots):
        out.append(f"@ {tick} {tick} {path}".encode())
        out += [b"@" + line if line.startswith(b"@") else line for line in lines]
    result = read(b"".join(line + b"\n" for line in out))
    flat = sorted((row for rows in result.by_path.values() for row in rows), key=lambda item: item.tick)
    assert [(item.path, item.lines()) for item in flat] == [(path, lines) for path, lines in snapshots]
    for item in flat:
        assert out[item.line - 2].startswith(b"@ ")


@given(st.binary(max_size=40))
def test_tokens_are_total(token: bytes) -> None:
    for read_item in (parse_counter, parse_decimal, parse_amount):
        value = read_item(token)
        assert math.isnan(value) or math.isfinite(value)
    assert parse_whole(token) is None or 0 <= parse_whole(token) <= 1 << 62
    parse_seconds_ns(token)
    assert "\0" not in to_text(token) and len(to_text(token, 5)) <= 5
    assert len(parse_ids(token)) <= 16_384


def test_numbers_that_python_would_take() -> None:
    for token in (b"nan", b"inf", b"1e5", b"1_000", b"+1", b" 1", "٣".encode(), b"0x10", b""):
        assert (
            math.isnan(parse_counter(token))
            and math.isnan(parse_decimal(token))
            and parse_whole(token) is None
        )
    assert parse_decimal(b"-1.50") == -1.5 and math.isnan(parse_amount(b"-1"))
    assert parse_seconds_ns(b"1454.35") == 1_454_350_000_000
    assert to_text(b"a\x1b[31m\x00\xff") == "a\ufffd[31m\ufffd\ufffd"


def test_lists_of_ids() -> None:
    assert parse_ids(b"0-3,8,10-11\n") == (0, 1, 2, 3, 8, 10, 11)
    assert parse_ids(b"5-3,x,7") == (7,)
    assert len(parse_ids(b"0-999999")) == 16_384


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20), st.integers(0, (1 << 32) - 1))
def test_a_wrapping_counter_loses_nothing(steps: list[int], start: int) -> None:
    """Deltas of a 32-bit counter add up to what was counted."""
    counts = np.cumsum([start, *steps]) % (1 << 32)
    deltas = rates.compute_deltas(counts.astype(float)[:, None], rates.WRAP_32)
    assert deltas[:, 0].tolist() == steps


def test_counter_reset_and_zero_interval_give_no_data() -> None:
    boot_ns = np.array([0, 1, 1, 2], np.int64) * S
    matching_rates = rates.compute_rates(boot_ns, np.array([[5.0], [7.0], [9.0], [1.0]]))
    np.testing.assert_array_equal(matching_rates, [[2.0], [np.nan], [np.nan]])


def test_stamps_of_a_clock_that_was_set_are_not_believed() -> None:
    """An hour's step between two reports: they stay one second apart."""
    base = 1_767_225_600
    records = [
        {"bt0": str(at * S), "bt1": str(at * S), "real": str((base + at + step) * S), "res": "1"}
        for at, step in ((100, 0), (101, 0), (102, 3600), (104, 3600))
    ]
    clock = ClockMap.from_records(records)
    assert len(clock.steps) == 1
    reported = [(base + 101) * S, (base + 102 + 3600) * S]
    matching_report_times = report_times.compute_report_times(Context(clock), reported, 100 * S)
    assert matching_report_times is not None and np.diff(matching_report_times).tolist() == [S]


def test_stamps_alone_are_the_middle_of_their_second() -> None:
    matching_report_times = report_times.compute_report_times(Context(SIMPLE), [1_767_225_700 * S], None)
    assert matching_report_times is not None and matching_report_times.tolist() == [
        1_767_225_700 * S + S // 2
    ]
    assert report_times.compute_report_times(Context(SIMPLE), [None], None) is None
    assert report_times.parse_epoch_ns("2026-01-01 00:00:00") == 1_767_225_600 * S
    assert report_times.parse_epoch_ns("2026-01-01T08:00:00+0800") == 1_767_225_600 * S
    assert (
        report_times.parse_epoch_ns("9999-99-99") is None
        and report_times.parse_epoch_ns("1900-01-01") is None
    )


def test_partitions_are_excluded_from_devices() -> None:
    names = [
        "sda",
        "sda1",
        "sdaa",
        "nvme0n1",
        "nvme0n1p1",
        "mmcblk0",
        "mmcblk0p2",
        "dm-1",
        "dm-10",
        "xvda1",
        "md1",
        "md127",
    ]
    assert select_whole_devices(names) == [
        "sda",
        "sdaa",
        "nvme0n1",
        "mmcblk0",
        "dm-1",
        "dm-10",
        "xvda1",
        "md1",
        "md127",
    ]


@given(st.binary(max_size=300))
def test_reports_of_iostat_are_total(text: bytes) -> None:
    for data in (text, b'{"timestamp": "2026-01-01T00:00:00+0000"}\n' + text, b"Device r/s w/s\n" + text):
        iostat_reports.parse_iostat_reports(data)
