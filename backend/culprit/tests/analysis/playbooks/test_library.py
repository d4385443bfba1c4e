"""Tests of the playbook catalog and of invalid files."""

from __future__ import annotations

import re

import pytest
from culprit.analysis.playbooks.library import CATALOG, MAX_BYTES, check_text, format_problem, load_catalog
from culprit.domain.messages import load_messages
from culprit.domain.playbooks.engine import evaluate_playbook
from culprit.domain.rules.registry import RULES

FILES = sorted(CATALOG.glob("*.yaml"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SOUND = FILES[0].read_text("utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_catalog_file_is_valid_and_named_by_id(path) -> None:
    text = check_text(path.read_text("utf-8"))
    assert [format_problem(problem) for problem in text.problems] == []
    assert text.playbook is not None and text.playbook.id == path.stem


@pytest.mark.parametrize("name", sorted(load_catalog()))
def test_catalog_playbook_has_both_languages(name: str) -> None:
    playbook = load_catalog()[name]
    for text in (playbook.title, playbook.symptom, *playbook.covered, *playbook.not_covered):
        assert text.en and CHINESE.search(text.zh), text
    for step in playbook.steps:
        assert CHINESE.search(step.question.zh), step.id
    chain = evaluate_playbook(playbook, [], RULES)
    assert set(chain.gaps) == set(chain.path), "nothing was collected, so nothing is reported"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a: [", "not_yaml"),
        ("x" * (MAX_BYTES + 1), "too_large"),
        ("a: &b [1]\nc: *b", "alias"),
        ("[]", "invalid_field"),
        (SOUND + "\ntypo: 1", "invalid_field"),
        (SOUND.replace("\nkind: ", "\nkind: un"), "invalid_field"),
    ],
)
def test_check_text_reports_invalid_file(text: str, key: str) -> None:
    matching_text = check_text(text)
    assert matching_text.playbook is None and f"playbook.{key}" in [
        problem.what.key for problem in matching_text.problems
    ]
    assert all(problem.what.key in load_messages("en") for problem in matching_text.problems)
