"""A text with empty values has no empty brackets, no double space and no preposition without its object."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from culprit.domain.messages import LOCALES, load_messages
from culprit.domain.messages.fill import NO_VALUE, fill_text
from culprit.domain.rules.registry import RULES
from hypothesis import given
from hypothesis import strategies as st

CASES = json.loads((Path(__file__).parent / "fill_cases.json").read_text(encoding="utf-8"))
PLACE = re.compile(r"\{(\w+)\}")
SUMMARIES = [
    text for rule in RULES.values() for text in (rule.title, rule.summary, rule.caveats) if text is not None
]
TEMPLATES = sorted(
    {text for item in SUMMARIES for text in (item.en, item.zh)}
    | {text for locale in LOCALES for text in load_messages(locale).values()}
)
EMPTY = ("", " ", None)
HOLES = re.compile(
    r"[(\uff08][\s,;:/\u2013-]*[)\uff09]"
    r"|  "
    r"| [,.;:)]"
    r"|\b(?:about|after|at|before|between|by|for|from|in|into|of|on|than|through|to|with)\s*(?:[,.;:)(]|$)"
)


def list_holes(text: str) -> list[str]:
    """Return what is missing in a sentence: brackets around nothing, gaps, and prepositions before nothing."""
    return [match[0] for match in HOLES.finditer(text)]


@pytest.mark.parametrize("case", CASES, ids=[case["template"] for case in CASES])
def test_fill_text_leaves_empty_values_out(case: dict[str, object]) -> None:
    params = case["params"]
    assert isinstance(params, dict)
    assert fill_text(str(case["template"]), params) == case["text"]


@pytest.mark.parametrize("empty", EMPTY, ids=repr)
def test_no_message_of_the_product_has_a_hole_where_values_are_empty(empty: str | None) -> None:
    for template in TEMPLATES:
        names = sorted(set(PLACE.findall(template)))
        full = dict.fromkeys(names, "7")
        holes = list_holes(fill_text(template, full))
        for size in range(1, len(names) + 1):
            for absent in combinations(names, size):
                text = fill_text(template, {**full, **dict.fromkeys(absent, empty)})
                # "that it does not refer to ({id})." ends with a verb, with and without its brackets.
                assert len(list_holes(text)) <= len(holes), (template, absent, text)


def test_the_search_for_holes_finds_those_of_plain_replacement() -> None:
    """Without this law, texts of rules have such holes: the test above can fail."""
    for template in TEMPLATES:
        if "({frames})" in template or "（{frames}）" in template:
            assert list_holes(PLACE.sub("", template)) != list_holes(PLACE.sub("7", template))


WORDS = st.sampled_from(("of ", "by ", "in the log ", "waits ", "7 % ", "，", "的线程"))
PLACES = st.sampled_from(("{a}", "{b}", "{c} "))
PARTS = st.one_of(WORDS, PLACES, PLACES.map("({})".format), st.just(" ({a}, {b})"), st.just("（{c}）"))


@given(
    st.lists(PARTS, max_size=8).map("".join),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(("", " ", None, "x", 0, 2.5))),
)
def test_fill_text_never_leaves_empty_brackets(template: str, params: dict[str, object]) -> None:
    text = fill_text(template, params)
    assert not re.search(r"[(（][\s,\u2013]*[)）]", text)
    kept = {name for name in PLACE.findall(template) if name not in params}
    assert set(PLACE.findall(text)) == kept
    for name, value in params.items():
        if value not in EMPTY and f"{{{name}}}" in template:
            assert str(value) in text
        if value in EMPTY and template == f"{{{name}}}":
            assert text == NO_VALUE
