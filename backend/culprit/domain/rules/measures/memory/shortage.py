"""Numbers about memory that is short: how full groups are, what is read again, what comes back from swap."""

from __future__ import annotations

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure, read_series
from culprit.domain.rules.measures.places import build_process_subject, is_in_scope, limited_groups
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView

_PAGE_KB = 4.0


def _of_groups(view: HostView, column: str) -> list[Measurement]:
    results = []
    for row in limited_groups(view):
        value = row.number(column)
        if value is not None:
            limit_mb = round((row.number("limit_kb") or 0) / 1024)
            detail: Detail = {"cgroup": row.text("path"), "limit_mb": limit_mb}
            results.append(
                Measurement(value, (("cgroup", row.text("path")),), (row.citation,), 1, (), detail)
            )
    return results


def _kb_per_fault(view: HostView) -> list[Measurement]:
    """What is read again for each major fault of a group: with much read-ahead, few faults hide a lot of reading."""
    results = []
    for row in limited_groups(view):
        refaults, faults = row.number("refault_file_per_s"), row.number("pgmajfault_per_s")
        if refaults is not None and faults:
            results.append(
                Measurement(_PAGE_KB * refaults / faults, (("cgroup", row.text("path")),), (row.citation,))
            )
    return results


def _faulting(view: HostView) -> list[Measurement]:
    """Major faults of processes that lived through the whole capture, per second; as perf counted them where it did."""
    results = []
    counted = view.rows("process_faults")
    for row in counted or view.rows("processes"):
        faults = row.number("major_faults_per_s" if counted else "major_faults")
        if faults is not None and is_in_scope(view, row.text("pid")):
            detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid")}
            results.append(
                Measurement(faults, build_process_subject(view, row), (row.citation,), 1, (), detail)
            )
    return results


def _fault_waits(view: HostView) -> list[Measurement]:
    """Threads of a process that are stuck in the kernel at a moment, of processes with major faults."""
    faults = {
        row.text("pid"): row for row in view.rows("processes") if (row.number("major_faults") or 0.0) >= 1.0
    }
    results = []
    for row in view.rows("thread_groups"):
        blocked, fault = row.number("mean_blocked"), faults.get(row.text("pid"))
        if blocked is not None and fault is not None:
            results.append(
                Measurement(blocked, build_process_subject(view, row), (row.citation, fault.citation))
            )
    return results


def _swapped(view: HostView) -> list[Measurement]:
    results = []
    for row in view.rows("proc_memory"):
        swap = row.number("swap_last_kb")
        if swap:
            results.append(
                Measurement(
                    swap, build_process_subject(view, row), (row.citation,), 1, (), {"comm": row.text("comm")}
                )
            )
    return results


def _settles(view: HostView) -> list[Measurement]:
    """Of the pages that came back from swap, how many percent their processes kept.

    A program that wakes up keeps them. Where memory is too small, each page that comes pushes one out; one that was
    only read still has its copy in swap and leaves without being written, so that `pswpout` does not count it.
    """
    came = read_series(view, MetricReading("mem.pswpin_per_s", "mean"))
    rows = view.rows("proc_memory")
    series_list = [series for series in view.series_of("mem.pswpin_per_s") if len(series.t_ns) > 1]
    if not came or not rows or not series_list:
        return []
    readings = len(series_list[0].t_ns)
    seconds = float(series_list[0].t_ns[-1] - series_list[0].t_ns[0]) * readings / (readings - 1) / 1e9
    came_kb = came[0].value * seconds * _PAGE_KB
    if came_kb <= 0:
        return []
    stored_kb = sum(
        (row.number("swap_first_kb") or 0.0) - (row.number("swap_last_kb") or 0.0) for row in rows
    )
    cites = (*came[0].citations, *[row.citation for row in rows if row.number("swap_last_kb")][:1])
    return [Measurement(max(0.0, 100.0 * stored_kb / came_kb), (), cites, came[0].sample_count)]


USAGE = build_measure(
    "cgroup.memory_usage_pct",
    "pct",
    "Memory against the limit",
    "内存使用占限额",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "usage_pct"),
)
ANON = build_measure(
    "cgroup.memory_anon_pct",
    "pct",
    "Anonymous memory against the limit",
    "匿名内存占限额",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "anon_pct"),
)
REFAULTS = build_measure(
    "cgroup.refaults_per_s",
    "pages_per_s",
    "Pages of files read again",
    "重新读入的文件页",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "refault_file_per_s"),
)
GROUP_PRESSURE = build_measure(
    "cgroup.psi_full_avg10_pct",
    "pct",
    "Memory pressure of the group, full",
    "控制组内存压力（full）",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "psi_full_avg10"),
)
GROUP_FAULTS = build_measure(
    "cgroup.major_faults_per_s",
    "per_s",
    "Major faults of the group",
    "控制组主缺页",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "pgmajfault_per_s"),
)
KB_PER_FAULT = build_measure(
    "cgroup.read_again_per_fault_kb",
    "kb",
    "Read again for each major fault",
    "每次主缺页重读量",
    (("cgroup_mem",),),
    _kb_per_fault,
)
PROCESS_FAULTS = build_measure(
    "proc.major_faults_per_s",
    "per_s",
    "Major faults of the process",
    "进程主缺页",
    (("proc_top", "perf_stat_faults"),),
    _faulting,
)
FAULT_WAITS = build_measure(
    "proc.blocked_while_faulting",
    "count",
    "Threads stuck while faulting",
    "缺页时阻塞的线程",
    (("proc_threads",), ("proc_top",)),
    _fault_waits,
)
SWAP_SETTLES = build_measure(
    "mem.swap_settles_pct",
    "pct",
    "Pages from swap that stay",
    "换入后留在内存的比例",
    (("vmstat_proc",), ("proc_mem",)),
    _settles,
)
SWAPPED = build_measure("proc.swapped_kb", "kb", "Swapped out", "被换出的内存", (("proc_mem",),), _swapped)
