"""Text from outside: bounded, visible, and the same when it is cleaned again."""

from __future__ import annotations

import pytest
from culprit.core.told_text import line, lines
from hypothesis import given
from hypothesis import strategies as st

ANY = st.text(st.characters(codec=None))


@given(ANY, st.integers(2, 300))
def test_a_line_is_one_bounded_line_that_can_be_seen(text: str, most: int) -> None:
    found = line(text, most)
    assert len(found) <= most
    assert all(one.isprintable() for one in found)
    assert line(found, most) == found
    found.encode("utf-8")


@given(ANY, st.integers(2, 300))
def test_lines_keep_their_breaks_and_nothing_else_that_moves_a_cursor(text: str, most: int) -> None:
    found = lines(text, most)
    assert len(found) <= most
    assert all(one.isprintable() or one == "\n" for one in found)
    assert lines(found, most) == found


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("  feed\t4f2a \n", "feed 4f2a"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("safe\u202egpj.exe", "safe\ufffdgpj.exe"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("部署 4f2a ✓", "部署 4f2a ✓"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("x" * 12, "xxxxxxxxx…"),
    ],
)
def test_what_becomes_of_it(given_: str, shown: str) -> None:
    assert line(given_, 10 if set(given_) == {"x"} else 100) == shown
