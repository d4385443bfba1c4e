"""Tables of text whose header names the columns: vmstat's own, and iostat's where it has no JSON."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from collectors.parse.tables.tokens import parse_amount


def parse_row(header: Sequence[bytes], tokens: Sequence[bytes]) -> dict[str, float] | None:
    """The numbers of one line by its header's names; None where counts differ or a cell is no amount."""
    if len(header) != len(tokens):
        return None
    values = [parse_amount(token) for token in tokens]
    if any(map(isnan, values)):
        return None
    return {name.decode("ascii", "replace"): value for name, value in zip(header, values, strict=True)}
