"""Keep the history of host facts as spans: a value with its first and last reading. Pure.

A value that is read again extends its span. The change between two spans happened at an unknown time between the
last reading of one and the first reading of the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

Source = TypeVar("Source")
"""The source of a reading, such as a line of an artifact. It is stored and not inspected."""


@dataclass(frozen=True, slots=True)
class FactSpan(Generic[Source]):
    """A value (None: absent) with the times and sources of its first and last reading.

    `key` is the database row of the span, None if it has no row yet.
    """

    value: str | None
    since_ns: int
    seen_ns: int
    first: Source
    last: Source
    key: object | None = None


def add_reading(
    before: FactSpan[Source] | None,
    after: FactSpan[Source] | None,
    value: str | None,
    at_ns: int,
    source: Source,
) -> tuple[FactSpan[Source], ...]:
    """Return the spans that replace `before` (the last span that starts by `at_ns`) and `after` (the next one).

    A late reading that contradicts the span around it splits that span. Only the first and the last reading of the
    span are stored, so each part keeps one of them.
    """
    fresh = FactSpan(value, at_ns, at_ns, source, source)
    if before is None or before.seen_ns < at_ns:
        return tuple(_merge_equal_spans(before for before in (before, fresh, after) if before is not None))
    if before.value == value:
        return tuple(before for before in (before, after) if before is not None)
    left = replace(before, seen_ns=before.since_ns, last=before.first) if before.since_ns < at_ns else None
    right = (
        replace(before, since_ns=before.seen_ns, first=before.last, key=None)
        if at_ns < before.seen_ns
        else None
    )
    if left is None:
        # Without a left part, its row is reused for the right part or for the new value.
        right, fresh = (
            (replace(right, key=before.key), fresh) if right else (None, replace(fresh, key=before.key))
        )
    return tuple(_merge_equal_spans(left for left in (left, fresh, right, after) if left is not None))


def _merge_equal_spans(spans: Iterable[FactSpan[Source]]) -> Iterator[FactSpan[Source]]:
    """Merge adjacent spans of one value; the merged span keeps the row of the span that has one."""
    held: FactSpan[Source] | None = None
    for span in spans:
        if held is None or held.value != span.value:
            if held is not None:
                yield held
            held = span
        else:
            key = held.key if held.key is not None else span.key
            held = replace(held, seen_ns=span.seen_ns, last=span.last, key=key)
    if held is not None:
        yield held
