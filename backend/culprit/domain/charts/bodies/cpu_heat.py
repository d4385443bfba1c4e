"""Body of heat maps: rates by CPU and time, one matrix per softirq vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.rules.finding import Citation

#: Maximum number of cells of all matrices of a body, and the significant digits of each: a response has up to 200 kB.
MAX_CELLS = 36_000
CELL_DIGITS = 3
MAX_CPUS = 512
#: With many CPUs, fewer vectors are displayed, so that the time axis keeps at least MIN_COLUMNS columns.
MAX_VECTORS, MIN_VECTORS = 6, 2
MIN_COLUMNS = 40


@dataclass(frozen=True, slots=True)
class SoftirqMatrix:
    """Rates of one vector, `values[cpu][time]`; None is no data. `lines[time]` is the source line of each column.

    `maximum` is the rate of the busiest CPU (`busiest`), `uneven` its ratio to the mean rate of all CPUs.
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
    """Matrices with the same CPUs and columns, the busiest vector first. Columns begin at `t_ns`.

    `step_ns` is the length of a column. `busy` is the time of each CPU in softirqs, in percent, or None if unknown.
    """

    t_ns: tuple[int, ...]
    step_ns: int
    cpus: tuple[str, ...]
    matrices: tuple[SoftirqMatrix, ...]
    busy: tuple[Figure | None, ...]
    kind: Literal["cpu_heat"] = "cpu_heat"
