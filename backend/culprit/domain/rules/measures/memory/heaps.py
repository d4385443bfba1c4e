"""Heaps of JVMs against the memory that they may have: of those that were killed, and of the one that runs."""

from __future__ import annotations

from culprit.core.rules.contract import Measured
from culprit.core.rules.measures.derived import Detail, derived
from culprit.core.rules.measures.memory_kills import held_at_kill, killed_by_limit
from culprit.core.rules.measures.places import group_of, limited_groups, wanted_group
from culprit.core.rules.view import View

_JVM = "java"
_KB_PER_MB = 1024.0


def _killed_jvms(view: View) -> list[Measured]:
    """Anonymous memory of JVMs at the moment of their kill, as a share of the limit; the most of each group."""
    limits = {row.text("path"): row for row in limited_groups(view)}
    most: dict[str, Measured] = {}
    for path, one in killed_by_limit(view):
        row, held_mb = limits.get(path), held_at_kill(one)
        limit_kb = row.number("limit_kb") if row else None
        if one.params.get("comm") != _JVM or row is None or not limit_kb or held_mb is None:
            continue
        detail: Detail = {
            "anon_mb": round(held_mb),
            "limit_mb": round(limit_kb / 1024),
            "cgroup": path,
        }
        share = 100.0 * held_mb * _KB_PER_MB / limit_kb
        if path not in most or share > most[path].value:
            most[path] = Measured(share, (("cgroup", path),), (one.cite, row.cite), 1, (), detail)
    return list(most.values())


def _heaps(view: View) -> list[Measured]:
    """The greatest heap of the running JVM as a share of its control group's limit."""
    paths = group_of(view)
    found = []
    for row in view.rows("jvm_heap"):
        share = row.number("max_heap_of_limit")
        group = paths.get(row.text("pid")) or wanted_group(view)
        pairs = {"pid": row.text("pid"), **({"cgroup": group} if group else {})}
        detail: Detail = {
            "max_heap_mb": round((row.number("max_heap") or 0) / (1 << 20)),
            "limit_mb": round((row.number("memory_limit") or 0) / (1 << 20)),
        }
        if share is not None:
            found.append(Measured(share, tuple(sorted(pairs.items())), (row.cite,), 1, (), detail))
    return found


def _of_heaps(view: View, column: str, per_mb: float) -> list[Measured]:
    """A size of the running JVM, MiB, about the same as its heap; it says nought of what it did not tell."""
    rows = {row.text("pid"): row for row in view.rows("jvm_heap")}
    found = []
    for one in _heaps(view):
        row = rows[dict(one.subject)["pid"]]
        size = row.number(column)
        if size:
            found.append(Measured(size / per_mb, one.subject, (row.cite,), 1))
    return found


JVM_AT_LIMIT = derived(
    "jvm.killed_anon_of_limit_pct",
    "pct",
    "Memory of the killed JVM against the limit",
    "被终止 JVM 的内存占限额",
    (("kmsg",), ("cgroup_mem",)),
    _killed_jvms,
)
HEAP_OF_LIMIT = derived(
    "jvm.max_heap_of_limit_pct",
    "pct",
    "Greatest heap against the limit",
    "最大堆占内存限额",
    (("jvm_flags",),),
    _heaps,
)
MAX_HEAP = derived(
    "jvm.max_heap_mb",
    "mb",
    "Greatest heap (-Xmx)",
    "最大堆（-Xmx）",
    (("jvm_flags",),),
    lambda view: _of_heaps(view, "max_heap", 1 << 20),
)
HEAP_LIMIT = derived(
    "jvm.memory_limit_mb",
    "mb",
    "Memory limit of the JVM",
    "JVM 的内存限额",
    (("jvm_flags",),),
    lambda view: _of_heaps(view, "memory_limit", 1 << 20),
)
HEAP_USED = derived(
    "jvm.heap_used_mb",
    "mb",
    "Heap in use",
    "已用堆",
    (("jvm_flags",),),
    lambda view: _of_heaps(view, "heap_used", _KB_PER_MB),
)
