"""CPU time that is free on CPUs which a group may not use, while it waits for those that it may use."""

from __future__ import annotations

from collections.abc import Iterator

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.cpu.run_queue import Crowd, list_crowds
from culprit.domain.rules.measures.derived import Detail, build_measure, merge_citations, read_series
from culprit.domain.rules.measures.places import is_inside_group
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView


def _idle_outside(view: HostView) -> Iterator[Measurement]:
    """Idle time of the CPUs outside the set of a crowd, in percent of the CPU time that the set has.

    So much faster could the work of the crowd be if it might use them. Only crowds with a set smaller than the host.
    """
    busy = {
        int(cpu): item
        for item in read_series(view, MetricReading("cpu.busy_pct", "mean"))
        if (cpu := dict(item.subject).get("cpu", "")).isdecimal()
    }
    for crowd in list_crowds(view):
        outside = [item for cpu, item in busy.items() if crowd.allowed and cpu not in crowd.allowed]
        if outside:
            idle = sum(100.0 - item.value for item in outside)
            detail: Detail = {
                "name": crowd.name,
                "cpus": len(crowd.allowed),
                "others": len(outside),
                "idle": round(idle / 100.0, 2),
            }
            cites = merge_citations(
                (
                    *crowd.cites,
                    *_cite_allowed(view, crowd),
                    *(citation for item in outside for citation in item.citations),
                )
            )
            samples = min(item.sample_count for item in outside)
            yield Measurement(idle / len(crowd.allowed), crowd.subject, cites, samples, (), detail)


def _cite_allowed(view: HostView, crowd: Crowd) -> Iterator[Citation]:
    """Yield where the CPUs of a crowd were read: the affinity of its threads, and the cpusets above them."""
    for row in view.rows("threads"):
        if row.text("cpus_allowed") and int(row.number("pid") or 0) in crowd.pids:
            yield row.citation
    for row in view.rows("cgroup_cpuset"):
        if row.text("cpus") and is_inside_group(crowd.group, row.text("path")):
            yield row.citation


IDLE_OUTSIDE = build_measure(
    "sched.idle_outside_set_pct",
    "pct",
    "Idle time of CPUs outside the set",
    "集合之外 CPU 的空闲时间",
    (("proc_schedstat",), ("cpu_stat",), ("cgroup_cpuset",)),
    lambda view: list(_idle_outside(view)),
)
