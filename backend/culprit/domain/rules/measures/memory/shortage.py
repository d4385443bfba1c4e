"""Numbers about memory that is short: how full groups are, what is read again, what comes back from swap."""

from __future__ import annotations

from dataclasses import replace

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.derived import Detail, build_measure, cite_rows, read_series
from culprit.domain.rules.measures.disk.device_time import list_stacked_devices
from culprit.domain.rules.measures.disk.io_limits import measure_group_blocked
from culprit.domain.rules.measures.places import (
    build_process_subject,
    cite_process,
    group_of,
    is_in_scope,
    is_inside_group,
)
from culprit.domain.rules.measures.service_time.reach import limited_groups
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


def _read_again(view: HostView) -> list[Measurement]:
    """Of what a group reads from disks, the share that it had in memory shortly before, percent.

    What a group reads is what its processes read; where those were not looked at, what all devices read, which is more.
    """
    devices = read_from_devices(view)
    groups, reads = group_of(view), view.rows("proc_io")
    results = []
    for row in limited_groups(view):
        path, refaults = row.text("path"), row.number("refault_file_per_s")
        own = [
            item
            for item in reads
            if (group := groups.get(item.text("pid"))) is not None and is_inside_group(group, path)
        ]
        read_kb = sum(item.number("read_bytes_per_s") or 0.0 for item in own) / 1024
        cites = tuple(citation for item in own for citation in cite_process(view, item))
        if not read_kb and devices is not None:
            read_kb, cites = devices
        again_kb = _PAGE_KB * (refaults or 0.0)
        if refaults is None or (again_kb and not read_kb):
            continue
        detail: Detail = {
            "cgroup": path,
            "limit_mb": round((row.number("limit_kb") or 0) / 1024),
            "pages": round(refaults),
            "mb_per_s": round(again_kb / 1024, 1),
        }
        share = min(100.0, 100.0 * again_kb / read_kb) if again_kb else 0.0
        results.append(Measurement(share, (("cgroup", path),), (row.citation, *cites), 1, (), detail))
    return results


def read_from_devices(view: HostView) -> tuple[float, tuple[Citation, ...]] | None:
    """KiB a second that all devices read that are mapped to no other, with the source.

    What a loop device reads is read once more from the device with its file.
    """
    files = {row.text("dev") for row in view.rows("block_devices") if row.text("backing_file")}
    stacked = list_stacked_devices(view) | files
    items = [
        item
        for item in read_series(view, MetricReading("disk.read_mb_s", "mean"))
        if dict(item.subject).get("dev", "") not in stacked
    ]
    if not items:
        return None
    cites = (citation for item in items for citation in item.citations)
    return sum(item.value for item in items) * 1024, (*cites, *cite_rows(view.rows("block_devices")))


def _host_read_again(view: HostView) -> list[Measurement]:
    """The same of the host: pages that were evicted shortly before, of what all devices read."""
    devices = read_from_devices(view)
    if devices is None:
        return []
    read_kb, cites = devices
    return [
        Measurement(
            min(100.0, 100.0 * _PAGE_KB * item.value / read_kb), (), (*item.citations, *cites), item.sample_count,
            (), {"pages": round(item.value)},
        )
        for item in read_series(view, MetricReading("mem.refault_per_s", "mean"))
        if read_kb > 0
    ]  # fmt: skip


ReadTime = tuple[float, float, float, tuple[Citation, ...]]
"""How long a read takes, ms: on average, at least, at most; and the source."""


def _time_of_reads(view: HostView) -> ReadTime | None:
    """How long a read takes, ms: on average over all devices, on the quickest and on the slowest that read."""
    rates = {item.subject: item for item in read_series(view, MetricReading("disk.r_iops", "mean"))}
    stacked = list_stacked_devices(view)
    reads = [
        (item, rates[item.subject].value)
        for item in read_series(view, MetricReading("disk.r_await_ms", "mean"))
        if item.subject in rates and dict(item.subject).get("dev", "") not in stacked
    ]
    total = sum(rate for _, rate in reads)
    if not total:
        return None
    mean = sum(item.value * rate for item, rate in reads) / total
    cites = tuple(citation for item, _ in reads for citation in item.citations)
    return mean, min(item.value for item, _ in reads), max(item.value for item, _ in reads), cites


def _count_active(view: HostView) -> tuple[float, tuple[Citation, ...]]:
    """Tasks of the host that run or wait for I/O on average, at least 1.

    Pressure is lost time for each task that is active, up to the number of CPUs (kernel/sched/psi.c).
    """
    busy = read_series(view, MetricReading("cpu.total_busy_pct", "mean"))
    waiting = read_series(view, MetricReading("sched.blocked", "mean"))
    running = sum(item.value for item in busy) / 100.0 * (view.cpus or 1)
    cites = tuple(citation for item in (*busy, *waiting) for citation in item.citations)
    return max(1.0, running + sum(item.value for item in waiting)), cites


def _wait_for_reads(each: ReadTime | None, item: Measurement, active: float) -> Measurement | None:
    """Time that so many reads a second keep threads waiting, in percent of the time of active threads."""
    if each is None:
        return None if item.value else replace(item, value=0.0, interval=None)
    mean, least, most, cites = each
    low, value, high = (item.value * read_ms / 10.0 for read_ms in (least, mean, most))
    waiting = value / 100.0
    of = max(active, waiting)
    interval = Interval("sampled", low / of, high / of) if least < most else None
    return replace(
        item, value=value / of, interval=interval, citations=(*item.citations, *cites),
        detail={**item.detail, "faults": round(item.value), "read_ms": round(mean, 2)},
    )  # fmt: skip


def _fault_time(view: HostView) -> list[Measurement]:
    """Time that major faults of the host keep threads waiting, of the time of all active tasks."""
    active, cites = _count_active(view)
    faults = read_series(view, MetricReading("mem.pgmajfault_per_s", "mean"))
    each = _time_of_reads(view)
    waits = [_wait_for_reads(each, item, active) for item in faults]
    return [replace(wait, citations=(*wait.citations, *cites)) for wait in waits if wait is not None]


def _process_fault_time(view: HostView) -> list[Measurement]:
    """Time that major faults keep the threads of a process waiting; as perf counted them where it did.

    It is of the time of its active threads: those on a CPU, and those that wait.
    """
    results = []
    used = {row.text("pid"): (row.number("cpu") or 0.0) / 100.0 for row in view.rows("processes")}
    counted, each = view.rows("process_faults"), _time_of_reads(view)
    for row in counted or view.rows("processes"):
        faults = row.number("major_faults_per_s" if counted else "major_faults")
        if faults is not None and is_in_scope(view, row.text("pid")):
            detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid")}
            item = Measurement(
                faults, build_process_subject(view, row), cite_process(view, row), 1, (), detail
            )
            running = max(1.0, used.get(row.text("pid"), 0.0))
            if (wait := _wait_for_reads(each, item, running)) is not None:
                results.append(wait)
    return results


def _swap_time(view: HostView) -> list[Measurement]:
    """Time that threads wait for pages from swap: of the faults that read, no more than pages came from swap."""
    came = read_series(view, MetricReading("mem.pswpin_per_s", "mean"))
    faults = read_series(view, MetricReading("mem.pgmajfault_per_s", "mean"))
    results = []
    active, cites = _count_active(view)
    each = _time_of_reads(view)
    for item, fault in zip(came, faults, strict=False):
        least = replace(
            item, value=min(item.value, fault.value), citations=(*item.citations, *fault.citations)
        )
        wait = _wait_for_reads(each, least, active)
        if wait is not None:
            detail: Detail = {**wait.detail, "pages": round(item.value)}
            results.append(replace(wait, detail=detail, citations=(*wait.citations, *cites)))
    return results


def _swap_balance(view: HostView) -> list[Measurement]:
    """Pages that go to swap for each that comes back, percent."""
    out = read_series(view, MetricReading("mem.pswpout_per_s", "mean"))
    came = read_series(view, MetricReading("mem.pswpin_per_s", "mean"))
    return [
        Measurement(
            100.0 * gone.value / back.value, (), (*gone.citations, *back.citations), gone.sample_count
        )
        for gone, back in zip(out, came, strict=False)
        if back.value > 0
    ]


def _swap_of_refaults(view: HostView) -> list[Measurement]:
    """Pages that come from swap for each page of a file that is read again, percent."""
    came = read_series(view, MetricReading("mem.pswpin_per_s", "mean"))
    again = read_series(view, MetricReading("mem.refault_per_s", "mean"))
    return [
        Measurement(
            100.0 * back.value / item.value, (), (*back.citations, *item.citations), back.sample_count
        )
        for back, item in zip(came, again, strict=False)
        if item.value > 0
    ]


def _blocked(view: HostView) -> list[Measurement]:
    """Threads of each group with a memory limit that wait in the kernel on average, groups below included."""
    return measure_group_blocked(view, limited_groups(view))


def _swapped(view: HostView) -> list[Measurement]:
    """Of the memory of a process, the share that is in swap, percent."""
    results = []
    for row in view.rows("proc_memory"):
        swap, rss = row.number("swap_last_kb"), row.number("rss_last_kb")
        if swap and rss is not None:
            detail: Detail = {"comm": row.text("comm"), "swap_mb": round(swap / 1024)}
            share = 100.0 * swap / (swap + rss)
            results.append(
                Measurement(share, build_process_subject(view, row), cite_process(view, row), 1, (), detail)
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
    cites = (*came[0].citations, *[row.citation for row in rows])
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
READ_AGAIN = build_measure(
    "cgroup.read_again_pct",
    "pct",
    "Share of the reads of the group that were in memory before",
    "控制组读取中此前已在内存的比例",
    (("cgroup_mem",), ("proc_io", "iostat")),
    _read_again,
)
GROUP_FAULTS = build_measure(
    "cgroup.major_faults_per_s",
    "per_s",
    "Major faults of the group",
    "控制组主缺页",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "pgmajfault_per_s"),
)
HOST_READ_AGAIN = build_measure(
    "mem.read_again_pct",
    "pct",
    "Share of all reads that were in memory before",
    "全部读取中此前已在内存的比例",
    (("vmstat_proc",), ("iostat",)),
    _host_read_again,
)
GROUP_BLOCKED = build_measure(
    "cgroup.memory_blocked_threads",
    "count",
    "Threads of the group that wait in the kernel",
    "控制组内在内核中等待的线程数",
    (("cgroup_mem",), ("proc_threads",)),
    _blocked,
)
FAULT_TIME = build_measure(
    "mem.fault_time_pct",
    "pct",
    "Time that threads wait for major faults",
    "线程等待主缺页的时间",
    (("vmstat_proc",), ("iostat",)),
    _fault_time,
)
PROCESS_FAULT_TIME = build_measure(
    "proc.fault_time_pct",
    "pct",
    "Time that the process waits for major faults",
    "进程等待主缺页的时间",
    (("proc_top", "perf_stat_faults"), ("iostat",)),
    _process_fault_time,
)
SWAP_TIME = build_measure(
    "mem.swap_time_pct",
    "pct",
    "Time that threads wait for pages from swap",
    "线程等待换入的时间",
    (("vmstat_proc",), ("iostat",)),
    _swap_time,
)
SWAP_BALANCE = build_measure(
    "mem.swap_out_of_in_pct",
    "pct",
    "Pages that go to swap for each that comes",
    "每换入一页对应的换出",
    (("vmstat_proc",),),
    _swap_balance,
)
SWAP_OF_REFAULTS = build_measure(
    "mem.swap_in_of_refaults_pct",
    "pct",
    "Pages from swap for each page of a file read again",
    "每重读一个文件页对应的换入",
    (("vmstat_proc",),),
    _swap_of_refaults,
)
SWAP_SETTLES = build_measure(
    "mem.swap_settles_pct",
    "pct",
    "Pages from swap that stay",
    "换入后留在内存的比例",
    (("vmstat_proc",), ("proc_mem",)),
    _settles,
)
SWAPPED = build_measure(
    "proc.swapped_pct", "pct", "Share of the memory in swap", "内存在交换区的比例", (("proc_mem",),), _swapped
)
