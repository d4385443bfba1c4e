"""Memory by node: where it is, and where the CPUs are that asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.core.rules.contract import Citation
from culprit.core.visuals.bodies.figure import Figure, Label

MAX_NODES = 32


@dataclass(frozen=True, slots=True)
class NumaCell:
    """What CPUs of the row have on the node of the column; None is no data.

    `near`: the CPUs are of that node. `distance` is what the firmware tells, 10 is local. `mismatch` says why this
    memory is on the wrong node, where it is.
    """

    figure: Figure | None
    near: bool
    distance: int | None = None
    mismatch: Sentence | None = None


@dataclass(frozen=True, slots=True)
class NumaRow:
    """CPUs of these nodes; none where it is only known that they are of another node than the memory."""

    nodes: tuple[str, ...]
    cells: tuple[NumaCell, ...]


@dataclass(frozen=True, slots=True)
class Cpuset:
    """Where a group or process may run and have its memory."""

    label: Label
    about: str
    cpus: str
    cpu_nodes: str
    mem_nodes: str
    mismatch: Literal["none", "partial", "disjoint"]
    cite: Citation


@dataclass(frozen=True, slots=True)
class NumaMatrix:
    """Rows are nodes of CPUs, columns nodes of memory. `far_pct` is the share that is on another node."""

    says: Label
    unit: str
    columns: tuple[str, ...]
    rows: tuple[NumaRow, ...]
    far_pct: float | None
    cpusets: tuple[Cpuset, ...] = ()
    kind: Literal["numa_matrix"] = "numa_matrix"
