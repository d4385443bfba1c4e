"""Where softirqs run: each vector on each CPU over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from collectors.contract import Text, Values
from culprit.core.rules.view import Lane, View, reads
from culprit.core.visuals.bodies.cpu_heat import (
    CELL_DIGITS,
    LEAST_COLUMNS,
    LEAST_VECTORS,
    MAX_CELLS,
    MAX_CPUS,
    MAX_VECTORS,
    CpuHeat,
    CpuMatrix,
)
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import lines
from culprit.core.visuals.readings import ends, rounded, told

_TITLE = Text("Softirqs, CPU by CPU", "各 CPU 的软中断")
_NO_STEP_NS = 1_000_000_000
_EVEN_BELOW_PER_S = 1.0


def _build(view: View) -> Sequence[Visual]:
    lanes = [lane for lane in view.of("softirq.rate_per_s") if np.isfinite(_values(lane)).any()]
    lanes.sort(key=lambda lane: (-float(_rates(lane).sum()), lane.labels.get("vector", "")))
    lanes = [lane for lane in lanes if float(_rates(lane).sum()) > 0] or lanes[:1]
    if not lanes:
        return ()
    t_ns, cpus = lanes[0].t_ns, _cpus(lanes[0])
    same = [lane for lane in lanes if _cpus(lane) == cpus and len(lane.t_ns) == len(t_ns)]
    drawn = _chosen(same, max(LEAST_VECTORS, min(MAX_VECTORS, MAX_CELLS // (len(cpus) * LEAST_COLUMNS))))
    columns = max(1, min(len(t_ns), MAX_CELLS // (len(cpus) * len(drawn))))
    edges = np.linspace(0, len(t_ns), columns + 1).astype(np.int64)
    step = int(np.median(np.diff(t_ns))) if len(t_ns) > 1 else _NO_STEP_NS
    body = CpuHeat(
        tuple(int(t_ns[at]) for at in edges[:-1]),
        max(1, step * len(t_ns) // columns),
        cpus,
        tuple(_matrix(lane, edges) for lane in drawn),
        _busy(view, cpus),
    )
    return [Visual("softirq-heat", "softirq-heat", _TITLE, body=body, left_out=len(lanes) - len(drawn))]


def _chosen(lanes: Sequence[Lane], most: int) -> list[Lane]:
    """The busiest vectors; received packets are always among them, because most questions are about those."""
    kept = list(lanes[:most])
    received = next((lane for lane in lanes[most:] if lane.labels.get("vector") == "NET_RX"), None)
    return [*kept[:-1], received] if received is not None else kept


def _cpus(lane: Lane) -> tuple[str, ...]:
    """The CPUs whose columns there are."""
    return lane.axis_values[: min(MAX_CPUS, lane.values.shape[1])] if lane.axis == "cpu" else ()


def _values(lane: Lane) -> Values:
    """[n, cpus]: rates; what cannot be one is NaN."""
    values = told(lane.values[:, : len(_cpus(lane))])
    return np.where(values >= 0, values, np.nan)


def _rates(lane: Lane) -> Values:
    """[cpus]: the mean rate on each CPU, 0 where nothing was read."""
    values = _values(lane)
    read = np.isfinite(values).sum(axis=0)
    return np.asarray(np.nansum(values, axis=0) / np.maximum(read, 1))


def _matrix(lane: Lane, edges: npt.NDArray[np.int64]) -> CpuMatrix:
    """Columns are means of the readings in them; each cites the first of its lines."""
    values = _values(lane)
    read = np.isfinite(values)
    sums = np.add.reduceat(np.where(read, values, 0.0), edges[:-1], axis=0)
    counts = np.add.reduceat(read.astype(np.int64), edges[:-1], axis=0)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    rates = _rates(lane)
    top, mean = int(np.argmax(rates)), float(rates.mean())
    cite, known = ends(lane, np.flatnonzero(read.any(axis=1))), lines(lane)
    uneven = float(rates[top]) / mean if mean > _EVEN_BELOW_PER_S and len(rates) > 1 else None
    return CpuMatrix(
        lane.labels.get("vector", ""),
        "per_s",
        tuple(tuple(rounded(one, CELL_DIGITS) for one in row) for row in means.T.tolist()),
        tuple(int(known[row]) for row in edges[:-1].tolist()),
        lane.cite,
        Figure(float(rates.sum()), "per_s", cite),
        Figure(float(rates[top]), "per_s", cite),
        None if uneven is None else Figure(uneven, "count", cite),
        lane.axis_values[top],
    )


def _busy(view: View, cpus: Sequence[str]) -> tuple[Figure | None, ...]:
    """Time of each CPU in softirqs over the capture."""
    lane = next((one for one in view.of("cpu.soft_pct") if one.axis == "cpu" and len(one.t_ns)), None)
    if lane is None:
        return (None,) * len(cpus)
    found: list[Figure | None] = []
    values, place = _values(lane), {name: at for at, name in enumerate(_cpus(lane))}
    for name in cpus:
        own = values[:, place[name]] if name in place else np.zeros(0)
        rows = np.flatnonzero(np.isfinite(own))
        found.append(Figure(float(own[rows].mean()), "pct", ends(lane, rows)) if len(rows) else None)
    return tuple(found)


BUILDER = Builder(
    id="softirq-heat",
    title=_TITLE,
    says=Text(
        "Rows are CPUs, columns time; the bar at the right is the time that the CPU spent in softirqs. One bright row"
        " takes what many could share. A high rate alone is no fault.",
        "行是 CPU，列是时间；右侧条是该 CPU 处理软中断的时间占比。"
        "只有一行很亮，说明本可由多个 CPU 分担的工作落在一个上。速率高本身不是故障。",
    ),
    reads=reads(metrics=("softirq.rate_per_s", "cpu.soft_pct")),
    collectors=("softirqs",),
    rules=("F-SOFTIRQ-HIGH", "F-SOFTIRQ-IMBALANCE", "F-SOFTNET-DROP", "F-SOFTNET-SQUEEZE", "F-NET-SMALL-PACKETS",
           "F-CPU-ONE-CORE"),
    build=_build,
)  # fmt: skip
