"""Maximum number of steps of a regular expression from one position, computed from its syntax tree.

The bound is that of a backtracking matcher: each possible backtrack multiplies the steps of what follows. If
it is finite, a text costs at most that many steps per character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from re import _constants as word  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MANY = 64
"""Nested repetitions above this depth count as unbounded."""


def most_steps(pattern: re.Pattern[str]) -> float:
    """Return the bound; infinite if nothing bounds it."""
    return _row(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))[0]


def _row(items: Iterable[tuple[Any, Any]]) -> tuple[float, float]:
    """Return (steps, alternatives) of a sequence:

    each item is repeated for every way in which earlier items can match.
    """
    steps, ways = 0.0, 1.0
    for kind, inside in items:
        its_steps, its_ways = _count_item(kind, inside)
        steps, ways = steps + ways * its_steps, ways * its_ways
    return steps, ways


def _count_item(kind: Any, inside: Any) -> tuple[float, float]:
    match kind:
        case word.MAX_REPEAT | word.MIN_REPEAT | word.POSSESSIVE_REPEAT:
            return _repeated(kind, *inside)
        case word.BRANCH:
            rows = [_row(each) for each in inside[1]]
            ways = [row[1] for row in rows]
            return sum(row[0] for row in rows), max(ways) if _exclude_each_other(inside[1]) else sum(ways)
        case word.SUBPATTERN:
            return _row(inside[3])
        case word.ATOMIC_GROUP:
            return _row(inside)[0], 1
        case word.ASSERT | word.ASSERT_NOT:
            return _row(inside[1])[0], 1
        case _:
            return 1, 1


def _repeated(kind: Any, least: int, most: Any, inside: Any) -> tuple[float, float]:
    steps, ways = _row(inside)
    top = inf if most is word.MAXREPEAT else most
    if kind is word.POSSESSIVE_REPEAT:
        return steps * top, 1
    if ways == 1:
        return steps * top, top - least + 1
    if top > MANY:
        return inf, inf
    return steps * sum(ways**n for n in range(top)), sum(ways**n for n in range(least, top + 1))


def _exclude_each_other(rows: Iterable[Any]) -> bool:
    """Return whether each alternative begins with a different letter."""
    begins = [chr(row[0][1]).lower() if len(row) and row[0][0] is word.LITERAL else "" for row in rows]
    return "" not in begins and len(set(begins)) == len(begins)
