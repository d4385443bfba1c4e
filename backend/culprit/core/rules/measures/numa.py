"""Numbers about memory on another node than the CPUs that use it."""

from __future__ import annotations

from collections import defaultdict

from culprit.core.rules.contract import Citation, Measured
from culprit.core.rules.measures.derived import derived
from culprit.core.rules.measures.places import inside, wanted_group
from culprit.core.rules.view import View


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
