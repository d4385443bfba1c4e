"""How many steps a regular expression may do from one place, by its tree: no clock, and no text that must be thought of.

The bound is that of a matcher that goes back: what it may give back multiplies what stands behind it. Where it is a
number, a text costs at most so many steps for each of its characters, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from re import _constants as word  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MANY = 64
"""Repeats of something that itself may give back; beyond that the bound is told as endless."""


def most_steps(pattern: re.Pattern[str]) -> float:
    """The bound; infinite where nothing bounds it."""
    return _row(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))[0]


def _row(items: Iterable[tuple[Any, Any]]) -> tuple[float, float]:
    """(steps, ways) of what stands in a row: each is done again for every way in which those before it can match."""
    steps, ways = 0.0, 1.0
    for kind, inside in items:
        its_steps, its_ways = _one(kind, inside)
        steps, ways = steps + ways * its_steps, ways * its_ways
    return steps, ways


def _one(kind: Any, inside: Any) -> tuple[float, float]:
    match kind:
        case word.MAX_REPEAT | word.MIN_REPEAT | word.POSSESSIVE_REPEAT:
            return _repeated(kind, *inside)
        case word.BRANCH:
            rows = [_row(each) for each in inside[1]]
            ways = [one[1] for one in rows]
            return sum(one[0] for one in rows), max(ways) if _exclude_each_other(inside[1]) else sum(ways)
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
    """Whether each alternative begins with a letter of its own."""
    begins = [chr(row[0][1]).lower() if len(row) and row[0][0] is word.LITERAL else "" for row in rows]
    return "" not in begins and len(set(begins)) == len(begins)
