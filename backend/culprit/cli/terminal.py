"""Print lines and tables without control characters."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TextIO

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]


def sanitize_text(text: object) -> str:
    """Replace control characters, because names on hosts may contain escape sequences."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def print_line(file: TextIO, text: object) -> None:
    """Write one line to `file`."""
    file.write(sanitize_text(text) + "\n")
    file.flush()


def print_json(value: Any) -> None:
    """Print one JSON value with control characters escaped."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print aligned columns."""
    cells = [[sanitize_text("" if cell is None else cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(header))]
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")
