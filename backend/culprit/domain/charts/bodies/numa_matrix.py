"""Body of NUMA charts: memory by its node and by the node of the CPUs that use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.rules.finding import Citation

MAX_NODES = 32


@dataclass(frozen=True, slots=True)
class NumaCell:
    """Memory that the CPUs of the row have on the node of the column; None is no data.

    `near`: the CPUs belong to that node. `distance` is the value that the firmware reports, 10 is local. `mismatch`
    states why this memory is on the wrong node, if it is.
    """

    figure: Figure | None
    near: bool
    distance: int | None = None
    mismatch: Sentence | None = None


@dataclass(frozen=True, slots=True)
class NumaRow:
    """The CPUs of these nodes; empty if it is only known that the CPUs are on another node than the memory."""

    nodes: tuple[str, ...]
    cells: tuple[NumaCell, ...]


@dataclass(frozen=True, slots=True)
class Cpuset:
    """The CPUs and memory nodes that a control group or process may use."""

    label: Label
    about: str
    cpus: str
    cpu_nodes: str
    mem_nodes: str
    mismatch: Literal["none", "partial", "disjoint"]
    citation: Citation


@dataclass(frozen=True, slots=True)
class NumaMatrix:
    """Rows are nodes of CPUs, columns nodes of memory. `far_pct` is the share of memory on another node."""

    value_label: Label
    unit: str
    columns: tuple[str, ...]
    rows: tuple[NumaRow, ...]
    far_pct: float | None
    cpusets: tuple[Cpuset, ...] = ()
    kind: Literal["numa_matrix"] = "numa_matrix"
