"""The catalogue is sound, and a broken file is told what is wrong with it."""

from __future__ import annotations

import re

import pytest
from culprit.core.playbooks.engine import walk
from culprit.core.rules.registry import RULES
from culprit.kit.sentences import catalogue
from culprit.playbooks.library import CATALOG, MAX_BYTES, check, library, told

FILES = sorted(CATALOG.glob("*.yaml"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SOUND = FILES[0].read_text("utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_sound_and_called_like_its_file(path) -> None:
    found = check(path.read_text("utf-8"))
    assert [told(one) for one in found.problems] == []
    assert found.playbook is not None and found.playbook.id == path.stem


@pytest.mark.parametrize("name", sorted(library()))
def test_each_is_written_in_both_languages_and_can_be_walked(name: str) -> None:
    playbook = library()[name]
    for text in (playbook.title, playbook.symptom, *playbook.covered, *playbook.not_covered):
        assert text.en and CHINESE.search(text.zh), text
    for step in playbook.steps:
        assert CHINESE.search(step.asks.zh), step.id
    chain = walk(playbook, [], RULES)
    assert set(chain.gaps) == set(chain.path), "nothing was collected, and nothing is told"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a: [", "not_yaml"),
        ("x" * (MAX_BYTES + 1), "too_large"),
        ("a: &b [1]\nc: *b", "alias"),
        ("[]", "shape"),
        (SOUND + "\ntypo: 1", "shape"),
        (SOUND.replace("\nkind: ", "\nkind: un"), "shape"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(text: str, key: str) -> None:
    found = check(text)
    assert found.playbook is None and f"playbook.{key}" in [one.what.key for one in found.problems]
    assert all(one.what.key in catalogue("en") for one in found.problems)
