"""Numbers about programs with a real-time policy, and about those that wait for the CPUs that they use."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.cpu.run_queue import allowed_cpus, held_up
from culprit.domain.rules.measures.cpu.wait import SCHEDSTAT, cite_competition, count_cores, list_competitors
from culprit.domain.rules.measures.derived import merge_citations
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: SCHED_FIFO, SCHED_RR and SCHED_DEADLINE: sched(7).
_POLICIES = {1: "FIFO", 2: "RR", 6: "DEADLINE"}


def _is_real_time(row: TableRow) -> bool:
    """Return whether a program has a real-time policy; threads of the kernel do not count."""
    return int(row.number("policy") or 0) in _POLICIES and not row.number("kernel_thread")


def _used(view: HostView) -> Iterator[Measurement]:
    """Measure the CPU time of each real-time program, percent of one CPU; 0 where there is none."""
    rows = view.rows("processes")
    programs = [row for row in rows if _is_real_time(row)]
    for row in programs:
        detail: dict[str, str | float] = {
            "comm": row.text("comm"),
            "pid": row.text("pid"),
            "policy": _POLICIES[int(row.number("policy") or 0)],
            "cpu": row.text("last_cpu"),
        }
        subject = (("comm", row.text("comm")), ("pid", row.text("pid")))
        yield Measurement(row.number("cpu") or 0.0, subject, (row.citation,), 1, (), detail)
    if not programs:
        yield from (Measurement(0.0, (), (row.citation,)) for row in rows[:1])


def _share_of_allowed(view: HostView) -> Iterator[Measurement]:
    """Measure the share of the CPUs that a waiting crowd may use that real-time programs use, for each such crowd.

    A real-time program runs before all others on its CPU (sched(7)). Others move to a free CPU, where they may use one.
    """
    for crowd in held_up(view):
        allowed, related = allowed_cpus(view, crowd), list_competitors(view, crowd)
        programs = sorted(filter(_is_real_time, related), key=lambda row: row.number("cpu") or 0.0)
        if not allowed:
            continue
        detail: dict[str, str | float] = {
            "name": crowd.name,
            "cpus": round(allowed, 2),
            "by": "-",
            "policy": "-",
        }
        if programs:
            policy = _POLICIES[int(programs[-1].number("policy") or 0)]
            detail |= {"by": f"{programs[-1].text('comm')} ({programs[-1].text('pid')})", "policy": policy}
        share = 100.0 * count_cores(programs) / allowed
        cites = merge_citations(cite_competition(view, crowd, related))
        yield Measurement(share, crowd.subject, cites, int(crowd.turns), (), detail)


REAL_TIME = Measure(
    id="processes.real_time_cpu_pct",
    unit="pct",
    title=Text("CPU time of a real-time program", "实时程序的 CPU 时间"),
    needs=(("proc_top",),),
    read=lambda view: list(_used(view)),
)
REAL_TIME_SHARE = Measure(
    id="sched.real_time_share_of_allowed_pct",
    unit="pct",
    title=Text(
        "Share of the CPUs allowed that real-time programs use while these threads wait",
        "这些线程等待时实时程序占用其可用 CPU 的比例",
    ),
    needs=(SCHEDSTAT, ("cgroup_cpu",), ("proc_top",)),
    read=lambda view: list(_share_of_allowed(view)),
)
