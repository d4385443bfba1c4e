"""JSON reports of other programs, read without trust: bounded, any shape, and lines that can be cited."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from collectors.contract import Part

MAX_BYTES = 64 << 20
"""A longer report is refused: it is held in memory, and its objects take some ten times as much."""

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

Json = dict[str, Any]


def decode_text(part: Part) -> str | None:
    """Return the text of a report without NUL, which the database cannot store; None if it is longer than MAX_BYTES."""
    data = part.read(MAX_BYTES + 1)
    return None if len(data) > MAX_BYTES else data.decode("utf-8-sig", "replace").replace("\0", REPLACEMENT)


def load_json(text: str) -> Any:
    """The value of a JSON text; None where it is none, or nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_mapping(value: object) -> Json:
    """`value` where it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_items(value: object) -> list[Json]:
    """Return the objects of a list. Other items are left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_number(value: object) -> float:
    """A number, also where it is written as text; NaN where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def number_or_none(value: float, digits: int = 3) -> float | None:
    """A number as a cell of a table: rounded, None for "no data"."""
    return round(value, digits) if math.isfinite(value) else None


def as_text(value: object, limit: int = 200) -> str:
    """Return a name of a report, at most `limit` characters; empty if there is none.

    NUL and single surrogates, which JSON can name by number and the database cannot store, are replaced.
    """
    return _UNSTORABLE.sub(REPLACEMENT, value[:limit]) if isinstance(value, str) else ""


class LineIndex:
    """1-based lines of places in a text, asked for in any order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.single = "\n" not in text.rstrip("\n")

    def at(self, place: int) -> int:
        """The line that the character at `place` is in."""
        return 1 if self.single else self.text.count("\n", 0, max(place, 0)) + 1

    def naming(self, name: str) -> int:
        """The first line that holds `name` as a JSON string; 1 where none does."""
        if self.single:
            return 1
        for spelling in (json.dumps(name, ensure_ascii=False), json.dumps(name)):
            place = self.text.find(spelling)
            if place >= 0:
                return self.at(place)
        return 1
