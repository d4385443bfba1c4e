"""Chart of memory by NUMA node and by the node of the CPUs that use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.numa_matrix import MAX_NODES, Cpuset, NumaCell, NumaMatrix, NumaRow
from culprit.domain.charts.chart import MAX_PER_BUILDER, ChartBuilder, RunChart
from culprit.domain.charts.panel_series import cite_ends, drop_implausible, read_cell
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.places import get_target_group, is_inside_group
from culprit.domain.rules.view import HostView, TableRow, ViewSeries, request_view

_TITLE = Text("Memory by node", "各节点的内存")
_ALLOCATED = Text("Pages allocated", "分配的页")
_HELD = Text("Memory of the process", "进程内存")
MAX_CPUSETS = 20
#: Thresholds for memory on another node, as in F-NUMA-OTHER-NODE and F-NUMA-FAR-MEMORY.
FAR_SHARE_PCT, FAR_PAGES_PER_S, FAR_MEMORY_PCT = 10.0, 250.0, 60.0


def _build_charts(view: HostView) -> Sequence[RunChart]:
    sets = _list_cpusets(view)
    whole = _build_allocation_charts(view, sets)
    processes = _build_process_charts(view, sets)
    room = MAX_PER_BUILDER - len(whole)
    if len(processes) > room:
        processes = [*processes[: room - 1], replace(processes[room - 1], left_out=len(processes) - room)]
    return [*whole, *processes]


def _list_cpusets(view: HostView) -> list[Cpuset]:
    """Return the cpusets of control groups and processes, those with a mismatch of CPUs and memory first."""
    scope, result = get_target_group(view), []
    for kind, name in (("process_cpuset", "pid"), ("cgroup_cpuset", "path")):
        for row in view.rows(kind):
            about = row.text(name)
            if kind == "cgroup_cpuset" and not is_inside_group(about, scope):
                continue
            mismatch = row.text("mismatch")
            result.append(
                Cpuset(
                    f"{row.text('comm')} {about}".strip(),
                    about,
                    row.text("cpus"),
                    row.text("nodes_of_cpus"),
                    row.text("nodes_of_mems"),
                    "disjoint" if mismatch == "disjoint" else "partial" if mismatch == "partial" else "none",
                    row.citation,
                )
            )
    order = {"disjoint": 0, "partial": 1, "none": 2}
    return sorted(result, key=lambda item: (order[item.mismatch], item.about))[:MAX_CPUSETS]


def _split_nodes(nodes: str) -> tuple[str, ...]:
    return tuple(item for item in nodes.split(",") if item)


def _describe_mismatch(sets: Sequence[Cpuset], cpu: str, memory: str) -> Sentence | None:
    """Return a message about a cpuset with CPUs of node `cpu`, memory of node `memory` and no common node, or None."""
    for item in sets:
        if (
            item.mismatch == "disjoint"
            and cpu in _split_nodes(item.cpu_nodes)
            and memory in _split_nodes(item.mem_nodes)
        ):
            return Sentence("chart.numa_cpuset", {"name": str(item.about), "cpu": cpu, "memory": memory})
    return None


def _find_distance(view: HostView, cpu: str, memory: str) -> int | None:
    facts = view.facts.get("numastat")
    table = facts.get("numa_distances") if isinstance(facts, Mapping) else None
    row = table.get(cpu) if isinstance(table, Mapping) else None
    at = int(memory) if memory.isascii() and memory.isdigit() and len(memory) < 6 else -1
    value = row[at] if isinstance(row, Sequence) and not isinstance(row, str) and 0 <= at < len(row) else None
    return value if isinstance(value, int) and value > 0 else None


def _compute_mean(series: ViewSeries | None, node: str) -> Figure | None:
    if series is None or node not in series.axis_values:
        return None
    values = drop_implausible(series.values[:, series.axis_values.index(node)])
    rows = np.flatnonzero(values >= 0)
    if not len(rows):
        return None
    return Figure(float(values[rows].mean()), "pages_per_s", cite_ends(series, rows))


def _build_allocation_charts(view: HostView, sets: Sequence[Cpuset]) -> list[RunChart]:
    """Return the chart of allocated pages per second. With more than two nodes, unknown CPU nodes have a row."""
    own = next(
        (
            series
            for series in view.series_of("numa.local_node_per_s")
            if series.axis == "node" and len(series.t_ns)
        ),
        None,
    )
    other = next(
        (
            series
            for series in view.series_of("numa.other_node_per_s")
            if series.axis == "node" and len(series.t_ns)
        ),
        None,
    )
    nodes = own.axis_values[:MAX_NODES] if own is not None else ()
    if own is None or not nodes:
        return []
    far = {node: _compute_mean(other, node) for node in nodes}
    near = {node: _compute_mean(own, node) for node in nodes}
    rows = []
    for cpu in nodes:
        cells = []
        for memory in nodes:
            figure = near[memory] if cpu == memory else far[memory] if len(nodes) == 2 else None
            wrong = None if cpu == memory else _describe_mismatch(sets, cpu, memory)
            wrong = wrong or (
                _describe_remote_share(far[memory], near[memory], memory)
                if cpu != memory and figure
                else None
            )
            cells.append(NumaCell(figure, cpu == memory, _find_distance(view, cpu, memory), wrong))
        rows.append(NumaRow((cpu,), tuple(cells)))
    if len(nodes) > 2:
        cells = [
            NumaCell(far[node], False, None, _describe_remote_share(far[node], near[node], node))
            for node in nodes
        ]
        rows.append(NumaRow((), tuple(cells)))
    body = NumaMatrix(
        _ALLOCATED, "pages_per_s", nodes, tuple(rows), _compute_remote_pct(near, far), tuple(sets)
    )
    left_out = len(own.axis_values) - len(nodes)
    return [RunChart("numa", "numa", _TITLE, body=body, left_out=left_out)]


def _describe_remote_share(far: Figure | None, near: Figure | None, node: str) -> Sentence | None:
    if far is None or far.value < FAR_PAGES_PER_S:
        return None
    share = 100.0 * far.value / (far.value + (near.value if near else 0.0))
    if share <= FAR_SHARE_PCT:
        return None
    return Sentence("chart.numa_far", {"node": node, "share": round(share, 1)})


def _compute_remote_pct(near: Mapping[str, Figure | None], far: Mapping[str, Figure | None]) -> float | None:
    away = sum(item.value for item in far.values() if item is not None)
    whole = away + sum(item.value for item in near.values() if item is not None)
    return round(100.0 * away / whole, 3) if whole > 0 else None


def _build_process_charts(view: HostView, sets: Sequence[Cpuset]) -> list[RunChart]:
    """Return a chart of the memory of each captured process by node, the largest process first."""
    may_run = {row.text("pid"): row for row in view.rows("process_cpuset")}
    held: dict[str, dict[str, list[TableRow]]] = {}
    for row in view.rows("numa_maps"):
        if (read_cell(row, "memory_kb") or 0.0) > 0:
            held.setdefault(row.text("pid"), {}).setdefault(row.text("node"), []).append(row)
    ranked = sorted(held, key=lambda pid: (-_sum_memory(held[pid]), pid))
    return [_build_process_chart(view, pid, held[pid], may_run.get(pid), sets) for pid in ranked]


def _sum_memory(held: Mapping[str, Sequence[TableRow]]) -> float:
    return sum(read_cell(row, "memory_kb") or 0.0 for rows in held.values() for row in rows)


def _build_process_chart(
    view: HostView,
    pid: str,
    held: Mapping[str, Sequence[TableRow]],
    may_run: TableRow | None,
    sets: Sequence[Cpuset],
) -> RunChart:
    cpu_nodes = _split_nodes(may_run.text("nodes_of_cpus")) if may_run is not None else ()
    columns = tuple(sorted({*held, *cpu_nodes}, key=lambda item: (len(item), item)))[:MAX_NODES]
    sums = {node: sum(read_cell(row, "memory_kb") or 0.0 for row in rows) for node, rows in held.items()}
    whole = sum(sums.values())
    away = sum(value for node, value in sums.items() if cpu_nodes and node not in cpu_nodes)
    far_pct = 100.0 * away / whole if cpu_nodes and whole > 0 else None
    cells = []
    for node in columns:
        rows = held.get(node, ())
        near = node in cpu_nodes
        wrong = None
        if cpu_nodes and not near and rows:
            wrong = _describe_mismatch(sets, cpu_nodes[0], node)
            if wrong is None and far_pct is not None and far_pct > FAR_MEMORY_PCT:
                wrong = Sentence("chart.numa_far", {"node": node, "share": round(far_pct, 1)})
        figure = Figure(sums[node], "kb", _cite_rows(rows)) if rows else None
        distance = _find_distance(view, cpu_nodes[0], node) if len(cpu_nodes) == 1 else None
        cells.append(NumaCell(figure, near, distance, wrong))
    own = [item for item in sets if item.about == pid]
    comm = may_run.text("comm") if may_run is not None else ""
    body = NumaMatrix(
        _HELD, "kb", columns, (NumaRow(cpu_nodes, tuple(cells)),),
        None if far_pct is None else round(far_pct, 3), tuple(own),
    )  # fmt: skip
    subject = (("comm", comm), ("pid", pid)) if comm else (("pid", pid),)
    return RunChart(f"numa:{pid}", "numa", _TITLE, subject, body=body)


def _cite_rows(rows: Sequence[TableRow]) -> Citation:
    """Return the citation of a sum over rows, with at most 40 lines."""
    citation = rows[0].citation
    lines = tuple(dict.fromkeys(line for row in rows for line in row.citation.lines))[:40]
    return Citation(citation.run, citation.collector, citation.artifact, citation.part, lines)


BUILDER = ChartBuilder(
    id="numa",
    title=_TITLE,
    summary=Text(
        "Rows are the nodes of CPUs, columns those of memory. What is off the diagonal crosses between sockets. Pages"
        " are counted when they are allocated: a process that only uses old memory shows in its own picture.",
        "行是 CPU 所在节点，列是内存所在节点。对角线以外的内存要跨插槽访问。"
        "页在分配时计数：只用旧内存的进程要看它自己的图。",
    ),
    reads=request_view(
        metrics=("numa.local_node_per_s", "numa.other_node_per_s"),
        tables=("numa_maps", "process_cpuset", "cgroup_cpuset"),
    ),
    collectors=("numastat", "numa_maps"),
    rules=("F-NUMA-OTHER-NODE", "F-NUMA-FAR-MEMORY", "F-NUMA-CPUSET-MISMATCH", "F-NUMA-CPUSET-PARTIAL", "F-NUMA-MISS",
           "F-NUMA-REMOTE-PMU", "F-NUMA-BALANCING-CHURN"),
    build=_build_charts,
)  # fmt: skip
