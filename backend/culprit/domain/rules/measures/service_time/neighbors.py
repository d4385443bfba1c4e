"""Measures of neighbors: who uses the CPUs that a service waits for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from collectors.contract import Text
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.cpu.run_queue import LOW_NICE, count_online_cpus, list_crowds
from culprit.domain.rules.measures.derived import cite_rows, merge_citations
from culprit.domain.rules.measures.places import is_capture_group, read_cpu_pct
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount, list_cpu_users
from culprit.domain.rules.measures.service_time.shares import NEEDS, Detail, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

#: Names of processes that run the program of a file: many different programs have each of them.
_INTERPRETER = re.compile(r"(ba|da|z|k|a)?sh$|busybox$|python|perl|ruby|node$|java$|php|lua")


def _list_related(times: ServiceTimes, account: TimeAccount) -> list[TimeAccount]:
    """Return the accounts of a service and of those that it waits for.

    Where the diagnosis is about a control group, all of its services that take requests belong together.
    """
    named = [item for item in times.accounts if account.is_target and item.is_target and item.citations]
    return [item for start in (account, *named) for item in times.list_chain(start)]


def _list_pids(accounts: Iterable[TimeAccount]) -> set[str]:
    return {pid for item in accounts for pid in item.service.pids}


def _cite_related(accounts: Iterable[TimeAccount]) -> tuple[Citation, ...]:
    rows = (citation for item in accounts for citation in (*item.sources, *item.citations))
    return tuple(dict.fromkeys(rows))


def _others(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the used CPU time that went to processes outside of the service and of those that it waits for.

    Only processes count that ran on CPUs that the service may use.
    """
    accounts = _list_related(times, account)
    related = _list_pids(accounts)
    crowds = [crowd for crowd in list_crowds(view) if {str(pid) for pid in crowd.pids} & account.service.pids]
    allowed = frozenset[int]().union(*(crowd.allowed for crowd in crowds))
    places = {row.text("pid"): row.number("last_cpu") for row in view.rows("processes")}
    users = [
        user
        for user in list_cpu_users(view)
        if not allowed or (place := places.get(user.pid)) is None or place in allowed
    ]
    others = [user for user in users if user.pid not in related]
    total = sum(user.share for user in users)
    if total:
        busiest = ", ".join(f"{user.name} {100 * user.share:.0f} %" for user in others[:3]) or "-"
        detail: Detail = {"name": account.service.name, "busiest": busiest}
        rows = (citation for crowd in crowds for citation in (*crowd.cites, *crowd.allowed_cites))
        cites = (*merge_citations((*(user.citation for user in users), *rows)), *_cite_related(accounts))
        share = 100.0 * sum(user.share for user in others) / total
        yield Measurement(share, account.service.subject, cites, len(users), (), detail)


def _neighbor(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Percent of the CPU time of other programs that one of them used, its children included.

    A program is a process whose parent is an ancestor of the service too, such as a unit of systemd, a container or a
    job of cron; or all processes with one name, such as two jobs that sort. The name of an interpreter or a shell names
    no program. All jobs together are one neighbor too: no client waits for them, so they can run at another time. Where
    none of them uses most of the time, the host has more work than CPUs.
    """
    rows = view.rows("processes") or view.rows("process_time")
    parents = {row.text("pid"): row.text("ppid") for row in rows}
    accounts = _list_related(times, account)
    related = _list_pids(accounts)
    above = {pid for item in related for pid in _list_ancestors(item, parents)}
    used: defaultdict[str, float] = defaultdict(float)
    by_name: defaultdict[str, float] = defaultdict(float)
    users = [user for user in list_cpu_users(view) if user.pid not in related]
    for user in users:
        path = [user.pid, *_list_ancestors(user.pid, parents)]
        used[next((pid for pid, parent in pairwise(path) if parent in above), path[-1])] += user.share
        if not _INTERPRETER.match(user.name):
            by_name[user.name] += user.share
    total = sum(used.values())
    if total > 0:
        jobs = _find_jobs(view, parents, _list_serving(times))
        all_jobs = sum(user.share for user in users if user.pid in jobs)
        share = 100.0 * max((*used.values(), *by_name.values(), all_jobs)) / total
        yield Measurement(
            share, account.service.subject, (*cite_rows(rows), *_cite_related(accounts)), len(users)
        )


def _list_serving(times: ServiceTimes) -> set[str]:
    """Return the processes of services that take requests; all of them where no socket was read."""
    services = times.services.services
    serving = {pid for item in services if item.ports for pid in item.pids}
    return serving or {pid for item in services for pid in item.pids}


def _find_jobs(view: HostView, parents: Mapping[str, str], serving: set[str]) -> set[str]:
    """Return the processes that no service started, if they use a third of the CPUs; none otherwise.

    Of three users of a full CPU, the largest has a third. Threads of the kernel, tasks that give way and the capture
    are no jobs.
    """
    groups = {row.text("pid"): row.text("cgroup") for row in view.rows("sched_delay")}
    jobs = [
        row
        for row in view.rows("processes")
        if not row.number("kernel_thread")
        and (row.number("nice") or 0) < LOW_NICE
        and not is_capture_group(groups.get(row.text("pid"), ""))
        and not serving & {row.text("pid"), *_list_ancestors(row.text("pid"), parents)}
    ]
    cpus, cores = count_online_cpus(view), sum(map(read_cpu_pct, jobs)) / 100.0
    return {row.text("pid") for row in jobs} if cpus and cores >= cpus / 3.0 else set()


def _list_ancestors(pid: str, parents: Mapping[str, str]) -> list[str]:
    """Return the ancestors of a process, the nearest first, without init."""
    result: list[str] = []
    while (parent := parents.get(pid, "0")) not in ("0", "1") and parent not in result:
        result.append(parent)
        pid = parent
    return result


NEIGHBOR = Measure(
    "time.cpu_of_neighbor_pct",
    "pct",
    Text("CPU time of one program among all others", "单个程序占其他程序 CPU 时间的比例"),
    NEEDS,
    read_accounts(_neighbor),
)
OTHERS = Measure(
    "time.cpu_of_others_pct",
    "pct",
    Text("CPU time of other processes", "其他进程的 CPU 时间"),
    NEEDS,
    read_accounts(_others),
)
