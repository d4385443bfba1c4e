"""Numbers about what holds the memory that is not available, besides programs and their files."""

from __future__ import annotations

from dataclasses import dataclass

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.derived import Detail, build_measure, read_series
from culprit.domain.rules.measures.service_time.reach import limited_groups
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

_MEMORY_TYPES = ("tmpfs", "ramfs", "devtmpfs")


def _share_of_taken(view: HostView, metric: str) -> list[Measurement]:
    """Measure this use as a share of all memory that is not available."""
    held = read_series(view, MetricReading(metric, "mean"))
    total = read_series(view, MetricReading("mem.total_kb", "last"))
    available = read_series(view, MetricReading("mem.available_kb", "mean"))
    if not held or not total or not available or total[0].value <= available[0].value:
        return []
    taken = total[0].value - available[0].value
    detail: Detail = {
        "held_mb": round(held[0].value / 1024),
        "taken_mb": round(taken / 1024),
        "mounts": _list_memory_mounts(view),
    }
    cites = (*held[0].citations, *total[0].citations, *available[0].citations)
    return [Measurement(100.0 * held[0].value / taken, (), cites, held[0].sample_count, (), detail)]


def _list_memory_mounts(view: HostView) -> str:
    """The file systems in memory that hold most."""
    held = {
        row.text("mountpoint"): row.number("used_kb") or 0.0
        for row in view.rows("mounts")
        if row.text("fstype") in _MEMORY_TYPES
    }
    largest = sorted(held.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{mount} {round(kb / 1024)} MiB" for mount, kb in largest if kb >= 1024) or "?"


def _fullest_group(view: HostView) -> list[Measurement]:
    """Measure how full the fullest group with a limit is; 0 where no group has a limit."""
    rows = [row for row in limited_groups(view) if row.number("usage_pct") is not None]
    if not rows:
        return [Measurement(0.0, (), (row.citation,)) for row in view.rows("cgroup_mem")[:1]] or [
            Measurement(0.0)
        ]
    fullest = max(rows, key=lambda row: row.number("usage_pct") or 0.0)
    return [Measurement(fullest.number("usage_pct") or 0.0, (), (fullest.citation,), 1)]


@dataclass(frozen=True, slots=True)
class _GroupParts:
    """Memory of a control group in kB: of programs, of files, and the rest, which is objects of the kernel.

    `in_memory` is the part of the files that have no disk behind them; None where the capture did not read it.
    """

    row: TableRow
    limit: float
    anon: float
    file: float
    kernel: Interval
    in_memory: float | None = None

    def measure_kernel(self, base: float) -> Measurement:
        """Measure the kernel's part in percent of this many kB."""
        path = self.row.text("path")
        detail: Detail = {
            "cgroup": path,
            "held_mb": round(self.kernel.high / 1024),
            "limit_mb": round(self.limit / 1024),
        }
        low, high = 100.0 * self.kernel.low / base, 100.0 * self.kernel.high / base
        interval = Interval("exact", low, high)
        return Measurement(high, (("cgroup", path),), (self.row.citation,), 1, (), detail, interval)

    def measure_memory_files(self, base: float) -> Measurement:
        """Measure files in memory in percent of this many kB."""
        path, held = self.row.text("path"), self.in_memory or 0.0
        detail: Detail = {"cgroup": path, "held_mb": round(held / 1024), "limit_mb": round(self.limit / 1024)}
        return Measurement(100.0 * held / base, (("cgroup", path),), (self.row.citation,), 1, (), detail)


def _list_group_parts(view: HostView) -> list[_GroupParts]:
    """Return the parts of each group with a limit.

    Each CPU reserves up to 64 pages ahead for a group, which belong to none of the three.
    """
    reserved_kb = 64 * 4 * (view.cpus or 1)
    results = []
    for row in limited_groups(view):
        limit, usage = row.number("limit_kb"), row.number("usage_kb")
        anon, cached = row.number("anon_kb"), row.number("file_kb")
        if not limit or usage is None or anon is None or cached is None:
            continue
        held = max(0.0, usage - anon - cached)
        kernel = Interval("exact", max(0.0, held - reserved_kb), held)
        results.append(_GroupParts(row, limit, anon, cached, kernel, row.number("shmem_kb")))
    return results


def _kernel_part(view: HostView) -> list[Measurement]:
    """Percent of the limit of each group that objects of the kernel take."""
    return [parts.measure_kernel(parts.limit) for parts in _list_group_parts(view)]


def _kernel_lead(view: HostView) -> list[Measurement]:
    """Percent of the larger of the two other parts of each group that objects of the kernel take."""
    return [
        parts.measure_kernel(other)
        for parts in _list_group_parts(view)
        if (other := max(parts.anon, parts.file)) > 0
    ]


def _memory_file_part(view: HostView) -> list[Measurement]:
    """Percent of the limit of each group that files in memory take."""
    return [
        parts.measure_memory_files(parts.limit)
        for parts in _list_group_parts(view)
        if parts.in_memory is not None
    ]


def _memory_file_lead(view: HostView) -> list[Measurement]:
    """Percent of the larger other use of each group, programs or cached files, that files in memory take."""
    return [
        parts.measure_memory_files(other)
        for parts in _list_group_parts(view)
        if parts.in_memory is not None and (other := max(parts.anon, parts.file - parts.in_memory)) > 0
    ]


_MEMINFO = (("meminfo",),)
SLAB = build_measure(
    "mem.slab_share_pct",
    "pct",
    "Unreclaimable slab of the memory that is taken",
    "不可回收 slab 占已用内存",
    _MEMINFO,
    lambda view: _share_of_taken(view, "mem.slab_unreclaimable_kb"),
)
PAGE_TABLES = build_measure(
    "mem.page_tables_share_pct",
    "pct",
    "Page tables of the memory that is taken",
    "页表占已用内存",
    _MEMINFO,
    lambda view: _share_of_taken(view, "mem.page_tables_kb"),
)
MEMORY_FILES = build_measure(
    "mem.shmem_share_pct",
    "pct",
    "Files in memory of the memory that is taken",
    "内存文件占已用内存",
    _MEMINFO,
    lambda view: _share_of_taken(view, "mem.shmem_kb"),
)
UNUSED_HUGE_PAGES = build_measure(
    "mem.huge_pages_free_share_pct",
    "pct",
    "Unused huge pages of the memory that is taken",
    "未使用大页占已用内存",
    _MEMINFO,
    lambda view: _share_of_taken(view, "mem.huge_pages_free_kb"),
)
GROUP_KERNEL = build_measure(
    "cgroup.kernel_of_limit_pct",
    "pct",
    "Kernel objects of the memory limit",
    "内核对象占内存限额",
    (("cgroup_mem",),),
    _kernel_part,
)
GROUP_KERNEL_LEAD = build_measure(
    "cgroup.kernel_of_largest_pct",
    "pct",
    "Kernel objects of the larger of programs and files",
    "内核对象相对程序与文件中较大者",
    (("cgroup_mem",),),
    _kernel_lead,
)
GROUP_MEMORY_FILES = build_measure(
    "cgroup.shmem_of_limit_pct",
    "pct",
    "Files in memory of the memory limit",
    "内存文件占内存限额",
    (("cgroup_mem",),),
    _memory_file_part,
)
GROUP_MEMORY_FILES_LEAD = build_measure(
    "cgroup.shmem_of_largest_pct",
    "pct",
    "Files in memory of the larger of programs and cached files",
    "内存文件相对程序与缓存文件中较大者",
    (("cgroup_mem",),),
    _memory_file_lead,
)
FULLEST_GROUP = build_measure(
    "cgroup.fullest_pct",
    "pct",
    "The fullest control group with a limit",
    "最满的受限控制组",
    (("cgroup_mem",),),
    _fullest_group,
)
