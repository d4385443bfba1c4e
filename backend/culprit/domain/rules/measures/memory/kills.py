"""Kills for want of memory: whose, how many, and under which limit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from culprit.core.rules.contract import Measured, Over
from culprit.core.rules.measures.derived import Detail, derived, series
from culprit.core.rules.measures.places import inside, limited_groups, wanted_group
from culprit.core.rules.view import Happening, View

#: A kill counts as what the host is doing now for this long.
RECENT_NS = 10 * 60 * 1_000_000_000
_LIMITED_BY = re.compile(r" \[(/[^\]]*)\]$")
_ANON = re.compile(r"anon-rss:(\d{1,15})kB")
_KB_PER_MB = 1024.0


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


def _of_containers(view: View, column: str, per: float = 1.0) -> list[Measured]:
    return [
        Measured(value / per, (("container", row.text("name")),), (row.cite,))
        for row in view.rows("containers")
        if (value := row.number(column)) is not None
    ]


def _limits(view: View) -> list[Measured]:
    """What each group may have, MiB."""
    return [
        Measured((row.number("limit_kb") or 0.0) / _KB_PER_MB, (("cgroup", row.text("path")),), (row.cite,))
        for row in limited_groups(view)
    ]


def _most_used(view: View) -> list[Measured]:
    """The most that each group with a limit had at a look, MiB; a short peak before a kill may lie between two."""
    looks = {one.subject: one for one in series(view, Over("cgroup.memory_usage_kb", "max"))}
    found = []
    for row in limited_groups(view):
        subject = (("cgroup", row.text("path")),)
        last, most = row.number("usage_kb"), looks.get(subject)
        if most is not None:
            found.append(Measured(most.value / _KB_PER_MB, subject, most.citations, most.n))
        elif last is not None:
            found.append(Measured(last / _KB_PER_MB, subject, (row.cite,), 1))
    return found


def _limit_hits(view: View) -> list[Measured]:
    """How often a group was stopped at its limit in the capture, and had to give pages back or be killed."""
    return [
        Measured(hits, (("cgroup", row.text("path")),), (row.cite,))
        for row in limited_groups(view)
        if (hits := row.number("limit_hits")) is not None
    ]


def held_at_kill(one: Happening) -> float | None:
    """Anonymous memory of a victim, MiB, as the kernel's log says it."""
    anon = _ANON.search(one.detail)
    return int(anon[1]) / _KB_PER_MB if anon else None


def _victims(view: View) -> list[Measured]:
    """Anonymous memory of the largest victim in each group, MiB."""
    most: dict[str, Measured] = {}
    for path, one in killed_by_limit(view):
        held = held_at_kill(one)
        if held is not None and (path not in most or held > most[path].value):
            most[path] = Measured(held, (("cgroup", path),), (one.cite,), 1)
    return list(most.values())


def _host_victims(view: View) -> list[Measured]:
    """The same of each kill for want of memory on the host."""
    return [
        Measured(held, (("comm", str(one.params.get("comm", ""))),), (one.cite,), 1)
        for one in _recent(view, "oom_kill")
        if (held := held_at_kill(one)) is not None
    ]


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
CONTAINER_LIMIT = derived(
    "container.memory_limit_mb",
    "mb",
    "Memory limit of the container",
    "容器内存限额",
    (("container_state",),),
    lambda view: [one for one in _of_containers(view, "memory_limit_kb", _KB_PER_MB) if one.value > 0],
)
CONTAINER_RESTARTS = derived(
    "container.restarts",
    "count",
    "Restarts of the container",
    "容器重启次数",
    (("container_state",),),
    lambda view: _of_containers(view, "restarts"),
)
GROUP_LIMIT = derived(
    "cgroup.memory_limit_mb",
    "mb",
    "Memory limit of the group",
    "控制组内存限额",
    (("cgroup_mem",),),
    _limits,
)
GROUP_PEAK = derived(
    "cgroup.memory_most_mb",
    "mb",
    "Most memory of the group at a look",
    "观察到的控制组最大内存",
    (("cgroup_mem",),),
    _most_used,
)
LIMIT_HITS = derived(
    "cgroup.memory_limit_hits",
    "count",
    "Times that the group was stopped at its limit",
    "控制组触及限额的次数",
    (("cgroup_mem",),),
    _limit_hits,
)
VICTIM = derived(
    "cgroup.killed_anon_mb",
    "mb",
    "Memory of the process that was killed",
    "被终止进程的匿名内存",
    (("kmsg",),),
    _victims,
)
HOST_VICTIM = derived(
    "host.killed_anon_mb",
    "mb",
    "Memory of the process that was killed",
    "被终止进程的匿名内存",
    (("kmsg",),),
    _host_victims,
)
