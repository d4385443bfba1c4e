"""Heaps of JVMs against the memory that they may have: of those that were killed, and of the one that runs."""

from __future__ import annotations

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure
from culprit.domain.rules.measures.memory.kills import held_at_kill, killed_by_limit
from culprit.domain.rules.measures.places import get_target_group, group_of
from culprit.domain.rules.measures.service_time.reach import limited_groups
from culprit.domain.rules.view import HostView

_JVM = "java"
_KB_PER_MB = 1024.0


def _killed_jvms(view: HostView) -> list[Measurement]:
    """Anonymous memory of JVMs at the moment of their kill, as a share of the limit; the most of each group."""
    limits = {row.text("path"): row for row in limited_groups(view)}
    most: dict[str, Measurement] = {}
    for path, item in killed_by_limit(view):
        row, held_mb = limits.get(path), held_at_kill(item)
        limit_kb = row.number("limit_kb") if row else None
        if item.params.get("comm") != _JVM or row is None or not limit_kb or held_mb is None:
            continue
        detail: Detail = {
            "anon_mb": round(held_mb),
            "limit_mb": round(limit_kb / 1024),
            "cgroup": path,
        }
        share = 100.0 * held_mb * _KB_PER_MB / limit_kb
        if path not in most or share > most[path].value:
            most[path] = Measurement(share, (("cgroup", path),), (item.citation, row.citation), 1, (), detail)
    return list(most.values())


def _heaps(view: HostView) -> list[Measurement]:
    """The greatest heap of the running JVM as a share of its control group's limit."""
    paths = group_of(view)
    results = []
    for row in view.rows("jvm_heap"):
        share = row.number("max_heap_of_limit")
        group = paths.get(row.text("pid")) or get_target_group(view)
        pairs = {"pid": row.text("pid"), **({"cgroup": group} if group else {})}
        detail: Detail = {
            "max_heap_mb": round((row.number("max_heap") or 0) / (1 << 20)),
            "limit_mb": round((row.number("memory_limit") or 0) / (1 << 20)),
        }
        if share is not None:
            results.append(Measurement(share, tuple(sorted(pairs.items())), (row.citation,), 1, (), detail))
    return results


def _of_heaps(view: HostView, column: str, per_mb: float) -> list[Measurement]:
    """Measure a size of the running JVM in MiB, about the same as its heap; a missing value stays missing."""
    rows = {row.text("pid"): row for row in view.rows("jvm_heap")}
    results = []
    for item in _heaps(view):
        row = rows[dict(item.subject)["pid"]]
        size = row.number(column)
        if size:
            results.append(Measurement(size / per_mb, item.subject, (row.citation,), 1))
    return results


JVM_AT_LIMIT = build_measure(
    "jvm.killed_anon_of_limit_pct",
    "pct",
    "Memory of the killed JVM against the limit",
    "被终止 JVM 的内存占限额",
    (("kmsg",), ("cgroup_mem",)),
    _killed_jvms,
)
HEAP_OF_LIMIT = build_measure(
    "jvm.max_heap_of_limit_pct",
    "pct",
    "Greatest heap against the limit",
    "最大堆占内存限额",
    (("jvm_flags",),),
    _heaps,
)
MAX_HEAP = build_measure(
    "jvm.max_heap_mb",
    "mb",
    "Greatest heap (-Xmx)",
    "最大堆（-Xmx）",
    (("jvm_flags",),),
    lambda view: _of_heaps(view, "max_heap", 1 << 20),
)
HEAP_LIMIT = build_measure(
    "jvm.memory_limit_mb",
    "mb",
    "Memory limit of the JVM",
    "JVM 的内存限额",
    (("jvm_flags",),),
    lambda view: _of_heaps(view, "memory_limit", 1 << 20),
)
HEAP_USED = build_measure(
    "jvm.heap_used_mb",
    "mb",
    "Heap in use",
    "已用堆",
    (("jvm_flags",),),
    lambda view: _of_heaps(view, "heap_used", _KB_PER_MB),
)
