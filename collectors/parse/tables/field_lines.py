"""Lines of named fields, as our own scripts print them: `tag<TAB>name=value<TAB>name=value`.

Each script that reads a tool's output on the host (because not all of it may leave the host, or because it is large)
prints such lines, so that every version of a tool ends in one format and columns are read by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from collectors.contract import Column, Parsed, Part, Sentence, Table
from collectors.parse.tables.tokens import parse_decimal, to_text

_MAX_LINE = 8_192
_MAX_FIELDS = 40
_MAX_TEXT = 300

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class FieldLine:
    """One line: its tag, its fields as text, and its number (1-based)."""

    tag: str
    fields: Mapping[str, bytes]
    number: int

    def text(self, name: str, limit: int = _MAX_TEXT) -> str:
        """The field as text for people; empty where the line lacks it."""
        return to_text(self.fields.get(name, b""), limit)

    def value(self, name: str) -> float:
        """The field as a number; NaN where it is none."""
        return parse_decimal(self.fields.get(name, b""))

    def whole(self, name: str) -> int | None:
        """The field as a whole number; None where it is none, or too great to be true."""
        value = self.value(name)
        return int(value) if abs(value) < 1 << 53 and value == int(value) else None


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """One column of a table and the field that it is read from: the same name, unless `source` is another."""

    id: str
    unit: str = ""
    number: bool = True
    source: str = ""

    def cell(self, line: FieldLine) -> Cell:
        """The cell of one row; None for a number that is not there."""
        name = self.source or self.id
        if not self.number:
            return line.text(name)
        whole = line.whole(name)
        if whole is not None:
            return whole
        value = line.value(name)
        return value if math.isfinite(value) else None


def iterate_lines(part: Part, max_lines: int) -> Iterator[FieldLine]:
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
                fields = {to_text(name, 60): value for name, equals, value in pairs if equals}
                yield FieldLine(tag.decode("ascii"), fields, number)


def read_field_lines(
    parts: Mapping[str, Part], tags: Iterable[str], name: str = "stdout", max_lines: int = 20_000
) -> dict[str, list[FieldLine]] | None:
    """The lines of a part by tag, for the tags that are asked for; None where the part is missing."""
    part = parts.get(name)
    if part is None:
        return None
    field_lines: dict[str, list[FieldLine]] = {tag: [] for tag in tags}
    for line in iterate_lines(part, max_lines):
        if line.tag in field_lines:
            field_lines[line.tag].append(line)
    return field_lines


def report_missing_part(name: str = "stdout") -> Parsed:
    """Return the result of a parser whose part is missing."""
    return Parsed(warnings=(Sentence("warning.part_missing", {"part": name}),), readable=False)


def build_parsed(field_lines: Mapping[str, list[FieldLine]], **yielded: object) -> Parsed:
    """What was read; a part without a single known line counts as unreadable."""
    if any(field_lines.values()):
        return Parsed(**yielded)  # type: ignore[arg-type]
    return Parsed(warnings=(Sentence("warning.nothing_known", {"part": "stdout"}),), readable=False)


def build_table(
    kind: str, rows: list[FieldLine], fields: tuple[FieldColumn, ...], max_rows: int = 1_000
) -> tuple[Table, ...]:
    """One table out of lines, as a tuple of one; none where there is no row."""
    stored_rows = rows[:max_rows]
    if not stored_rows:
        return ()
    columns = tuple(Column(field.id, field.unit) for field in fields)
    cells = tuple(tuple(field.cell(line) for field in fields) for line in stored_rows)
    return (Table(kind, columns, cells, lines=tuple(line.number for line in stored_rows)),)
