"""Numbers of rows and lanes with the place that they were read from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collectors.contract import Times, Values
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import Lane, Row
from culprit.core.visuals.bodies.figure import Figure

#: A number that many lines speak for names so many of them.
MAX_LINES = 12


def figure(row: Row, name: str, unit: str) -> Figure | None:
    """A finite number of a row; None where there is none."""
    value = row.number(name)
    return None if value is None or not math.isfinite(value) else Figure(value, unit, row.cite)


def address(host: str, port: float | None) -> str:
    """`host:port`, an IPv6 address in brackets."""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return shown if port is None or not math.isfinite(port) else f"{shown}:{int(port)}"


def at_lines(cite: Citation, lines: Sequence[int]) -> Citation:
    """The same place, at these lines; those that are not known (0) are left out."""
    kept = dict.fromkeys(int(line) for line in lines if line > 0)
    return replace(cite, lines=tuple(kept)[:MAX_LINES])


def lines_of(lane: Lane, rows: Sequence[int]) -> Citation:
    """Where some rows of a lane were read."""
    lines = lane.lines
    return (
        lane.cite if lines is None else at_lines(lane.cite, [lines[row] for row in rows if row < len(lines)])
    )


def whole(lane: Lane) -> Values:
    """[n]: the sum over the columns of a lane, NaN where no column has data."""
    known = np.isfinite(lane.values)
    added = np.where(known, lane.values, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), added, np.nan)


def rate(lane: Lane, unit: str) -> tuple[Figure, Figure | None] | None:
    """The mean of a lane of rates, cited at its highest reading, and what that adds up to over its time.

    None where no reading is finite; the sum is None where one reading alone does not tell for how long it holds.
    """
    values = whole(lane)
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return None
    cite = lines_of(lane, [int(known[np.argmax(values[known])])])
    mean = Figure(float(values[known].mean()), unit, cite)
    if len(lane.t_ns) < 2:
        return mean, None
    step_s = float(np.median(np.diff(lane.t_ns))) / 1e9
    total = float(values[known].sum()) * step_s
    return mean, Figure(float(round(total)), "count", cite) if math.isfinite(total) and step_s > 0 else None


def strided(t_ns: Times, most: int) -> Times:
    """[m]: which of the readings are drawn: all, or every k-th, so that each keeps its own line."""
    step = max(1, math.ceil(len(t_ns) / most))
    return np.arange(0, len(t_ns), step, dtype=np.int64)
