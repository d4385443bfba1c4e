"""What people see: lines and tables, with nothing in them that a terminal could take for a command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TextIO

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]


def clean(text: object) -> str:
    """Text without control characters: names on hosts may hold escape sequences."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def say_to(file: TextIO, text: object) -> None:
    """One line."""
    file.write(clean(text) + "\n")
    file.flush()


def print_json(value: Any) -> None:
    """One JSON value; control characters are escaped in it."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns, as wide as what is in them."""
    shown = [[clean("" if cell is None else cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[n]) for row in shown) for n in range(len(header))]
    for row in shown:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")
