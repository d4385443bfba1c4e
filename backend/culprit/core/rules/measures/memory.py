"""Numbers about memory that take more than one series: kills, refaults, heaps, leaks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from culprit.core.rules.contract import Measured, Over
from culprit.core.rules.measures.derived import Detail, derived, series
from culprit.core.rules.measures.places import (
    asked_about,
    group_of,
    inside,
    limited_groups,
    process,
    wanted_group,
)
from culprit.core.rules.view import Happening, View

#: A kill counts as what the host is doing now for this long.
RECENT_NS = 10 * 60 * 1_000_000_000
_LIMITED_BY = re.compile(r" \[(/[^\]]*)\]$")
_ANON = re.compile(r"anon-rss:(\d{1,15})kB")
_JVM = "java"
#: So many readings over so long, in each step at least this share of the mean growth. Measured over eight seconds on
#: two CPUs with four programs for each: what leaks with every request of a steady load 0.99, in a JVM 0.66 to 0.93;
#: imports, browsers and garbage-collected heaps 0 to 0.53.
_STEADY_READINGS, _STEADY_S, _STEADY_SHARE = 4, 4.5, 0.6
_PAGE_KB = 4.0


def _now_ns(view: View) -> int | None:
    """The end of the capture, by the clock of its own series."""
    return max((int(lane.t_ns[-1]) for lane in view.of("mem.available_kb") if len(lane.t_ns)), default=None)


def _recent(view: View, *kinds: str) -> Iterator[Happening]:
    now = _now_ns(view)
    for one in view.happened(*kinds):
        if now is None or abs(now - one.t_ns) <= RECENT_NS:
            yield one


def killed_by_limit(view: View) -> Iterator[tuple[str, Happening]]:
    """(control group, kill) of the last minutes, of groups that this capture saw or was about.

    The kernel's log is shared by all containers of a machine: a kill of a group that is neither there now nor
    asked about is somebody else's.
    """
    seen = {row.text("path") for row in view.rows("cgroup_mem")}
    scope = wanted_group(view)
    for one in _recent(view, "oom_kill_cgroup"):
        named = _LIMITED_BY.search(one.detail)
        path = named[1] if named else ""
        if path and inside(path, scope) and (scope or not view.has("cgroup_mem") or path in seen):
            yield path, one


def _group_kills(view: View) -> list[Measured]:
    """Kills for want of memory under a group's limit: those that the log tells, or more where the group counts more."""
    told: defaultdict[str, list[Happening]] = defaultdict(list)
    for path, one in killed_by_limit(view):
        told[path].append(one)
    rows = {row.text("path"): row for row in limited_groups(view)}
    found = []
    for path in sorted(rows.keys() | told.keys()):
        kills, row = told.get(path, []), rows.get(path)
        counted = (row.number("oom_kills") or 0.0) if row else 0.0
        citations = (*((row.cite,) if row else ()), *(one.cite for one in kills[:4]))
        comms = sorted({str(one.params.get("comm", "")) for one in kills})
        limit_kb = row.number("limit_kb") if row else None
        detail: Detail = {
            "cgroup": path,
            "comm": ", ".join(comms[:3]) or "?",
            "limit_mb": round((limit_kb or 0) / 1024),
        }
        found.append(
            Measured(max(counted, float(len(kills))), (("cgroup", path),), citations, len(kills), (), detail)
        )
    return found


def _old_kills(view: View) -> list[Measured]:
    """Kills since the group was made, with none in the capture."""
    return [
        Measured(row.number("oom_kills_ever") or 0.0, (("cgroup", row.text("path")),), (row.cite,))
        for row in limited_groups(view)
        if not row.number("oom_kills")
    ]


def _host_kills(view: View) -> list[Measured]:
    return [
        Measured(
            1.0,
            (("comm", str(one.params.get("comm", ""))),),
            (one.cite,),
            1,
            (),
            {"pid": str(one.params.get("pid", "")), "comm": str(one.params.get("comm", ""))},
        )
        for one in _recent(view, "oom_kill")
    ]


def _killed_containers(view: View) -> list[Measured]:
    return [
        Measured(
            row.number("oom_killed") or 0.0,
            (("container", row.text("name")),),
            (row.cite,),
            detail={
                "exit_code": row.text("exit_code"),
                "state": row.text("state"),
                "container": row.text("name"),
            },
        )
        for row in view.rows("containers")
        if row.number("oom_killed") is not None
    ]


def _exit_codes(view: View) -> list[Measured]:
    return [
        Measured(row.number("exit_code") or 0.0, (("container", row.text("name")),), (row.cite,))
        for row in view.rows("containers")
        if row.number("exit_code") is not None and row.text("state") == "exited"
    ]


def _killed_jvms(view: View) -> list[Measured]:
    """Anonymous memory of JVMs at the moment of their kill, as a share of the limit; the most of each group."""
    limits = {row.text("path"): row for row in limited_groups(view)}
    most: dict[str, Measured] = {}
    for path, one in killed_by_limit(view):
        row, anon = limits.get(path), _ANON.search(one.detail)
        limit_kb = row.number("limit_kb") if row else None
        if one.params.get("comm") != _JVM or row is None or not limit_kb or anon is None:
            continue
        detail: Detail = {
            "anon_mb": round(int(anon[1]) / 1024),
            "limit_mb": round(limit_kb / 1024),
            "cgroup": path,
        }
        share = 100.0 * int(anon[1]) / limit_kb
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


def _of_groups(view: View, column: str) -> list[Measured]:
    found = []
    for row in limited_groups(view):
        value = row.number(column)
        if value is not None:
            limit_mb = round((row.number("limit_kb") or 0) / 1024)
            detail: Detail = {"cgroup": row.text("path"), "limit_mb": limit_mb}
            found.append(Measured(value, (("cgroup", row.text("path")),), (row.cite,), 1, (), detail))
    return found


def _kb_per_fault(view: View) -> list[Measured]:
    """What is read again for each major fault of a group: with much read-ahead, few faults hide a lot of reading."""
    found = []
    for row in limited_groups(view):
        refaults, faults = row.number("refault_file_per_s"), row.number("pgmajfault_per_s")
        if refaults is not None and faults:
            found.append(Measured(_PAGE_KB * refaults / faults, (("cgroup", row.text("path")),), (row.cite,)))
    return found


def _faulting(view: View) -> list[Measured]:
    """Major faults of processes that lived through the whole capture, per second; as perf counted them where it did."""
    found = []
    counted = view.rows("process_faults")
    for row in counted or view.rows("processes"):
        faults = row.number("major_faults_per_s" if counted else "major_faults")
        if faults is not None and asked_about(view, row.text("pid")):
            detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid")}
            found.append(Measured(faults, process(view, row), (row.cite,), 1, (), detail))
    return found


def _fault_waits(view: View) -> list[Measured]:
    """Threads of a process that are stuck in the kernel at a moment, of processes with major faults."""
    faults = {
        row.text("pid"): row for row in view.rows("processes") if (row.number("major_faults") or 0.0) >= 1.0
    }
    found = []
    for row in view.rows("thread_groups"):
        blocked, fault = row.number("mean_blocked"), faults.get(row.text("pid"))
        if blocked is not None and fault is not None:
            found.append(Measured(blocked, process(view, row), (row.cite, fault.cite)))
    return found


def _growing(view: View) -> list[Measured]:
    """Anonymous memory that grew from each reading to the next, and about as fast, MB per second.

    A program that starts, a heap before its collection, a cache that fills grow in bursts, faster and slower.
    """
    found = []
    for row in view.rows("proc_memory"):
        growth, first = row.number("anon_growth_kb_per_s"), row.number("anon_first_kb")
        if growth is None or first is None or not asked_about(view, row.text("pid")):
            continue
        slowest, readings = row.number("anon_slowest_kb_per_s"), row.number("readings") or 0
        if readings < _STEADY_READINGS or (row.number("seen_s") or 0.0) < _STEADY_S:
            continue
        if not slowest or slowest < _STEADY_SHARE * growth:
            continue
        detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid"), "rss_mb": round(first / 1024)}
        found.append(Measured(growth / 1024, process(view, row), (row.cite,), int(readings), (), detail))
    return found


def _swapped(view: View) -> list[Measured]:
    found = []
    for row in view.rows("proc_memory"):
        swap = row.number("swap_last_kb")
        if swap:
            found.append(Measured(swap, process(view, row), (row.cite,), 1, (), {"comm": row.text("comm")}))
    return found


def _settles(view: View) -> list[Measured]:
    """Of the pages that came back from swap, how many percent their processes kept.

    A program that wakes up keeps them. Where memory is too small, each page that comes pushes one out; one that was
    only read still has its copy in swap and leaves without being written, so that `pswpout` does not count it.
    """
    came = series(view, Over("mem.pswpin_per_s", "mean"))
    rows = view.rows("proc_memory")
    lanes = [lane for lane in view.of("mem.pswpin_per_s") if len(lane.t_ns) > 1]
    if not came or not rows or not lanes:
        return []
    readings = len(lanes[0].t_ns)
    seconds = float(lanes[0].t_ns[-1] - lanes[0].t_ns[0]) * readings / (readings - 1) / 1e9
    came_kb = came[0].value * seconds * _PAGE_KB
    if came_kb <= 0:
        return []
    kept_kb = sum((row.number("swap_first_kb") or 0.0) - (row.number("swap_last_kb") or 0.0) for row in rows)
    cites = (*came[0].citations, *[row.cite for row in rows if row.number("swap_last_kb")][:1])
    return [Measured(max(0.0, 100.0 * kept_kb / came_kb), (), cites, came[0].n)]


OOM_KILLS = derived(
    "cgroup.oom_kills_recent",
    "count",
    "Kills under the limit of the group",
    "控制组限额内的 OOM 终止",
    (("cgroup_mem", "kmsg"),),
    _group_kills,
)
OOM_KILLS_BEFORE = derived(
    "cgroup.oom_kills_before",
    "count",
    "Earlier kills in the group",
    "控制组此前的 OOM 终止",
    (("cgroup_mem",),),
    _old_kills,
)
HOST_OOM_KILLS = derived(
    "host.oom_kills_recent",
    "count",
    "Kills for want of memory on the host",
    "主机级 OOM 终止",
    (("kmsg",),),
    _host_kills,
)
CONTAINER_OOM = derived(
    "container.oom_killed",
    "count",
    "The engine says that it was OOM-killed",
    "容器引擎报告 OOMKilled",
    (("container_state",),),
    _killed_containers,
)
CONTAINER_EXIT = derived(
    "container.exit_code",
    "count",
    "Exit code of the container",
    "容器退出码",
    (("container_state",),),
    _exit_codes,
)
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
USAGE = derived(
    "cgroup.memory_usage_pct",
    "pct",
    "Memory against the limit",
    "内存使用占限额",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "usage_pct"),
)
ANON = derived(
    "cgroup.memory_anon_pct",
    "pct",
    "Anonymous memory against the limit",
    "匿名内存占限额",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "anon_pct"),
)
REFAULTS = derived(
    "cgroup.refaults_per_s",
    "pages_per_s",
    "Pages of files read again",
    "重新读入的文件页",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "refault_file_per_s"),
)
GROUP_PRESSURE = derived(
    "cgroup.psi_full_avg10_pct",
    "pct",
    "Memory pressure of the group, full",
    "控制组内存压力（full）",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "psi_full_avg10"),
)
GROUP_FAULTS = derived(
    "cgroup.major_faults_per_s",
    "per_s",
    "Major faults of the group",
    "控制组主缺页",
    (("cgroup_mem",),),
    lambda view: _of_groups(view, "pgmajfault_per_s"),
)
KB_PER_FAULT = derived(
    "cgroup.read_again_per_fault_kb",
    "kb",
    "Read again for each major fault",
    "每次主缺页重读量",
    (("cgroup_mem",),),
    _kb_per_fault,
)
PROCESS_FAULTS = derived(
    "proc.major_faults_per_s",
    "per_s",
    "Major faults of the process",
    "进程主缺页",
    (("proc_top", "perf_stat_faults"),),
    _faulting,
)
FAULT_WAITS = derived(
    "proc.blocked_while_faulting",
    "count",
    "Threads stuck while faulting",
    "缺页时阻塞的线程",
    (("proc_threads",), ("proc_top",)),
    _fault_waits,
)
GROWTH = derived(
    "proc.anon_growth_mb_per_s",
    "mb_per_s",
    "Growth of anonymous memory",
    "匿名内存增长",
    (("proc_mem",),),
    _growing,
)
SWAP_SETTLES = derived(
    "mem.swap_settles_pct",
    "pct",
    "Pages from swap that stay",
    "换入后留在内存的比例",
    (("vmstat_proc",), ("proc_mem",)),
    _settles,
)
SWAPPED = derived("proc.swapped_kb", "kb", "Swapped out", "被换出的内存", (("proc_mem",),), _swapped)
