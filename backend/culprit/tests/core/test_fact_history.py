"""Spans of facts: in order they are runs of equal readings; in whatever order they never tell what nobody read."""

from __future__ import annotations

from itertools import groupby, pairwise

from culprit.core.fact_history import Span, noted
from hypothesis import given
from hypothesis import strategies as st

VALUE = st.sampled_from(["a", "b", None])


def note(spans: list[Span[int]], at: int, value: str | None) -> list[Span[int]]:
    """As the store does it: only the two neighbours are looked at."""
    before = max((one for one in spans if one.since_ns <= at), key=lambda one: one.since_ns, default=None)
    after = min((one for one in spans if one.since_ns > at), key=lambda one: one.since_ns, default=None)
    kept = [one for one in spans if one not in (before, after)]
    made = [
        one
        if one.key is not None
        else Span(one.value, one.since_ns, one.seen_ns, one.first, one.last, object())
        for one in noted(before, after, value, at, at)
    ]
    return sorted([*kept, *made], key=lambda one: one.since_ns)


@given(st.lists(VALUE, max_size=30))
def test_in_order_a_span_is_a_run_of_equal_readings(values: list[str | None]) -> None:
    spans: list[Span[int]] = []
    for at, value in enumerate(values):
        spans = note(spans, at, value)
    expected = [
        (value, run[0], run[-1])
        for value, group in groupby(enumerate(values), key=lambda one: one[1])
        for run in [[at for at, _ in group]]
    ]
    assert [(one.value, one.since_ns, one.seen_ns) for one in spans] == expected
    assert all((one.first, one.last) == (one.since_ns, one.seen_ns) for one in spans)


@given(st.dictionaries(st.integers(0, 40), VALUE, max_size=30), st.randoms(use_true_random=False))
def test_in_any_order_spans_hold_only_what_was_read(readings: dict[int, str | None], order) -> None:
    spans: list[Span[int]] = []
    told = list(readings.items())
    order.shuffle(told)
    for at, value in told:
        spans = note(spans, at, value)
    for one in spans:
        assert one.since_ns <= one.seen_ns
        assert readings[one.since_ns] == readings[one.seen_ns] == one.value
        assert (one.first, one.last) == (one.since_ns, one.seen_ns)
    for one, other in pairwise(spans):
        assert one.seen_ns < other.since_ns and one.value != other.value
    assert len({one.key for one in spans}) == len(spans), "a row is used once"


@given(st.lists(st.tuples(st.integers(0, 20), VALUE), max_size=20))
def test_the_same_reading_twice_changes_nothing(told: list[tuple[int, str | None]]) -> None:
    spans: list[Span[int]] = []
    for at, value in told:
        spans = note(spans, at, value)
        assert note(spans, at, value) == spans
