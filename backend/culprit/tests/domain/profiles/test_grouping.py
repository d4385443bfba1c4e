"""Groups of rows with the same value."""

import numpy as np
import pytest
from culprit.domain.profiles.grouping import SPAN_MAX, group_values
from hypothesis import given
from hypothesis import strategies as st

near = st.lists(st.integers(-50, 50), max_size=60)
far = st.lists(st.integers(-(2**62), 2**62), max_size=60)


@given(near | far)
def test_groups_are_those_of_a_sort(values: list[int]) -> None:
    rows = np.array(values, np.int64)
    distinct, group = group_values(rows)
    assert distinct.tolist() == sorted(set(values))
    assert distinct[group].tolist() == values


@pytest.mark.parametrize("span", [SPAN_MAX - 1, SPAN_MAX])
def test_both_sides_of_the_largest_table(span: int) -> None:
    distinct, group = group_values(np.array([7 + span, 7, 7 + span], np.int64))
    assert distinct.tolist() == [7, 7 + span]
    assert group.tolist() == [1, 0, 1]
