"""Every rule has its place in the USE grid."""

from __future__ import annotations

from culprit.core.rules import use
from culprit.core.rules.registry import RULES


def test_every_rule_has_one_place_or_says_that_it_has_none() -> None:
    placed = set(use.PLACES)
    assert set(RULES) - placed - use.WITHOUT_PLACE == set(), "say where in core/rules/use.py these belong"
    assert (placed | use.WITHOUT_PLACE) - set(RULES) == set(), "these rules do not exist any more"
    assert placed & use.WITHOUT_PLACE == set()


def test_no_rule_is_named_twice() -> None:
    named = [rule for row in use._GRID.values() for names in row.values() for rule in names.split()]
    assert len(named) == len(set(named))


def test_every_column_has_a_rule_that_asks_it() -> None:
    asked = {(place.resource, place.letter) for place in use.PLACES.values()}
    assert asked == {(resource, letter) for resource in use.RESOURCES for letter in use.LETTERS}
