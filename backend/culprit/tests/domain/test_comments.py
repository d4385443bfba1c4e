"""Comments as pure text: nothing hidden in them, and nobody named who was not meant."""

from __future__ import annotations

import unicodedata

import pytest
from culprit.core.comments import clean, excerpt, mentions
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
    assert [one.name for one in mentions(text, NAMES)] == named


@given(st.text(alphabet="@ada lenwi.-_Ü\n", max_size=60))
def test_mentions_stand_where_they_say_and_never_overlap(text: str) -> None:
    found = mentions(text, NAMES)
    for one in found:
        assert text[one.begin] == "@" and text[one.begin + 1 : one.end].casefold() == one.name.casefold()
    assert all(a.end <= b.begin for a, b in zip(found, found[1:], strict=False))


@given(st.text(max_size=200))
def test_nothing_hides_in_a_text(text: str) -> None:
    kept = clean(text)
    assert clean(kept) == kept
    for one in kept:
        assert one in "\t\n" or unicodedata.category(one) != "Cc"
        assert one not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    assert "\n\n\n\n" not in kept and len(kept) <= len(text)


def test_markup_is_text() -> None:
    for text in ("<script>alert(1)</script>", "[x](javascript:alert(1))", "=cmd|' /C calc'!A0", "a & b"):
        assert clean(text) == text


def test_an_excerpt_is_one_short_line() -> None:
    assert excerpt("a\n b\t\tc") == "a b c"
    assert len(excerpt("word " * 200)) <= 280 and excerpt("word " * 200).endswith("…")
