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
MAX_PORT = 65535


def finite(value: float | None, unit: str, cite: Citation) -> Figure | None:
    """A number that is one; None for anything else."""
    return None if value is None or not math.isfinite(value) else Figure(value, unit, cite)


def figure(row: Row, name: str, unit: str) -> Figure | None:
    """A finite number of a row; None where there is none."""
    return finite(row.number(name), unit, row.cite)


def address(host: str, port: float | None) -> str:
    """`host:port`, an IPv6 address in brackets."""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{shown}:{int(port)}" if port is not None and 0 <= port <= MAX_PORT else shown


def at_lines(cite: Citation, named: Sequence[int]) -> Citation:
    """The same place, at these lines; those that are not known (0) are left out."""
    kept = dict.fromkeys(int(line) for line in named if line > 0)
    return replace(cite, lines=tuple(kept)[:MAX_LINES])


def lines(lane: Lane) -> Sequence[int]:
    """[n]: the line that each row of a lane was read from, 0 where it is not known."""
    known = lane.lines
    return known if known is not None and len(known) == len(lane.t_ns) else [0] * len(lane.t_ns)


def lines_of(lane: Lane, rows: Sequence[int]) -> Citation:
    """Where some rows of a lane were read."""
    known = lines(lane)
    return at_lines(lane.cite, [known[row] for row in rows])


def whole(lane: Lane) -> Values:
    """[n]: the sum over the columns of a lane, NaN where no column has data."""
    known = np.isfinite(lane.values)
    with np.errstate(over="ignore", invalid="ignore"):
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
    with np.errstate(over="ignore", invalid="ignore"):
        summed = float(values[known].sum())
    mean = finite(summed / len(known), unit, cite)
    if mean is None:
        return None
    step_s = float(np.median(np.diff(lane.t_ns))) / 1e9 if len(lane.t_ns) > 1 else 0.0
    total = finite(summed * step_s, "count", cite) if step_s > 0 else None
    return mean, replace(total, value=float(round(total.value))) if total is not None else None


def strided(t_ns: Times, most: int) -> Times:
    """[m]: which of the readings are drawn: all, or every k-th, so that each keeps its own line."""
    step = max(1, math.ceil(len(t_ns) / most))
    return np.arange(0, len(t_ns), step, dtype=np.int64)
