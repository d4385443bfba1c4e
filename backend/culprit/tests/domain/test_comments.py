"""Comments as pure text: no hidden characters, and only intended mentions."""

from __future__ import annotations

import unicodedata

import pytest
from culprit.domain.text.mentions import clean_text, find_mentions, make_excerpt
from hypothesis import given
from hypothesis import strategies as st

NAMES = ["ada", "ada lovelace", "lena", "wei@home", "Ünal", "x.y-z"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@ada look", ["ada"]),
        ("(@lena)", ["lena"]),
        ("@ada lovelace, please", ["ada lovelace"]),
        ("@ada lovelaces", ["ada"]),
        ("@adam", []),
        ("mail ada@ada or x@lena", []),
        ("@wei@home @wei", ["wei@home"]),
        ("@ADA @ünal", ["ada", "Ünal"]),
        ("@x.y-z.", ["x.y-z"]),
        ("@@lena", []),
        ("@", []),
        ("no\n@lena\n", ["lena"]),
    ],
)
def test_who_is_named(text: str, named: list[str]) -> None:
    assert [mention.name for mention in find_mentions(text, NAMES)] == named


@given(st.text(alphabet="@ada lenwi.-_Ü\n", max_size=60))
def test_find_mentions_returns_exact_ranges_without_overlap(text: str) -> None:
    mentions = find_mentions(text, NAMES)
    for mention in mentions:
        assert (
            text[mention.begin] == "@"
            and text[mention.begin + 1 : mention.end].casefold() == mention.name.casefold()
        )
    assert all(a.end <= b.begin for a, b in zip(mentions, mentions[1:], strict=False))


@given(st.text(max_size=200))
def test_nothing_hides_in_a_text(text: str) -> None:
    stored = clean_text(text)
    assert clean_text(stored) == stored
    for item in stored:
        assert item in "\t\n" or unicodedata.category(item) != "Cc"
        assert item not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    assert "\n\n\n\n" not in stored and len(stored) <= len(text)


def test_markup_is_text() -> None:
    for text in ("<script>alert(1)</script>", "[x](javascript:alert(1))", "=cmd|' /C calc'!A0", "a & b"):
        assert clean_text(text) == text


def test_make_excerpt_returns_single_short_line() -> None:
    assert make_excerpt("a\n b\t\tc") == "a b c"
    assert len(make_excerpt("word " * 200)) <= 280 and make_excerpt("word " * 200).endswith("…")
