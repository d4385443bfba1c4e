"""Numbers of findings about real hosts can be computed again from the lines that they cite."""

from __future__ import annotations

from pathlib import Path

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.registry import RULES
from culprit.tests.domain.rules.cited_rows import collect_cited, find_again, is_repeated, keep_cited

from bench.accuracy.corpus import merge_views, read_round
from bench.accuracy.replay import CORPUS

#: Each round takes a second.
ROUNDS = sorted(CORPUS.glob("*.tar.zst"))[::12]


@pytest.mark.parametrize("path", ROUNDS, ids=lambda path: path.name.partition(".")[0])
def test_a_number_comes_from_its_cited_lines_alone(path: Path) -> None:
    view = merge_views([run.parse() for run in read_round(path).runs])
    numbers = [
        (number, item)
        for finding in evaluate_rules(RULES.values(), view)
        if finding.state == "matched"
        for number in finding.numbers
        for item in find_again(view, number, finding.subject)
    ]
    assert numbers
    for number, item in numbers:
        reduced = keep_cited(view, collect_cited(item.citations))
        assert is_repeated(reduced, number, item), (number.measure, item.subject)
