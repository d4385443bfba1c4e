"""What was true of a host from when to when: values of facts as spans between the readings that saw them. Pure.

A span is kept once however often it is seen again: it begins with the first reading that found a value and ends with
the last one that still did. Between two spans of a name lies the change; nobody read it there, so that is all that is
known of when it happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

Place = TypeVar("Place")
"""Where a reading stands, as a line of an artifact; nothing is done with it here but to keep it."""


@dataclass(frozen=True, slots=True)
class Span(Generic[Place]):
    """A value (None: the thing was not there), the first and the last reading that found it, and where they stand.

    `key` names the row that holds the span, None where there is none yet.
    """

    value: str | None
    since_ns: int
    seen_ns: int
    first: Place
    last: Place
    key: object | None = None


def noted(
    before: Span[Place] | None, after: Span[Place] | None, value: str | None, at_ns: int, place: Place
) -> tuple[Span[Place], ...]:
    """What takes the place of `before` (the last span that began by `at_ns`) and `after` (the next one).

    A reading that comes late, and contradicts a span that it lies in, cuts it: of the readings of that span only the
    two at its ends are still known, so what is left are these.
    """
    fresh = Span(value, at_ns, at_ns, place, place)
    if before is None or before.seen_ns < at_ns:
        return tuple(_joined(one for one in (before, fresh, after) if one is not None))
    if before.value == value:
        return tuple(one for one in (before, after) if one is not None)
    left = replace(before, seen_ns=before.since_ns, last=before.first) if before.since_ns < at_ns else None
    right = (
        replace(before, since_ns=before.seen_ns, first=before.last, key=None)
        if at_ns < before.seen_ns
        else None
    )
    if left is None:
        # The row that is not cut in two is used again: for the rest, or for what is known better now.
        right, fresh = (
            (replace(right, key=before.key), fresh) if right else (None, replace(fresh, key=before.key))
        )
    return tuple(_joined(one for one in (left, fresh, right, after) if one is not None))


def _joined(spans: Iterable[Span[Place]]) -> Iterator[Span[Place]]:
    """Neighbours of one value as one span, which keeps the row of the one that has one."""
    held: Span[Place] | None = None
    for one in spans:
        if held is None or held.value != one.value:
            if held is not None:
                yield held
            held = one
        else:
            key = held.key if held.key is not None else one.key
            held = replace(held, seen_ns=one.seen_ns, last=one.last, key=key)
    if held is not None:
        yield held
