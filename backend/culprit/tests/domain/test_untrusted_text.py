"""Text from outside: bounded, visible, and the same when it is cleaned again."""

from __future__ import annotations

import pytest
from culprit.domain.text.sanitize import replace_hidden, sanitize_line, sanitize_lines
from hypothesis import given
from hypothesis import strategies as st

ANY = st.text(st.characters(codec=None))


@given(ANY, st.integers(2, 300))
def test_sanitize_line_returns_bounded_printable_line(text: str, most: int) -> None:
    result = sanitize_line(text, most)
    assert len(result) <= most
    assert all(item.isprintable() for item in result)
    assert sanitize_line(result, most) == result
    result.encode("utf-8")


@given(ANY, st.integers(2, 300))
def test_lines_keep_their_breaks_and_nothing_else_that_moves_a_cursor(text: str, most: int) -> None:
    result = sanitize_lines(text, most)
    assert len(result) <= most
    assert all(item.isprintable() or item == "\n" for item in result)
    assert sanitize_lines(result, most) == result


@pytest.mark.parametrize(
    ("line", "expected"),
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
def test_what_becomes_of_it(line: str, expected: str) -> None:
    assert sanitize_line(line, 10 if set(line) == {"x"} else 100) == expected


@pytest.mark.parametrize("code", [0x00, 0x07, 0x1B, 0x7F, 0x85, 0x9B, 0x061C, 0x200F, 0x202E, 0x2066, 0xFEFF])
def test_replace_hidden_replaces_what_hides_or_turns_text(code: int) -> None:
    assert replace_hidden(f"a{chr(code)}b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["部署", "שלום", "\U0001f469\u200d\U0001f692", "<b>&amp;"])
def test_replace_hidden_keeps_other_text(text: str) -> None:
    assert replace_hidden(text) == text
