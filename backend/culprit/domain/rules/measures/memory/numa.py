"""Numbers about memory on another node than the CPUs that use it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from collectors.contract import Text
from collectors.parse.proc import id_list
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Reading
from culprit.domain.rules.measures.derived import Detail, build_measure, cite_rows, merge_citations
from culprit.domain.rules.measures.places import get_target_group, is_inside_group
from culprit.domain.rules.readings import cite_series
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: Of one CPU: below this use, the place of the memory has no measurable effect.
LEAST_CPU_PCT = 10.0


def _mismatches(view: HostView) -> list[Measurement]:
    """2: CPUs and memory of a group or process are on different nodes, 1: they overlap in part, 0: they agree."""
    scores = {"disjoint": 2.0, "partial": 1.0, "none": 0.0}
    scope = get_target_group(view)
    results = []
    for kind, name in (("cgroup_cpuset", "path"), ("process_cpuset", "pid")):
        for row in view.rows(kind):
            score = scores.get(row.text("mismatch"))
            if score is None or (kind == "cgroup_cpuset" and not is_inside_group(row.text("path"), scope)):
                continue
            subject = (("cgroup" if name == "path" else "pid", row.text(name)),)
            detail = {
                "cpus": row.text("cpus"),
                "cpu_nodes": row.text("nodes_of_cpus"),
                "mem_nodes": row.text("nodes_of_mems"),
            }
            results.append(Measurement(score, subject, (row.citation,), 1, (), detail))
    return results


def _far_memory(view: HostView) -> list[Measurement]:
    """Share of a process's memory on nodes on which it may not run."""
    nodes = {row.text("pid"): row for row in view.rows("process_cpuset") if row.text("nodes_of_cpus")}
    by_process: defaultdict[str, dict[str, tuple[float, Citation]]] = defaultdict(dict)
    for row in view.rows("numa_maps"):
        share = row.number("node_pct")
        if share is not None:
            by_process[row.text("pid")][row.text("node")] = (share, row.citation)
    results = []
    for pid, shares in by_process.items():
        if pid not in nodes:
            continue
        near = set(nodes[pid].text("nodes_of_cpus").split(","))
        far = {node: item for node, item in shares.items() if node not in near}
        cites = merge_citations((*(citation for _, citation in shares.values()), nodes[pid].citation))
        detail = {"nodes": ",".join(sorted(far)), "cpu_nodes": ",".join(sorted(near))}
        results.append(
            Measurement(
                sum(share for share, _ in far.values()), (("pid", pid),), cites, len(shares), (), detail
            )
        )
    return results


def _cpus_of_nodes(view: HostView) -> dict[str, frozenset[int]]:
    """Node → its CPUs, without nodes that have none (CXL, HBM, PMEM)."""
    fact = view.facts.get("numastat")
    cpus = fact.get("numa_cpus") if isinstance(fact, Mapping) else None
    matching_cpus = cpus.items() if isinstance(cpus, Mapping) else ()
    return {
        str(node): frozenset(members)
        for node, members in matching_cpus
        if isinstance(members, list) and members
    }


def _nodes(view: HostView) -> Reading:
    """How many nodes have CPUs."""
    series = next(view.series_of("numa.local_node_per_s"), None)
    if series is None:
        return _none_of(view, "numastat")
    count = len(_cpus_of_nodes(view)) or len(series.axis_values)
    citation = cite_series(series, series.values[:, 0], np.arange(len(series.values)), "last")
    return [Measurement(float(count), (), (citation,))]


def _none_of(view: HostView, collector: str) -> MissingData:
    return MissingData(view.missing_reason((collector,)))


def _own_pinning(view: HostView) -> Reading:
    """Percent of its memory that is far from the threads of a process that may run on different CPUs, by their CPU use.

    Threads of one process inherit one set of CPUs; several sets were configured one by one. A process that may run on
    all nodes has no far memory. A process that hardly runs suffers nothing and is left out.
    """
    nodes = _cpus_of_nodes(view)
    if len(nodes) < 2:
        return _none_of(view, "numastat")
    memory: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in view.rows("numa_maps"):
        memory[row.text("pid")][row.text("node")] = row.number("node_pct") or 0.0
    threads: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        if row.text("pid") in memory and row.text("cpus_allowed") and row.number("cpu_pct") is not None:
            threads[row.text("pid")].append(row)
    results = []
    for pid, rows in threads.items():
        used = sum(row.number("cpu_pct") or 0.0 for row in rows)
        sets = {row.text("cpus_allowed") for row in rows}
        if used < LEAST_CPU_PCT:
            continue
        far = [(row, _far(row, nodes, memory[pid])) for row in rows] if len(sets) > 1 else []
        share = sum((row.number("cpu_pct") or 0.0) * part for row, part in far) / used
        detail: Detail = {"sets": len(sets), "name": rows[0].text("comm"), "threads": len(rows)}
        cites = cite_rows(rows, (row for row in view.rows("numa_maps") if row.text("pid") == pid))
        results.append(Measurement(share, (("pid", pid),), cites, len(rows), (), detail))
    return results or _none_of(view, "numa_maps")


def _far(thread: TableRow, nodes: Mapping[str, frozenset[int]], memory: Mapping[str, float]) -> float:
    """Percent of the process's memory on nodes on none of whose CPUs the thread may run."""
    allowed = frozenset(id_list.parse_ids(thread.text("cpus_allowed").encode()))
    near = {node for node, members in nodes.items() if members & allowed}
    return sum(share for node, share in memory.items() if node not in near)


def _remote_counts(view: HostView) -> list[Measurement]:
    """Events of remote memory per second, as the processor counts them."""
    results = []
    for row in view.rows("perf_stat_remote"):
        rate = row.number("per_s")
        if rate is not None:
            results.append(Measurement(rate, (("event", row.text("event")),), (row.citation,)))
    return results


MISMATCH = build_measure(
    "numa.cpuset_mismatch",
    "count",
    "CPUs and memory on different nodes",
    "CPU 与内存节点不一致",
    (("cgroup_cpuset",),),
    _mismatches,
)
FAR_MEMORY = build_measure(
    "numa.far_memory_pct",
    "pct",
    "Memory on other nodes",
    "位于其他节点的内存",
    (("numa_maps",), ("cgroup_cpuset",)),
    _far_memory,
)
REMOTE_COUNTS = build_measure(
    "numa.remote_events_per_s",
    "per_s",
    "Remote memory, as the processor counts it",
    "处理器统计的远端访问",
    (("perf_stat_remote",),),
    _remote_counts,
)
NODES = Measure(
    id="numa.nodes_count",
    unit="count",
    title=Text("Nodes with CPUs", "有 CPU 的节点数"),
    needs=(("numastat",),),
    read=_nodes,
)
OWN_PINNING = Measure(
    id="numa.far_from_own_pins_pct",
    unit="pct",
    title=Text("Memory far from the CPUs that threads are kept to", "远离线程所绑 CPU 的内存"),
    needs=(("numa_maps",), ("proc_threads",), ("numastat",)),
    read=_own_pinning,
)
