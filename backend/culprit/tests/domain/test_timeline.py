"""The pyramid and what a track shows: bounds hold at every zoom, gaps stay gaps, bytes come back."""

import numpy as np
import pytest
from culprit.domain.series import chunks
from culprit.domain.series.chunks import HOUR_NS, DamagedChunkError, SeriesRows
from culprit.domain.series.tracks import (
    MAX_CELLS,
    TrackPiece,
    build_track,
    compute_pixel_ns,
    count_bins,
    round_significant,
)
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

VALUES = st.one_of(
    st.just(float("nan")), st.floats(-1e12, 1e12, allow_nan=False), st.integers(0, 2**53).map(float)
)


@st.composite
def tables(draw, max_rows: int = 300, max_columns: int = 4):
    """Ascending times with pauses, and values with holes."""
    n = draw(st.integers(1, max_rows))
    k = draw(st.integers(1, max_columns))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    steps = rng.choice([1_000_000_000, 1_100_000_000, 60_000_000_000], size=n, p=[0.7, 0.27, 0.03])
    t_ns = np.cumsum(steps) + draw(st.integers(0, 2**60))
    few = draw(hnp.arrays(np.float64, (min(n, 20), k), elements=VALUES))
    return t_ns.astype(np.int64), few[rng.integers(0, len(few), n)]


def same(a: SeriesRows, b: SeriesRows) -> None:
    for name in ("start_ns", "end_ns", "low", "mean", "high", "count"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@given(tables())
def test_bytes_come_back_as_they_were(table):
    t_ns, values = table
    same(chunks.decode_rows(chunks.encode_raw(t_ns, values)), chunks.make_raw_rows(t_ns, values))
    for level in chunks.build_levels(t_ns, values):
        same(chunks.decode_rows(chunks.encode_level(level)), level)


@given(tables(max_rows=2000))
def test_each_level_bounds_and_counts_all_that_is_below(table):
    t_ns, values = table
    limit = chunks.compute_gap_limit_ns(chunks.compute_median_step_ns(t_ns))
    for level in chunks.build_levels(t_ns, values):
        np.testing.assert_array_equal(level.count.sum(axis=0), (~np.isnan(values)).sum(axis=0))
        assert (level.start_ns[1:] > level.end_ns[:-1]).all()
        for start, end, low, mean, high in zip(
            level.start_ns, level.end_ns, level.low, level.mean, level.high, strict=True
        ):
            of = values[(t_ns >= start) & (t_ns <= end)]
            np.testing.assert_array_equal(low, np.fmin.reduce(of))
            np.testing.assert_array_equal(high, np.fmax.reduce(of))
            assert (np.isnan(mean) | ((mean >= low) & (mean <= high))).all()
            inside = t_ns[(t_ns >= start) & (t_ns <= end)]
            assert (np.diff(inside) <= limit).all(), "a group reaches over a gap"


@given(tables())
def test_a_summary_bounds_the_chunk(table):
    t_ns, values = table
    low, mean, high, count = chunks.decode_summary(chunks.encode_summary(chunks.make_raw_rows(t_ns, values)))
    seen = ~np.isnan(values)
    np.testing.assert_array_equal(count, seen.sum(axis=0))
    for at in range(values.shape[1]):
        if seen[:, at].any():
            assert low[at] <= np.nanmin(values[:, at])
            assert high[at] >= np.nanmax(values[:, at])
            np.testing.assert_allclose(mean[at], np.nanmean(values[:, at]), rtol=1e-5, atol=1e-3)
        else:
            assert np.isnan(low[at])


@given(tables(), st.integers(1, 50))
def test_a_track_keeps_the_extremes_and_fits_the_width(table, width):
    t_ns, values = table
    names = tuple(str(at) for at in range(values.shape[1]))
    halves = [slice(0, len(t_ns) // 2), slice(len(t_ns) // 2, None)]
    pieces = [
        TrackPiece(chunks.make_raw_rows(t_ns[half], values[half]), names, 3_000_000_000)
        for half in reversed(halves)
    ]
    from_ns, to_ns = int(t_ns[0]) - 5, int(t_ns[-1]) + 5
    track = build_track(pieces, from_ns, to_ns, width)
    assert track.rows.n <= width
    np.testing.assert_array_equal(np.fmin.reduce(track.rows.low), np.fmin.reduce(values))
    np.testing.assert_array_equal(np.fmax.reduce(track.rows.high), np.fmax.reduce(values))
    pixel = compute_pixel_ns(from_ns, to_ns, width)
    for begin, end in track.gaps:
        assert end - begin > pixel
        assert not ((t_ns > begin) & (t_ns < end)).any()
    assert len(track.gaps) <= width + 1


def test_a_pause_is_a_gap_and_a_late_tick_is_none():
    t_ns = np.array([0, 1, 2, 4, 5, 60, 61]) * 1_000_000_000
    rows = chunks.make_raw_rows(t_ns, np.ones((7, 1)))
    track = build_track([TrackPiece(rows, ("",), 3_000_000_000)], 0, 62_000_000_000, 620)
    assert track.gaps == [(5_000_000_000, 60_000_000_000)]


def test_build_track_without_data_is_single_gap():
    assert build_track([], 10, 20, 100).gaps == [(10, 20)]


def test_columns_that_come_and_go_are_no_data_and_not_zero():
    before = TrackPiece(chunks.make_raw_rows(np.array([0]), np.array([[1.0]])), ("sda",), 0)
    after = TrackPiece(chunks.make_raw_rows(np.array([10]), np.array([[2.0, 3.0]])), ("sdb", "sda"), 0)
    track = build_track([before, after], 0, 20, 100)
    assert track.columns == ("sda", "sdb")
    np.testing.assert_array_equal(track.rows.mean, [[1.0, np.nan], [3.0, 2.0]])


def test_a_wide_matrix_gets_fewer_cells():
    assert count_bins(1200, 1) == 1200
    assert count_bins(4000, 256) * 256 <= MAX_CELLS
    assert count_bins(4000, 1_000_000) == 1


def test_chunks_end_with_their_hour():
    t_ns = np.arange(0, 2 * HOUR_NS + 1, HOUR_NS // 4)
    assert [(s.start, s.stop) for s in chunks.split_by_hour(t_ns)] == [(0, 4), (4, 8), (8, 9)]
    assert list(chunks.split_by_hour(np.zeros(0, np.int64))) == []


@given(st.binary(max_size=200))
def test_malformed_input_is_damage(data):
    with pytest.raises(DamagedChunkError):
        chunks.decode_rows(data)


def test_a_flipped_byte_never_yields_a_silently_shorter_chunk():
    good = chunks.encode_raw(np.arange(50, dtype=np.int64), np.ones((50, 2)))
    with pytest.raises(DamagedChunkError):
        chunks.decode_rows(good[:-5])


@given(st.lists(st.integers(0, 2**31 - 1), max_size=50))
def test_line_numbers_come_back(lines):
    array = np.array(lines, np.int32)
    np.testing.assert_array_equal(chunks.decode_lines(chunks.encode_lines(array)), array)


@given(hnp.arrays(np.float64, 8, elements=st.floats(-1e300, 1e300, allow_subnormal=False)))
def test_rounding_for_a_picture_is_within_half_a_pixel(values):
    np.testing.assert_allclose(round_significant(values), values, rtol=1e-4)
