"""Build figures: numbers from table rows and series, each with the citation of its source lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collectors.contract import Times, Values
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import TableRow, ViewSeries

#: Maximum number of source lines in a citation.
MAX_LINES = 12
MAX_PORT = 65535


def make_figure(value: float | None, unit: str, citation: Citation) -> Figure | None:
    """Return the figure of a finite number, or None."""
    return None if value is None or not math.isfinite(value) else Figure(value, unit, citation)


def read_figure(row: TableRow, name: str, unit: str) -> Figure | None:
    """Return the figure of a cell of a table row, or None if the cell has no finite number."""
    return make_figure(row.number(name), unit, row.citation)


def format_address(host: str, port: float | None) -> str:
    """Return `host:port` with an IPv6 address in brackets, or the host alone without a valid port."""
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{bracketed}:{int(port)}" if port is not None and 0 <= port <= MAX_PORT else bracketed


def cite_lines(citation: Citation, named: Sequence[int]) -> Citation:
    """Return the citation with these lines, at most MAX_LINES. Unknown lines (0) are left out."""
    lines = dict.fromkeys(int(line) for line in named if line > 0)
    return replace(citation, lines=tuple(lines)[:MAX_LINES])


def list_lines(series: ViewSeries) -> Sequence[int]:
    """Return the source line of each row of a series, [n]; 0 if it is unknown."""
    lines = series.lines
    return lines if lines is not None and len(lines) == len(series.t_ns) else [0] * len(series.t_ns)


def cite_rows(series: ViewSeries, rows: Sequence[int]) -> Citation:
    """Return the citation of these rows of a series."""
    lines = list_lines(series)
    return cite_lines(series.citation, [lines[row] for row in rows])


def sum_columns(series: ViewSeries) -> Values:
    """Return the sum over the columns of a series, float64 [n]; NaN if no column has data."""
    known = np.isfinite(series.values)
    with np.errstate(over="ignore", invalid="ignore"):
        added = np.where(known, series.values, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), added, np.nan)


def compute_rate(series: ViewSeries, unit: str) -> tuple[Figure, Figure | None] | None:
    """Return the mean of a series of rates per second, cited at its highest reading, and the total count.

    Return None without a finite reading. The total is None for a single reading, which has no known duration.
    """
    values = sum_columns(series)
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return None
    citation = cite_rows(series, [int(known[np.argmax(values[known])])])
    with np.errstate(over="ignore", invalid="ignore"):
        summed = float(values[known].sum())
    mean = make_figure(summed / len(known), unit, citation)
    if mean is None:
        return None
    step_s = float(np.median(np.diff(series.t_ns))) / 1e9 if len(series.t_ns) > 1 else 0.0
    total = make_figure(summed * step_s, "count", citation) if step_s > 0 else None
    return mean, replace(total, value=float(round(total.value))) if total is not None else None


def select_every_nth(t_ns: Times, most: int) -> Times:
    """Return the indexes of the readings to draw, int64 [m]: all, or every k-th, which keeps its own line."""
    step = max(1, math.ceil(len(t_ns) / most))
    return np.arange(0, len(t_ns), step, dtype=np.int64)
