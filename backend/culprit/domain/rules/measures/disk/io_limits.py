"""I/O limits of control groups: how much of them is used, and how long the tasks under them wait for I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import Interval, poisson_interval
from culprit.domain.rules.measures.derived import Detail, build_measure
from culprit.domain.rules.measures.places import get_target_group, is_inside_group
from culprit.domain.rules.view import HostView, TableRow

_GROUPS = (("cgroup_io",),)


def _limits_used(view: HostView) -> list[Measurement]:
    """Percent of each I/O limit that the group used."""
    scope = get_target_group(view)
    results = []
    for row in view.rows("cgroup_io"):
        share, path = row.number("used_pct"), row.text("path")
        above = is_inside_group(scope, path) if scope else True
        if share is not None and (above or is_inside_group(path, scope)):
            subject = (("cgroup", path), ("dev", row.text("dev")))
            detail: Detail = {
                "cgroup": path,
                "dev": row.text("dev"),
                "limit": row.text("limit"),
                "per_s": round(row.number("limit_per_s") or 0),
            }
            results.append(Measurement(share, subject, (row.citation,), 1, (), detail))
    return results


def _group_pressure(view: HostView) -> list[Measurement]:
    """Percent of the time in which tasks of a group waited for I/O; groups of v2 only."""
    return [
        Measurement(share, (("cgroup", row.text("path")),), (row.citation,), 1)
        for row in view.rows("cgroup_pressure")
        if row.text("resource") == "io" and (share := row.number("some_pct")) is not None
    ]


def count_blocked_threads(view: HostView) -> list[tuple[float, int, TableRow]]:
    """Threads in uninterruptible sleep on average, samples, and row of each process that was sampled."""
    fact = view.facts.get("proc_threads")
    ticks = fact.get("ticks") if isinstance(fact, Mapping) else None
    samples = int(ticks) if isinstance(ticks, int | float) else 0
    return [
        (blocked, samples, row)
        for row in view.rows("thread_groups")
        if (blocked := row.number("mean_blocked")) is not None
    ]


def estimate_blocked(blocked: float, samples: int) -> Interval:
    """Return the interval of a mean number of threads from samples: each sighting counts as an event (Poisson)."""
    if samples <= 0:
        return Interval("sampled", 0.0, float("inf"))
    low, high = poisson_interval(blocked * samples)
    return Interval("sampled", low / samples, high / samples)


def measure_group_blocked(view: HostView, paths: Iterable[str]) -> list[Measurement]:
    """Return the mean number of threads in uninterruptible sleep of each group, groups below included."""
    threads = count_blocked_threads(view)
    results = []
    for path in sorted(set(paths)):
        inside = [item for item in threads if is_inside_group(item[2].text("cgroup"), path)]
        if inside:
            total, samples = sum(item[0] for item in inside), min(item[1] for item in inside)
            cites = tuple(item[2].citation for item in inside)
            interval = estimate_blocked(total, samples)
            results.append(Measurement(total, (("cgroup", path),), cites, samples, (), {}, interval))
    return results


def _group_blocked(view: HostView) -> list[Measurement]:
    """Threads of each group with an I/O limit that are in uninterruptible sleep on average."""
    return measure_group_blocked(view, (row.text("path") for row in view.rows("cgroup_io")))


LIMIT_USED = build_measure(
    "cgroup.io_limit_used_pct", "pct", "Use of the I/O limit", "I/O 限额使用率", _GROUPS, _limits_used
)
GROUP_PRESSURE = build_measure(
    "cgroup.io_some_pct",
    "pct",
    "Time in which tasks of the group waited for I/O",
    "控制组任务等待 I/O 的时间占比",
    _GROUPS,
    _group_pressure,
)
GROUP_BLOCKED = build_measure(
    "cgroup.blocked_threads",
    "count",
    "Threads of the group in uninterruptible sleep",
    "控制组内不可中断的线程数",
    (*_GROUPS, ("proc_threads",)),
    _group_blocked,
)
