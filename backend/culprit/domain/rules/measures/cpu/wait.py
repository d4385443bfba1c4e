"""Which tasks wait for a CPU, and the cause: their own number, their limit, or other tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.cpu.profile import find_serving_processes
from culprit.domain.rules.measures.cpu.run_queue import (
    Crowd,
    allowed_cpus,
    cite_allowed_cpus,
    count_online_cpus,
    find_most_throttled,
    get_covered_seconds,
    held_up,
    list_crowds,
)
from culprit.domain.rules.measures.derived import merge_citations, read_series
from culprit.domain.rules.measures.places import is_capture_group, is_inside_group, read_cpu_pct
from culprit.domain.rules.measures.service_time.shares import get_service_times
from culprit.domain.rules.rule import Measure, MetricReading
from culprit.domain.rules.view import HostView, TableRow

#: Names of kernel threads whose work is the network's or the memory's; those have causes of their own.
OTHERS_WORK = ("ksoftirqd", "kswapd", "kcompactd", "irq")
SCHEDSTAT = ("proc_schedstat",)


def _measured(crowd: Crowd, value: float, cites: Sequence[Citation], **detail: str | float) -> Measurement:
    return Measurement(
        value, crowd.subject, merge_citations(cites), int(crowd.turns), (), {"name": crowd.name, **detail}
    )


def _runnable(view: HostView) -> Iterator[Measurement]:
    """Runnable threads (running or waiting) at a moment for each CPU allowed; less than one CPU counts as one."""
    span = get_covered_seconds(view)
    for crowd in list_crowds(view):
        allowed = allowed_cpus(view, crowd)
        if span > 0 and allowed:
            runnable = (crowd.run_s + crowd.wait_s) / span
            yield _measured(
                crowd, runnable / max(1.0, allowed), [*crowd.cites, *cite_allowed_cpus(view, crowd)],
                runnable=round(runnable, 1), cpus=round(allowed, 2), processes=crowd.processes,
            )  # fmt: skip


def _runnable_per_request(view: HostView) -> Iterator[Measurement]:
    """Runnable threads of a crowd for each request that its services have accepted; fewer than one count as one.

    A thread that works on a request is load: with fewer threads, the same work waits in a queue. A worker may read the
    end of its request only when it has answered (PHP-FPM does), so a request counts once its connection is accepted.
    """
    span = get_covered_seconds(view)
    accounts = get_service_times(view).accounts
    for crowd in list_crowds(view):
        if span > 0:
            mine = [item for item in accounts if item.service.pids & {str(pid) for pid in crowd.pids}]
            taken = sum(item.accepted for item in mine)
            cites = (*crowd.cites, *(citation for item in mine for citation in item.sources))
            runnable = (crowd.run_s + crowd.wait_s) / span
            yield _measured(crowd, runnable / max(1.0, taken), cites, taken=round(taken, 1))


def _serves(view: HostView) -> Iterator[Measurement]:
    """Whether someone waits for a crowd: it has a listening socket, or the capture is about it.

    Where no socket was read, all are taken to serve.
    """
    services = get_service_times(view).services.services
    serving = {pid for item in services if item.ports for pid in item.pids}
    for crowd in list_crowds(view):
        mine = {str(pid) for pid in crowd.pids}
        is_named = str(view.target.get("pid")) in mine or _is_in_target_group(view, crowd)
        value = float(not serving or is_named or bool(mine & serving))
        yield _measured(crowd, value, [*crowd.cites, *(row.citation for row in view.rows("listeners"))])


def _is_in_target_group(view: HostView, crowd: Crowd) -> bool:
    group = view.target.get("cgroup")
    return isinstance(group, str) and group not in ("", "/") and is_inside_group(crowd.group, group)


def _delay(view: HostView) -> Iterator[Measurement]:
    """Measure the mean wait of each crowd; healthy crowds are included so that a recovery is visible."""
    for crowd in list_crowds(view):
        if crowd.turns:
            yield _measured(crowd, crowd.delay_ms, crowd.cites)


def _lost(view: HostView) -> Iterator[Measurement]:
    """Of the CPU time that a crowd wanted, the share in which its threads waited for a CPU."""
    for crowd in list_crowds(view):
        if crowd.run_s + crowd.wait_s > 0:
            yield _measured(crowd, crowd.lost_pct, crowd.cites, delay_ms=round(crowd.delay_ms, 2))


def _waiting(view: HostView) -> Iterator[Measurement]:
    """How many threads of a crowd wait for a CPU at a moment."""
    span = get_covered_seconds(view)
    for crowd in list_crowds(view):
        if span > 0:
            yield _measured(crowd, crowd.wait_s / span, crowd.cites)


def _stretch(view: HostView) -> Iterator[Measurement]:
    """How many times as long work takes as its CPU time: the time on a CPU and waiting for one, over the first."""
    rows = sorted(view.rows("processes"), key=lambda row: -read_cpu_pct(row))[:3]
    busiest = ", ".join(f"{row.text('comm')} {read_cpu_pct(row):.0f} %" for row in rows) or "-"
    for crowd in list_crowds(view):
        if crowd.run_s > 0:
            yield _measured(crowd, (crowd.run_s + crowd.wait_s) / crowd.run_s, crowd.cites, busiest=busiest)


def _serving_lost(view: HostView) -> Iterator[Measurement]:
    """Of the CPU time that serving programs wanted, the share in which they waited; a request waits with them."""
    requested = {pid for family in find_serving_processes(view).values() for pid in family}
    for crowd in list_crowds(view):
        mine = crowd.pids & requested
        rows = [row for row in view.rows("sched_delay") if int(row.number("pid") or 0) in mine]
        wait_s, run_s = (sum(row.number(name) or 0.0 for row in rows) for name in ("wait_s", "run_s"))
        if wait_s + run_s > 0:
            lost_pct = 100.0 * wait_s / (wait_s + run_s)
            yield _measured(crowd, lost_pct, [row.citation for row in rows])


def _own_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the CPUs that it may use that a crowd used itself."""
    span = get_covered_seconds(view)
    for crowd in list_crowds(view):
        allowed = allowed_cpus(view, crowd)
        if span > 0 and allowed:
            cites = [*crowd.cites, *cite_allowed_cpus(view, crowd)]
            yield _measured(crowd, 100.0 * crowd.run_s / span / allowed, cites)


def _throttled(view: HostView) -> Iterator[Measurement]:
    """Percent of periods in which a limit struck: of the groups that have one."""
    for row in view.rows("cgroup_cpu"):
        share = row.number("throttled_pct")
        if share is not None and row.number("own_quota_cores") and not is_capture_group(row.text("path")):
            subject = (("cgroup", row.text("path")),)
            detail = {"quota": round(row.number("quota_cores") or 0.0, 3)}
            yield Measurement(share, subject, (row.citation,), int(row.number("periods") or 0), (), detail)


def _throttled_crowd(view: HostView) -> Iterator[Measurement]:
    """The same for each crowd, under the limit of its own or above it."""
    for crowd in list_crowds(view):
        row = find_most_throttled(view, crowd.group)
        share = row.number("throttled_pct") if row else None
        if row is not None and share is not None:
            quota = round(row.number("quota_cores") or 0.0, 3)
            cites = [*crowd.cites, *cite_allowed_cpus(view, crowd)]
            yield _measured(crowd, share, cites, quota=quota, limit=row.text("path"))


def _periods(view: HostView) -> Iterator[Measurement]:
    """Periods of the limit in the window."""
    for crowd in list_crowds(view):
        row = find_most_throttled(view, crowd.group)
        if row is not None:
            cites = [*crowd.cites, *cite_allowed_cpus(view, crowd)]
            yield _measured(crowd, row.number("periods") or 0.0, cites)
    for row in view.rows("cgroup_cpu"):
        yield Measurement(row.number("periods") or 0.0, (("cgroup", row.text("path")),), (row.citation,))


def list_competitors(view: HostView, crowd: Crowd) -> list[TableRow]:
    """Processes and kernel threads outside a crowd that ran last on a CPU that it may use, the busiest first."""
    return [
        row
        for row in view.rows("processes")
        if int(row.number("pid") or 0) not in crowd.pids
        and (not crowd.allowed or row.number("last_cpu") in crowd.allowed)
    ]


def cite_competition(view: HostView, crowd: Crowd, related: Sequence[TableRow]) -> list[Citation]:
    """Return what shows that a crowd waits, what it may use, and who competes with it in which control group."""
    pids = {int(row.number("pid") or 0) for row in related}
    groups = [row for row in view.rows("sched_delay") if int(row.number("pid") or 0) in pids]
    rows = (row.citation for row in (*related, *groups))
    return [*crowd.cites, *cite_allowed_cpus(view, crowd), *rows]


def count_cores(rows: Sequence[TableRow]) -> float:
    """Return the CPUs that processes used on average."""
    return sum(map(read_cpu_pct, rows)) / 100.0


def _others(view: HostView) -> Iterator[Measurement]:
    """Share of the CPUs that a waiting crowd may use that a neighbor uses: another group, or a program in no group.

    Only where the neighbor uses more than the crowd itself, than all others together and than kernel threads. Where
    several use as much as each other, the host has more work than CPUs, and none of them is the neighbor.
    """
    span = get_covered_seconds(view)
    groups = {int(row.number("pid") or 0): row.text("cgroup") for row in view.rows("sched_delay")}
    for crowd in held_up(view):
        allowed, related = allowed_cpus(view, crowd), list_competitors(view, crowd)
        kernel = [row for row in related if row.number("kernel_thread")]
        neighbors: dict[str, list[TableRow]] = {}
        for row in related:
            group = groups.get(int(row.number("pid") or 0), "").strip("/")
            if not row.number("kernel_thread") and not is_capture_group(f"/{group}"):
                neighbors.setdefault(f"/{group}" if group else row.text("comm"), []).append(row)
        ranked = sorted(neighbors.values(), key=count_cores, reverse=True)
        own, rest = crowd.run_s / span, sum(count_cores(rows) for rows in ranked[1:])
        if not allowed or not ranked or count_cores(ranked[0]) <= max(own, rest, count_cores(kernel)):
            continue
        cores = count_cores(ranked[0])
        yield _measured(
            crowd, 100.0 * cores / allowed, cite_competition(view, crowd, related),
            by=ranked[0][0].text("comm"), own=round(own, 3), cores=round(cores, 2), cpus=round(allowed, 2),
        )  # fmt: skip


def kernel_class(comm: str) -> str:
    """`kworker/u8:3-btrfs-delalloc` and `kworker/u9:1` are both kworker, `ksmd` is ksmd."""
    return comm.partition("/")[0].rstrip("0123456789.")


def _kernel_thread(view: HostView) -> Iterator[Measurement]:
    """CPU of single kernel threads, percent of one CPU."""
    for row in view.rows("processes"):
        if row.number("kernel_thread"):
            subject = (("comm", row.text("comm")),)
            yield Measurement(
                row.number("cpu") or 0.0, subject, (row.citation,), detail={"name": row.text("comm")}
            )


def _kernel_share(view: HostView) -> Iterator[Measurement]:
    """Share of the CPUs that a waiting crowd may use that the busiest class of kernel threads uses."""
    for crowd in held_up(view):
        related = list_competitors(view, crowd)
        others = [row for row in related if not row.number("kernel_thread")]
        classes: dict[str, list[TableRow]] = {}
        for row in related:
            name = kernel_class(row.text("comm"))
            if row.number("kernel_thread") and not name.startswith(OTHERS_WORK):
                classes.setdefault(name, []).append(row)
        allowed = allowed_cpus(view, crowd)
        if classes and allowed:
            name = max(classes, key=lambda each: count_cores(classes[each]))
            if count_cores(classes[name]) > count_cores(others):
                cites = cite_competition(view, crowd, related)
                yield _measured(crowd, 100.0 * count_cores(classes[name]) / allowed, cites, by=name)


def _switches(view: HostView) -> Iterator[Measurement]:
    """Context switches a second for each CPU, in most readings."""
    online = count_online_cpus(view)
    for item in read_series(view, MetricReading("sched.switches_per_s", "held")):
        if online:
            yield replace(item, value=item.value / online)


SWITCHES = Measure(
    id="sched.switches_per_cpu_per_s",
    unit="per_s",
    title=Text("Context switches for each CPU", "每个 CPU 的上下文切换"),
    needs=(("vmstat", "cpu_stat"),),
    read=lambda view: list(_switches(view)),
)
RUNNABLE_PER_CPU = Measure(
    id="sched.runnable_per_allowed_cpu",
    unit="count",
    title=Text("Runnable threads per CPU that they may use", "每个可用 CPU 上的可运行线程数"),
    needs=(SCHEDSTAT, ("cgroup_cpu",)),
    read=lambda view: list(_runnable(view)),
)
RUNNABLE_PER_REQUEST = Measure(
    id="sched.runnable_per_request",
    unit="ratio",
    title=Text("Runnable threads for each request", "每个请求对应的可运行线程数"),
    needs=(SCHEDSTAT,),
    read=lambda view: list(_runnable_per_request(view)),
)
SERVES = Measure(
    id="sched.serves",
    unit="bool",
    title=Text("Clients wait for these threads", "存在等待这些线程的客户端"),
    needs=(SCHEDSTAT,),
    read=lambda view: list(_serves(view)),
)
DELAY = Measure(
    id="sched.delay_ms_per_turn",
    unit="ms",
    title=Text("Mean wait before a turn on a CPU", "每次上 CPU 前的平均等待"),
    needs=(SCHEDSTAT,),
    read=lambda view: list(_delay(view)),
)
WAITING = Measure(
    id="sched.waiting_threads",
    unit="count",
    title=Text("Threads waiting for a CPU at a moment", "同一时刻等待 CPU 的线程数"),
    needs=(SCHEDSTAT,),
    read=lambda view: list(_waiting(view)),
)
STRETCH = Measure(
    id="sched.stretch_times",
    unit="ratio",
    title=Text("Duration of CPU work against its CPU time", "CPU 工作耗时与其 CPU 时间之比"),
    needs=(SCHEDSTAT,),
    read=lambda view: list(_stretch(view)),
)
LOST = Measure(
    id="sched.lost_pct",
    unit="pct",
    title=Text("Share of the wanted CPU time that was waited for", "所需 CPU 时间中等待的比例"),
    needs=(SCHEDSTAT,),
    read=lambda view: list(_lost(view)),
)
SERVING_LOST = Measure(
    id="sched.serving_lost_pct",
    unit="pct",
    title=Text("Share of the CPU time that serving programs waited for", "服务进程所需 CPU 时间中等待的比例"),
    needs=(SCHEDSTAT, ("ss_listen",)),
    read=lambda view: list(_serving_lost(view)),
)
OWN_SHARE = Measure(
    id="sched.own_share_of_allowed_pct",
    unit="pct",
    title=Text("Share of the CPUs allowed that is used", "可用 CPU 中自身使用的比例"),
    needs=(SCHEDSTAT, ("cgroup_cpu",)),
    read=lambda view: list(_own_share(view)),
)
THROTTLED = Measure(
    id="cgroup.throttled_periods_pct",
    unit="pct",
    title=Text("Periods in which a CPU limit struck", "CPU 限额生效的周期占比"),
    needs=(("cgroup_cpu",),),
    read=lambda view: list(_throttled(view)),
)
THROTTLED_CROWD = Measure(
    id="sched.throttled_periods_pct",
    unit="pct",
    title=Text("Periods in which the limit above these threads struck", "这些线程所受限额生效的周期占比"),
    needs=(SCHEDSTAT, ("cgroup_cpu",)),
    read=lambda view: list(_throttled_crowd(view)),
)
PERIODS = Measure(
    id="cgroup.periods_count",
    unit="count",
    title=Text("Periods of the CPU limit in the window", "窗口内的限额周期数"),
    needs=(("cgroup_cpu",),),
    read=lambda view: list(_periods(view)),
)
OTHERS_SHARE = Measure(
    id="sched.others_share_of_allowed_pct",
    unit="pct",
    title=Text(
        "Share of the CPUs allowed that others use while these threads wait",
        "这些线程等待时他人占用其可用 CPU 的比例",
    ),
    needs=(SCHEDSTAT, ("cgroup_cpu",), ("proc_top",)),
    read=lambda view: list(_others(view)),
)
KERNEL_THREAD = Measure(
    id="proc.kernel_thread_pct",
    unit="pct",
    title=Text("CPU of a kernel thread", "内核线程的 CPU 占用"),
    needs=(("proc_top",),),
    read=lambda view: list(_kernel_thread(view)),
)
KERNEL_SHARE = Measure(
    id="sched.kernel_share_of_allowed_pct",
    unit="pct",
    title=Text(
        "Share of the CPUs allowed that kernel threads use while these threads wait",
        "这些线程等待时内核线程占用其可用 CPU 的比例",
    ),
    needs=(SCHEDSTAT, ("cgroup_cpu",), ("proc_top",)),
    read=lambda view: list(_kernel_share(view)),
)
