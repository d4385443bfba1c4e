"""The reader of what our own scripts print as tables: a line of names, then lines of values, all parted by tabs.

A line of names begins with a word that names the table (`process<tab>pid<tab>comm`). The lines below it begin
with a tag of at most two characters and hold the values in the order of those names, until the next line of names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Part, Sentence
from collectors.parse.tokens import decimal, whole, words

_MAX_LINES = 50_000
_MAX_TABLES = 20
_MAX_TAG = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One line of values by name; absent names are empty."""

    line: int
    values: Mapping[str, bytes]

    def raw(self, name: str) -> bytes:
        """The bytes as they came."""
        return self.values.get(name, b"")

    def text(self, name: str, limit: int = 200) -> str:
        """As it may be shown."""
        return words(self.raw(name), limit)

    def whole(self, name: str) -> int | None:
        """A number made of digits."""
        return whole(self.raw(name))

    def number(self, name: str) -> float | None:
        """A number that is not negative; None for anything else: what counts up and fell was reset."""
        value = decimal(self.raw(name))
        return value if value >= 0 else None


@dataclass(frozen=True, slots=True)
class Tagged:
    """All tables of one artifact."""

    tables: Mapping[str, Sequence[Row]]
    warnings: tuple[Sentence, ...]

    def of(self, name: str) -> Sequence[Row]:
        """The rows of one table; none where it is not there."""
        return self.tables.get(name, ())


def read(parts: Mapping[str, Part], limit: int) -> Tagged:
    """The tables of the part `stdout`. Lines with another number of values than names are left out and counted."""
    part = parts.get("stdout")
    if part is None:
        return Tagged({}, (Sentence("warning.part_missing", {"part": "stdout"}),))
    tables: dict[str, list[Row]] = {}
    names: list[str] = []
    rows: list[Row] | None = None
    unreadable = 0
    for number, line in enumerate(part.read(limit).split(b"\n")[:_MAX_LINES], 1):
        head, *cells = line.split(b"\t")
        if not line:
            continue
        if len(head) > _MAX_TAG and cells and len(tables) < _MAX_TABLES:
            names = [words(cell, 60) for cell in cells[:100]]
            rows = tables.setdefault(words(head, 60), [])
        elif rows is not None and len(head) <= _MAX_TAG and len(cells) == len(names):
            rows.append(Row(number, dict(zip(names, cells, strict=True))))
        else:
            unreadable += 1
    warnings = (Sentence("warning.lines_unreadable", {"count": unreadable}),) if unreadable else ()
    return Tagged(tables, warnings)
