"""Cells of tables: numbers that are known, and rates between two readings of a counter."""

from __future__ import annotations

from math import isfinite

from collectors.parse.tokens import NAN

Cell = str | int | float | None


def known(value: float) -> float | None:
    """The number; None where it is no data, because a table holds no NaN."""
    return value if isfinite(value) else None


def count(value: float) -> int | None:
    """A whole number; None where it is no data."""
    return int(value) if isfinite(value) else None


def grown(before: float, after: float) -> float:
    """What was counted meanwhile; NaN where a reading lacks or the counter was reset."""
    return after - before if after >= before else NAN


def per_s(before: float, after: float, elapsed_s: float) -> float:
    """The rate of a counter; NaN where nobody can know it."""
    return grown(before, after) / elapsed_s if elapsed_s > 0 else NAN


def pct(part: float, whole: float) -> float:
    """100 * part / whole; NaN where the whole is nothing."""
    return 100.0 * part / whole if whole > 0 and part >= 0 else NAN
