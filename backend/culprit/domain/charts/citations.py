"""Numbers of rows and series with the place that they were read from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collectors.contract import Times, Values
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import TableRow, ViewSeries

#: A number that many lines speak for names so many of them.
MAX_LINES = 12
MAX_PORT = 65535


def make_figure(value: float | None, unit: str, citation: Citation) -> Figure | None:
    """A number that is one; None for anything else."""
    return None if value is None or not math.isfinite(value) else Figure(value, unit, citation)


def read_figure(row: TableRow, name: str, unit: str) -> Figure | None:
    """A finite number of a row; None where there is none."""
    return make_figure(row.number(name), unit, row.citation)


def format_address(host: str, port: float | None) -> str:
    """`host:port`, an IPv6 address in brackets."""
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{bracketed}:{int(port)}" if port is not None and 0 <= port <= MAX_PORT else bracketed


def cite_lines(citation: Citation, named: Sequence[int]) -> Citation:
    """The same place, at these lines; those that are not known (0) are left out."""
    stored = dict.fromkeys(int(line) for line in named if line > 0)
    return replace(citation, lines=tuple(stored)[:MAX_LINES])


def list_lines(series: ViewSeries) -> Sequence[int]:
    """[n]: the line that each row of a series was read from, 0 where it is not known."""
    known = series.lines
    return known if known is not None and len(known) == len(series.t_ns) else [0] * len(series.t_ns)


def cite_rows(series: ViewSeries, rows: Sequence[int]) -> Citation:
    """Where some rows of a series were read."""
    known = list_lines(series)
    return cite_lines(series.citation, [known[row] for row in rows])


def sum_columns(series: ViewSeries) -> Values:
    """[n]: the sum over the columns of a series, NaN where no column has data."""
    known = np.isfinite(series.values)
    with np.errstate(over="ignore", invalid="ignore"):
        added = np.where(known, series.values, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), added, np.nan)


def compute_rate(series: ViewSeries, unit: str) -> tuple[Figure, Figure | None] | None:
    """The mean of a series of rates, cited at its highest reading, and what that adds up to over its time.

    None where no reading is finite; the sum is None where one reading alone does not tell for how long it holds.
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
    """[m]: which of the readings are drawn: all, or every k-th, so that each keeps its own line."""
    step = max(1, math.ceil(len(t_ns) / most))
    return np.arange(0, len(t_ns), step, dtype=np.int64)
