"""Arrays of JSON objects as iproute2 prints them, each with the line on which it begins.

Objects are read one by one, so that text which was cut still yields those that came before the cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from collectors.parse.limits import printable
from collectors.parse.sampled import Snapshot
from collectors.parse.tokens import NAN

Object = Mapping[str, object]

_BETWEEN = "[, \t\r\n"
_MAX_CHARACTERS = 16 << 20
_MAX_NUMBER = float(1 << 62)


def objects(snapshot: Snapshot, limit: int) -> Iterator[tuple[Object, int]]:
    """At most `limit` objects of the array, with their 1-based lines in the part."""
    text = snapshot.body[:_MAX_CHARACTERS].decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at, line, counted_to = 0, snapshot.line, 0
    for _ in range(limit):
        while at < len(text) and text[at] in _BETWEEN:
            at += 1
        if not text.startswith("{", at):
            return
        line += text.count("\n", counted_to, at)
        counted_to = at
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield found, line


def inner(one: Object, *path: str) -> Object:
    """The object that stands at `path`; an empty one where there is none."""
    found: object = one
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def number(one: Object, name: str) -> float:
    """A number that is not absurd; NaN for anything else."""
    value = one.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NAN
    return float(value) if -_MAX_NUMBER < value < _MAX_NUMBER else NAN


def text(one: Object, name: str, limit: int = 64) -> str:
    """A text as it may be shown; "" for anything else."""
    value = one.get(name)
    return printable(value)[:limit] if isinstance(value, str) else ""
