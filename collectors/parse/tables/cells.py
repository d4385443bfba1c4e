"""Cells of tables: numbers that are known, and rates between two readings of a counter."""

from __future__ import annotations

from math import isfinite

from collectors.parse.tables.tokens import NAN

Cell = str | int | float | None


def number_or_none(value: float) -> float | None:
    """The number; None where it is no data, because a table holds no NaN."""
    return value if isfinite(value) else None


def count_or_none(value: float) -> int | None:
    """A whole number; None where it is no data."""
    return int(value) if isfinite(value) else None


def counter_increase(before: float, after: float) -> float:
    """Return the increase of a counter, or NaN if a reading is missing or the counter was reset."""
    return after - before if after >= before else NAN


def counter_rate(before: float, after: float, elapsed_s: float) -> float:
    """Return the rate of a counter, or NaN if it is unknown."""
    return counter_increase(before, after) / elapsed_s if elapsed_s > 0 else NAN


def compute_pct(part: float, whole: float) -> float:
    """100 * part / whole; NaN where the whole is nothing."""
    return 100.0 * part / whole if whole > 0 and part >= 0 else NAN
