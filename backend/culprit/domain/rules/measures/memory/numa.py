"""Numbers about memory on another node than the CPUs that use it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from collectors.contract import Text
from collectors.parse import id_list
from culprit.core.rules.contract import Citation, Measure, Measured, Missing, Reading
from culprit.core.rules.measures.derived import Detail, derived
from culprit.core.rules.measures.places import inside, wanted_group
from culprit.core.rules.read import cited
from culprit.core.rules.view import Row, View

#: Of one CPU: below, nobody feels where the memory is.
LEAST_CPU_PCT = 10.0


def _mismatches(view: View) -> list[Measured]:
    """2: CPUs and memory of a group or process are on different nodes, 1: they overlap in part, 0: they agree."""
    scores = {"disjoint": 2.0, "partial": 1.0, "none": 0.0}
    scope = wanted_group(view)
    found = []
    for kind, name in (("cgroup_cpuset", "path"), ("process_cpuset", "pid")):
        for row in view.rows(kind):
            score = scores.get(row.text("mismatch"))
            if score is None or (kind == "cgroup_cpuset" and not inside(row.text("path"), scope)):
                continue
            subject = (("cgroup" if name == "path" else "pid", row.text(name)),)
            detail = {
                "cpus": row.text("cpus"),
                "cpu_nodes": row.text("nodes_of_cpus"),
                "mem_nodes": row.text("nodes_of_mems"),
            }
            found.append(Measured(score, subject, (row.cite,), 1, (), detail))
    return found


def _far_memory(view: View) -> list[Measured]:
    """Share of a process's memory on nodes on which it may not run."""
    nodes = {row.text("pid"): row for row in view.rows("process_cpuset") if row.text("nodes_of_cpus")}
    by_process: defaultdict[str, dict[str, tuple[float, Citation]]] = defaultdict(dict)
    for row in view.rows("numa_maps"):
        share = row.number("node_pct")
        if share is not None:
            by_process[row.text("pid")][row.text("node")] = (share, row.cite)
    found = []
    for pid, shares in by_process.items():
        if pid not in nodes:
            continue
        near = set(nodes[pid].text("nodes_of_cpus").split(","))
        far = {node: one for node, one in shares.items() if node not in near}
        cites = tuple(cite for _, cite in list(far.values() or shares.values())[:4])
        detail = {"nodes": ",".join(sorted(far)), "cpu_nodes": ",".join(sorted(near))}
        found.append(
            Measured(sum(share for share, _ in far.values()), (("pid", pid),), cites, len(shares), (), detail)
        )
    return found


def _cpus_of_nodes(view: View) -> dict[str, frozenset[int]]:
    """Node → its CPUs, without nodes that have none (CXL, HBM, PMEM)."""
    told = view.facts.get("numastat")
    cpus = told.get("numa_cpus") if isinstance(told, Mapping) else None
    found = cpus.items() if isinstance(cpus, Mapping) else ()
    return {str(node): frozenset(members) for node, members in found if isinstance(members, list) and members}


def _nodes(view: View) -> Reading:
    """How many nodes have CPUs."""
    lane = next(view.of("numa.local_node_per_s"), None)
    if lane is None:
        return _none_of(view, "numastat")
    count = len(_cpus_of_nodes(view)) or len(lane.axis_values)
    cite = cited(lane, lane.values[:, 0], np.arange(len(lane.values)), "last")
    return [Measured(float(count), (), (cite,))]


def _none_of(view: View, collector: str) -> Missing:
    return Missing(view.why_not((collector,)))


def _own_pinning(view: View) -> Reading:
    """Percent of its memory that is far from the threads of a process that may run on different CPUs, by their CPU use.

    Threads of one process inherit one set of CPUs; several sets mean that somebody set them one by one. What may run on
    all nodes has no far memory. A process that hardly runs suffers nothing and is left out.
    """
    nodes = _cpus_of_nodes(view)
    if len(nodes) < 2:
        return _none_of(view, "numastat")
    memory: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in view.rows("numa_maps"):
        memory[row.text("pid")][row.text("node")] = row.number("node_pct") or 0.0
    threads: defaultdict[str, list[Row]] = defaultdict(list)
    for row in view.rows("threads"):
        if row.text("pid") in memory and row.text("cpus_allowed") and row.number("cpu_pct") is not None:
            threads[row.text("pid")].append(row)
    found = []
    for pid, rows in threads.items():
        used = sum(row.number("cpu_pct") or 0.0 for row in rows)
        sets = {row.text("cpus_allowed") for row in rows}
        if used < LEAST_CPU_PCT:
            continue
        far = [(row, _far(row, nodes, memory[pid])) for row in rows] if len(sets) > 1 else []
        share = sum((row.number("cpu_pct") or 0.0) * part for row, part in far) / used
        worst = [row for row, _ in sorted(far, key=lambda one: -one[1] * (one[0].number("cpu_pct") or 0.0))]
        detail: Detail = {"sets": len(sets), "name": rows[0].text("comm"), "threads": len(rows)}
        cites = tuple(row.cite for row in (worst or rows)[:4])
        found.append(Measured(share, (("pid", pid),), cites, len(rows), (), detail))
    return found or _none_of(view, "numa_maps")


def _far(thread: Row, nodes: Mapping[str, frozenset[int]], memory: Mapping[str, float]) -> float:
    """Percent of the process's memory on nodes on none of whose CPUs the thread may run."""
    allowed = frozenset(id_list.ids(thread.text("cpus_allowed").encode()))
    near = {node for node, members in nodes.items() if members & allowed}
    return sum(share for node, share in memory.items() if node not in near)


def _remote_counts(view: View) -> list[Measured]:
    """Events of remote memory per second, as the processor counts them."""
    found = []
    for row in view.rows("perf_stat_remote"):
        rate = row.number("per_s")
        if rate is not None:
            found.append(Measured(rate, (("event", row.text("event")),), (row.cite,)))
    return found


MISMATCH = derived(
    "numa.cpuset_mismatch",
    "count",
    "CPUs and memory on different nodes",
    "CPU 与内存节点不一致",
    (("cgroup_cpuset",),),
    _mismatches,
)
FAR_MEMORY = derived(
    "numa.far_memory_pct",
    "pct",
    "Memory on other nodes",
    "位于其他节点的内存",
    (("numa_maps",), ("cgroup_cpuset",)),
    _far_memory,
)
REMOTE_COUNTS = derived(
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
