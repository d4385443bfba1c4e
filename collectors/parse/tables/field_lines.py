"""Lines of named fields, as our own scripts print them: `tag<TAB>name=value<TAB>name=value`.

Whatever reads a tool's output on the host (because not all of it may leave the host, or because it is large)
prints such lines, so that every version of a tool ends in one format and columns are read by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from collectors.contract import Column, Parsed, Part, Sentence, Table
from collectors.parse.tokens import decimal, words

_MAX_LINE = 8_192
_MAX_FIELDS = 40
_MAX_TEXT = 300

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its tag, its fields as text, and where it stands (1-based)."""

    tag: str
    fields: Mapping[str, bytes]
    number: int

    def text(self, name: str, limit: int = _MAX_TEXT) -> str:
        """The field as text for people; empty where the line lacks it."""
        return words(self.fields.get(name, b""), limit)

    def value(self, name: str) -> float:
        """The field as a number; NaN where it is none."""
        return decimal(self.fields.get(name, b""))

    def whole(self, name: str) -> int | None:
        """The field as a whole number; None where it is none, or too great to be true."""
        value = self.value(name)
        return int(value) if abs(value) < 1 << 53 and value == int(value) else None


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a table and the field that it is read from: the same name, unless `source` is another."""

    id: str
    unit: str = ""
    number: bool = True
    source: str = ""

    def cell(self, line: Line) -> Cell:
        """The cell of one row; None for a number that is not there."""
        name = self.source or self.id
        if not self.number:
            return line.text(name)
        whole = line.whole(name)
        if whole is not None:
            return whole
        value = line.value(name)
        return value if math.isfinite(value) else None


def lines(part: Part, max_lines: int) -> Iterator[Line]:
    """The lines of a part one by one, so that a great part takes no more memory than a small one."""
    with part.open() as stream:
        number = 0
        while number < max_lines:
            raw = stream.readline(_MAX_LINE)
            if not raw:
                return
            number += 1
            whole = raw.endswith(b"\n")
            tag, *pieces = raw.rstrip(b"\r\n").split(b"\t", _MAX_FIELDS)
            while not whole:
                rest = stream.readline(_MAX_LINE)
                whole = not rest or rest.endswith(b"\n")
            if 0 < len(tag) <= 40 and tag.isascii():
                pairs = (piece.partition(b"=") for piece in pieces)
                fields = {words(name, 60): value for name, equals, value in pairs if equals}
                yield Line(tag.decode("ascii"), fields, number)


def read(
    parts: Mapping[str, Part], tags: Iterable[str], name: str = "stdout", max_lines: int = 20_000
) -> dict[str, list[Line]] | None:
    """The lines of a part by tag, for the tags that are asked for; None where the part is missing."""
    part = parts.get(name)
    if part is None:
        return None
    found: dict[str, list[Line]] = {tag: [] for tag in tags}
    for line in lines(part, max_lines):
        if line.tag in found:
            found[line.tag].append(line)
    return found


def missing(name: str = "stdout") -> Parsed:
    """What a parser yields whose part did not come home."""
    return Parsed(warnings=(Sentence("warning.part_missing", {"part": name}),), readable=False)


def ended(found: Mapping[str, list[Line]], **yielded: object) -> Parsed:
    """What was read; a part without a single known line counts as unreadable."""
    if any(found.values()):
        return Parsed(**yielded)  # type: ignore[arg-type]
    return Parsed(warnings=(Sentence("warning.nothing_known", {"part": "stdout"}),), readable=False)


def table(kind: str, rows: list[Line], fields: tuple[Field, ...], max_rows: int = 1_000) -> tuple[Table, ...]:
    """One table out of lines, as a tuple of one; none where there is no row."""
    kept = rows[:max_rows]
    if not kept:
        return ()
    columns = tuple(Column(one.id, one.unit) for one in fields)
    cells = tuple(tuple(one.cell(line) for one in fields) for line in kept)
    return (Table(kind, columns, cells, lines=tuple(line.number for line in kept)),)
