"""The reader of what our own scripts print as tables: a line of names, then lines of values, all parted by tabs.

A line of names begins with a word that names the table (`process<tab>pid<tab>comm`). The lines below it begin
with a tag of at most two characters and hold the values in the order of those names, until the next line of names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Part, Sentence
from collectors.parse.tables.tokens import parse_decimal, parse_whole, to_text

_MAX_LINES = 50_000
_MAX_TABLES = 20
_MAX_TAG = 2


@dataclass(frozen=True, slots=True)
class TaggedRow:
    """One line of values by name; absent names are empty."""

    line: int
    values: Mapping[str, bytes]

    def raw(self, name: str) -> bytes:
        """The bytes as they came."""
        return self.values.get(name, b"")

    def text(self, name: str, limit: int = 200) -> str:
        """As it may be shown."""
        return to_text(self.raw(name), limit)

    def whole(self, name: str) -> int | None:
        """A number made of digits."""
        return parse_whole(self.raw(name))

    def number(self, name: str) -> float | None:
        """A number that is not negative; None for anything else: what counts up and fell was reset."""
        value = parse_decimal(self.raw(name))
        return value if value >= 0 else None


@dataclass(frozen=True, slots=True)
class TaggedTables:
    """All tables of one artifact."""

    tables: Mapping[str, Sequence[TaggedRow]]
    warnings: tuple[Sentence, ...]

    def of(self, name: str) -> Sequence[TaggedRow]:
        """The rows of one table; none where it is not there."""
        return self.tables.get(name, ())


def read_tagged_tables(parts: Mapping[str, Part], limit: int) -> TaggedTables:
    """The tables of the part `stdout`. Lines with another number of values than names are left out and counted."""
    part = parts.get("stdout")
    if part is None:
        return TaggedTables({}, (Sentence("warning.part_missing", {"part": "stdout"}),))
    tables: dict[str, list[TaggedRow]] = {}
    names: list[str] = []
    rows: list[TaggedRow] | None = None
    unreadable = 0
    for number, line in enumerate(part.read(limit).split(b"\n")[:_MAX_LINES], 1):
        head, *cells = line.split(b"\t")
        if not line:
            continue
        if len(head) > _MAX_TAG and cells and len(tables) < _MAX_TABLES:
            names = [to_text(cell, 60) for cell in cells[:100]]
            rows = tables.setdefault(to_text(head, 60), [])
        elif rows is not None and len(head) <= _MAX_TAG and len(cells) == len(names):
            rows.append(TaggedRow(number, dict(zip(names, cells, strict=True))))
        else:
            unreadable += 1
    warnings = (Sentence("warning.lines_unreadable", {"count": unreadable}),) if unreadable else ()
    return TaggedTables(tables, warnings)
