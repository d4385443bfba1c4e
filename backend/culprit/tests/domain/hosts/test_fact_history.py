"""Tests of fact spans: each span holds only values that were read, in any order of readings."""

from __future__ import annotations

from itertools import groupby, pairwise

from culprit.domain.hosts.fact_history import FactSpan, add_reading
from hypothesis import given
from hypothesis import strategies as st

VALUE = st.sampled_from(["a", "b", None])


def add_to_history(spans: list[FactSpan[int]], at: int, value: str | None) -> list[FactSpan[int]]:
    """Add a reading as the store does: it reads only the adjacent spans."""
    before = max(
        (span for span in spans if span.since_ns <= at), key=lambda span: span.since_ns, default=None
    )
    after = min((span for span in spans if span.since_ns > at), key=lambda span: span.since_ns, default=None)
    stored_spans = [span for span in spans if span not in (before, after)]
    fact_spans = [
        item
        if item.key is not None
        else FactSpan(item.value, item.since_ns, item.seen_ns, item.first, item.last, object())
        for item in add_reading(before, after, value, at, at)
    ]
    return sorted([*stored_spans, *fact_spans], key=lambda span: span.since_ns)


@given(st.lists(VALUE, max_size=30))
def test_ordered_readings_make_spans_of_equal_values(values: list[str | None]) -> None:
    spans: list[FactSpan[int]] = []
    for at, value in enumerate(values):
        spans = add_to_history(spans, at, value)
    expected = [
        (value, run[0], run[-1])
        for value, group in groupby(enumerate(values), key=lambda item: item[1])
        for run in [[at for at, _ in group]]
    ]
    assert [(span.value, span.since_ns, span.seen_ns) for span in spans] == expected
    assert all((span.first, span.last) == (span.since_ns, span.seen_ns) for span in spans)


@given(st.dictionaries(st.integers(0, 40), VALUE, max_size=30), st.randoms(use_true_random=False))
def test_unordered_readings_make_only_read_spans(readings: dict[int, str | None], order) -> None:
    spans: list[FactSpan[int]] = []
    shuffled_readings = list(readings.items())
    order.shuffle(shuffled_readings)
    for at, value in shuffled_readings:
        spans = add_to_history(spans, at, value)
    for span in spans:
        assert span.since_ns <= span.seen_ns
        assert readings[span.since_ns] == readings[span.seen_ns] == span.value
        assert (span.first, span.last) == (span.since_ns, span.seen_ns)
    for span, other in pairwise(spans):
        assert span.seen_ns < other.since_ns and span.value != other.value
    assert len({span.key for span in spans}) == len(spans), "a row is used once"


@given(st.lists(st.tuples(st.integers(0, 20), VALUE), max_size=20))
def test_repeated_reading_changes_nothing(readings: list[tuple[int, str | None]]) -> None:
    spans: list[FactSpan[int]] = []
    for at, value in readings:
        spans = add_to_history(spans, at, value)
        assert add_to_history(spans, at, value) == spans
