"""Arrays of JSON objects as iproute2 prints them, each with the line on which it begins.

Objects are read one by one, so that text which was cut still yields those that came before the cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables.tokens import NAN
from collectors.profiles.limits import to_printable

Object = Mapping[str, object]

_BETWEEN = "[, \t\r\n"
_MAX_CHARACTERS = 16 << 20
_MAX_NUMBER = float(1 << 62)


def iterate_objects(snapshot: Snapshot, limit: int) -> Iterator[tuple[Object, int]]:
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
            result, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield result, line


def get_object(item: Object, *path: str) -> Object:
    """Return the object at `path`, or an empty one."""
    matching_object: object = item
    for name in path:
        matching_object = matching_object.get(name) if isinstance(matching_object, Mapping) else None
    return matching_object if isinstance(matching_object, Mapping) else {}


def get_number(item: Object, name: str) -> float:
    """A number that is not absurd; NaN for anything else."""
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NAN
    return float(value) if -_MAX_NUMBER < value < _MAX_NUMBER else NAN


def get_text(item: Object, name: str, limit: int = 64) -> str:
    """A text as it may be shown; "" for anything else."""
    value = item.get(name)
    return to_printable(value)[:limit] if isinstance(value, str) else ""
