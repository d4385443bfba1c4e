"""Rates on each CPU over time, one picture for each vector: where the work lands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.rules.finding import Citation

#: Numbers of all matrices of a body together, and the digits of each: an answer is some 200 kB at most.
MAX_CELLS = 36_000
CELL_DIGITS = 3
MAX_CPUS = 512
#: With many CPUs fewer vectors are drawn, so that time is not cut into too few columns.
MAX_VECTORS, MIN_VECTORS = 6, 2
MIN_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class SoftirqMatrix:
    """`values[cpu][time]` of one vector; None is no data. `lines[time]` is the line of `citation` of each column.

    `uneven` is the rate of the busiest CPU over the mean of all, `maximum` that of the busiest one, `busiest`.
    """

    vector: str
    unit: str
    values: tuple[tuple[float | None, ...], ...]
    lines: tuple[int, ...]
    citation: Citation
    total: Figure
    maximum: Figure
    uneven: Figure | None
    busiest: str


@dataclass(frozen=True, slots=True)
class CpuHeat:
    """Matrices over the same CPUs and the columns that begin at `t_ns`, the busiest vector first.

    `step_ns` is how long a column is. `busy` is the time of each CPU in softirqs, in percent, where it is known.
    """

    t_ns: tuple[int, ...]
    step_ns: int
    cpus: tuple[str, ...]
    matrices: tuple[SoftirqMatrix, ...]
    busy: tuple[Figure | None, ...]
    kind: Literal["cpu_heat"] = "cpu_heat"
