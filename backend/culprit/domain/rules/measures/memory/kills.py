"""Kills for want of memory: whose, how many, and under which limit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure, cite_rows, read_series
from culprit.domain.rules.measures.places import get_target_group, is_inside_group
from culprit.domain.rules.measures.service_time.reach import is_relevant_group, limited_groups
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostEvent, HostView

#: A kill counts as what the host is doing now for this long.
RECENT_NS = 10 * 60 * 1_000_000_000
_LIMITED_BY = re.compile(r" \[(/[^\]]*)\]$")
_ANON = re.compile(r"anon-rss:(\d{1,15})kB")
_KB_PER_MB = 1024.0


def _now_ns(view: HostView) -> int | None:
    """The end of the capture, by the clock of its own series."""
    return max(
        (int(series.t_ns[-1]) for series in view.series_of("mem.available_kb") if len(series.t_ns)),
        default=None,
    )


def list_recent_events(view: HostView, within_ns: int, *kinds: str) -> Iterator[HostEvent]:
    """Yield the events of these kinds within so many nanoseconds of the end of the capture."""
    now = _now_ns(view)
    for item in view.events_of(*kinds):
        if now is None or abs(now - item.t_ns) <= within_ns:
            yield item


def _recent(view: HostView, *kinds: str) -> Iterator[HostEvent]:
    return list_recent_events(view, RECENT_NS, *kinds)


def killed_by_limit(view: HostView) -> Iterator[tuple[str, HostEvent]]:
    """(control group, kill) of the last minutes, of groups that this capture saw or was about.

    All containers of a machine share the kernel's log. A kill of a group that neither exists now nor is in the scope
    of the capture belongs to another user of the machine.
    """
    seen = {row.text("path") for row in view.rows("cgroup_mem")}
    scope = get_target_group(view)
    for item in _recent(view, "oom_kill_cgroup"):
        named = _LIMITED_BY.search(item.detail)
        path = named[1] if named else ""
        is_own = bool(scope) and is_inside_group(path, scope)
        is_known = path in seen or not view.has_data("cgroup_mem")
        if path and (is_own or (is_known and is_relevant_group(view, path))):
            yield path, item


def _group_kills(view: HostView) -> list[Measurement]:
    """Measure OOM kills under a group's limit: those in the log, or the group's own count if it is higher."""
    host_events: defaultdict[str, list[HostEvent]] = defaultdict(list)
    for path, item in killed_by_limit(view):
        host_events[path].append(item)
    rows = {row.text("path"): row for row in limited_groups(view)}
    results = []
    for path in sorted(rows.keys() | host_events.keys()):
        kills, row = host_events.get(path, []), rows.get(path)
        counted = (row.number("oom_kills") or 0.0) if row else 0.0
        citations = (*((row.citation,) if row else ()), *(kill.citation for kill in kills))
        comms = sorted({str(kill.params.get("comm", "")) for kill in kills})
        limit_kb = row.number("limit_kb") if row else None
        detail: Detail = {
            "cgroup": path,
            "comm": ", ".join(comms[:3]) or "?",
            "limit_mb": round((limit_kb or 0) / 1024),
        }
        results.append(
            Measurement(
                max(counted, float(len(kills))), (("cgroup", path),), citations, len(kills), (), detail
            )
        )
    return results


def _old_kills(view: HostView) -> list[Measurement]:
    """Kills since the group was made, with none in the capture."""
    return [
        Measurement(row.number("oom_kills_ever") or 0.0, (("cgroup", row.text("path")),), (row.citation,))
        for row in limited_groups(view)
        if not row.number("oom_kills")
    ]


def _host_kills(view: HostView) -> list[Measurement]:
    return [
        Measurement(
            1.0,
            (("comm", str(item.params.get("comm", ""))),),
            (item.citation,),
            1,
            (),
            {"pid": str(item.params.get("pid", "")), "comm": str(item.params.get("comm", ""))},
        )
        for item in _recent(view, "oom_kill")
    ]


def _killed_containers(view: HostView) -> list[Measurement]:
    return [
        Measurement(
            row.number("oom_killed") or 0.0,
            (("container", row.text("name")),),
            (row.citation,),
            detail={
                "exit_code": row.text("exit_code"),
                "state": row.text("state"),
                "container": row.text("name"),
            },
        )
        for row in view.rows("containers")
        if row.number("oom_killed") is not None
    ]


def _exit_codes(view: HostView) -> list[Measurement]:
    return [
        Measurement(row.number("exit_code") or 0.0, (("container", row.text("name")),), (row.citation,))
        for row in view.rows("containers")
        if row.number("exit_code") is not None and row.text("state") == "exited"
    ]


def _of_containers(view: HostView, column: str, per: float = 1.0) -> list[Measurement]:
    return [
        Measurement(value / per, (("container", row.text("name")),), (row.citation,))
        for row in view.rows("containers")
        if (value := row.number(column)) is not None
    ]


def _limits(view: HostView) -> list[Measurement]:
    """What each group may have, MiB."""
    return [
        Measurement(
            (row.number("limit_kb") or 0.0) / _KB_PER_MB, (("cgroup", row.text("path")),), (row.citation,)
        )
        for row in limited_groups(view)
    ]


def _most_used(view: HostView) -> list[Measurement]:
    """The most that each group with a limit had at a look, MiB; a short peak before a kill may lie between two."""
    checks = {
        item.subject: item for item in read_series(view, MetricReading("cgroup.memory_usage_kb", "max"))
    }
    results = []
    for row in limited_groups(view):
        subject = (("cgroup", row.text("path")),)
        last, most = row.number("usage_kb"), checks.get(subject)
        if most is not None:
            cites = (*most.citations, row.citation)
            results.append(Measurement(most.value / _KB_PER_MB, subject, cites, most.sample_count))
        elif last is not None:
            results.append(Measurement(last / _KB_PER_MB, subject, (row.citation,), 1))
    return results


def _limit_hits(view: HostView) -> list[Measurement]:
    """How often a group was stopped at its limit in the capture, and had to give pages back or be killed."""
    return [
        Measurement(hits, (("cgroup", row.text("path")),), (row.citation,))
        for row in limited_groups(view)
        if (hits := row.number("limit_hits")) is not None
    ]


def held_at_kill(host_event: HostEvent) -> float | None:
    """Measure the anonymous memory of a victim, MiB, from the kernel's log."""
    anon = _ANON.search(host_event.detail)
    return int(anon[1]) / _KB_PER_MB if anon else None


def _victims(view: HostView) -> list[Measurement]:
    """Anonymous memory of the largest victim in each group, MiB."""
    most: dict[str, Measurement] = {}
    for path, item in killed_by_limit(view):
        held = held_at_kill(item)
        if held is not None and (path not in most or held > most[path].value):
            groups = (row for row in view.rows("cgroup_mem") if row.text("path") == path)
            cites = (item.citation, *cite_rows(groups))
            most[path] = Measurement(held, (("cgroup", path),), cites, 1)
    return list(most.values())


def _host_victims(view: HostView) -> list[Measurement]:
    """The same of each kill for want of memory on the host."""
    return [
        Measurement(held, (("comm", str(item.params.get("comm", ""))),), (item.citation,), 1)
        for item in _recent(view, "oom_kill")
        if (held := held_at_kill(item)) is not None
    ]


OOM_KILLS = build_measure(
    "cgroup.oom_kills_recent",
    "count",
    "Kills under the limit of the group",
    "控制组限额内的 OOM 终止",
    (("cgroup_mem", "kmsg"),),
    _group_kills,
)
OOM_KILLS_BEFORE = build_measure(
    "cgroup.oom_kills_before",
    "count",
    "Earlier kills in the group",
    "控制组此前的 OOM 终止",
    (("cgroup_mem",),),
    _old_kills,
)
HOST_OOM_KILLS = build_measure(
    "host.oom_kills_recent",
    "count",
    "Kills for want of memory on the host",
    "主机级 OOM 终止",
    (("kmsg",),),
    _host_kills,
)
CONTAINER_OOM = build_measure(
    "container.oom_killed",
    "count",
    "The engine reports that it was OOM-killed",
    "容器引擎报告 OOMKilled",
    (("container_state",),),
    _killed_containers,
)
CONTAINER_EXIT = build_measure(
    "container.exit_code",
    "count",
    "Exit code of the container",
    "容器退出码",
    (("container_state",),),
    _exit_codes,
)
CONTAINER_LIMIT = build_measure(
    "container.memory_limit_mb",
    "mb",
    "Memory limit of the container",
    "容器内存限额",
    (("container_state",),),
    lambda view: [item for item in _of_containers(view, "memory_limit_kb", _KB_PER_MB) if item.value > 0],
)
CONTAINER_RESTARTS = build_measure(
    "container.restarts",
    "count",
    "Restarts of the container",
    "容器重启次数",
    (("container_state",),),
    lambda view: _of_containers(view, "restarts"),
)
GROUP_LIMIT = build_measure(
    "cgroup.memory_limit_mb",
    "mb",
    "Memory limit of the group",
    "控制组内存限额",
    (("cgroup_mem",),),
    _limits,
)
GROUP_PEAK = build_measure(
    "cgroup.memory_most_mb",
    "mb",
    "Most memory of the group at a look",
    "观察到的控制组最大内存",
    (("cgroup_mem",),),
    _most_used,
)
LIMIT_HITS = build_measure(
    "cgroup.memory_limit_hits",
    "count",
    "Times that the group was stopped at its limit",
    "控制组触及限额的次数",
    (("cgroup_mem",),),
    _limit_hits,
)
VICTIM = build_measure(
    "cgroup.killed_anon_mb",
    "mb",
    "Memory of the process that was killed",
    "被终止进程的匿名内存",
    (("kmsg",),),
    _victims,
)
HOST_VICTIM = build_measure(
    "host.killed_anon_mb",
    "mb",
    "Memory of the process that was killed",
    "被终止进程的匿名内存",
    (("kmsg",),),
    _host_victims,
)
