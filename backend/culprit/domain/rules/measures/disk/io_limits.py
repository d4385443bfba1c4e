"""I/O limits of control groups: how much of them is used, and how long the tasks under them wait for I/O."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import Interval, poisson_interval
from culprit.domain.rules.measures.derived import Detail, build_measure, cite_rows, read_series
from culprit.domain.rules.measures.disk.device_time import list_stacked_devices
from culprit.domain.rules.measures.places import is_inside_group
from culprit.domain.rules.measures.service_time.reach import is_relevant_group
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

_GROUPS = (("cgroup_io",),)
#: A limit of operations is granted in whole operations for each slice of this length, rounded down. Source:
#: tg_within_iops_limit and DFL_THROTL_SLICE_HD in block/blk-throttle.c of Linux.
_SLICE_S = 0.1
_OPERATIONS = ("reads", "writes")


def _granted_share(row: TableRow) -> float:
    """Return what the kernel grants at least of a limit, as a share: 0.56 of 18 operations a second are 10."""
    limit = row.number("limit_per_s") or 0.0
    a_slice = limit * _SLICE_S
    if row.text("limit") not in _OPERATIONS or a_slice < 1.0:
        return 1.0
    return math.floor(a_slice) / a_slice


def _limits_used(view: HostView) -> list[Measurement]:
    """Percent of each I/O limit that the group used; the upper end is of what the kernel grants at least."""
    results = []
    for row in view.rows("cgroup_io"):
        share, path = row.number("used_pct"), row.text("path")
        if share is not None and is_relevant_group(view, path):
            subject = (("cgroup", path), ("dev", row.text("dev")))
            detail: Detail = {
                "cgroup": path,
                "dev": row.text("dev"),
                "limit": row.text("limit"),
                "per_s": round(row.number("limit_per_s") or 0),
            }
            granted = _granted_share(row)
            interval = Interval("exact", share, share / granted) if granted < 1.0 else None
            results.append(Measurement(share, subject, (row.citation,), 1, (), detail, interval))
    return results


def _held_tasks(view: HostView) -> list[Measurement]:
    """Tasks of each group with a limit that wait for I/O, less the requests in flight at devices.

    Requests of other groups are counted as theirs, so the true number is at least this. A request to a device that is
    mapped to others, such as a loop device, waits for the limit below as well, so it is not in flight.
    """
    stacked = list_stacked_devices(view)
    in_flight = {
        dict(item.subject).get("dev", ""): item
        for item in read_series(view, MetricReading("disk.aqu", "mean"))
    }
    devices = {
        dev: item for dev, item in in_flight.items() if dev not in stacked and not dev.startswith("loop")
    }
    limited = {(row.text("path"), row.text("dev")): row for row in view.rows("cgroup_io")}
    results = []
    for waiting in _group_blocked(view):
        path = dict(waiting.subject)["cgroup"]
        for dev in sorted(dev for group, dev in limited if group == path and dev in in_flight):
            requests = list(({dev: in_flight[dev]} | devices).values())
            total = sum(item.value for item in requests)
            detail: Detail = {
                "cgroup": path,
                "dev": dev,
                "waiting": round(waiting.value, 1),
                "requests": round(total, 2),
            }
            results.append(
                Measurement(
                    max(0.0, waiting.value - total),
                    (("cgroup", path), ("dev", dev)),
                    (
                        limited[path, dev].citation,
                        *waiting.citations,
                        *(citation for item in requests for citation in item.citations),
                    ),
                    waiting.sample_count,
                    (),
                    detail,
                    Interval("sampled", max(0.0, waiting.low - total), max(0.0, waiting.high - total)),
                )
            )
    return results


def _used_while_held(view: HostView) -> list[Measurement]:
    """Percent of what the kernel grants at least of each I/O limit that the group used while tasks were held.

    Held tasks, on average, are at least the share of the time in which one is held: a single task that is held for
    half of the time cannot use more than half of a limit.
    """
    held = {item.subject: item for item in _held_tasks(view) if item.value > 0}
    return [
        replace(
            item,
            value=item.high / min(1.0, held[item.subject].value),
            citations=(*item.citations, *held[item.subject].citations),
            interval=None,
        )
        for item in _limits_used(view)
        if item.subject in held
    ]


def _held_share(view: HostView) -> list[Measurement]:
    """Percent of the tasks of a group waiting for I/O that no request at a device explains."""
    waiting = {dict(item.subject)["cgroup"]: item for item in _group_blocked(view)}
    return [
        replace(
            item,
            value=100.0 * item.value / total.value,
            interval=None,
            citations=(*item.citations, *total.citations),
        )
        for item in _held_tasks(view)
        if (total := waiting[dict(item.subject)["cgroup"]]).value > 0
    ]


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


def measure_group_blocked(view: HostView, groups: Iterable[TableRow]) -> list[Measurement]:
    """Return the mean number of threads in uninterruptible sleep of each group, groups below included.

    `groups` are rows with a path.
    """
    threads = count_blocked_threads(view)
    rows: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in groups:
        rows[row.text("path")].append(row)
    results = []
    for path in sorted(rows):
        inside = [item for item in threads if is_inside_group(item[2].text("cgroup"), path)]
        if inside:
            total, samples = sum(item[0] for item in inside), min(item[1] for item in inside)
            cites = cite_rows((item[2] for item in inside), rows[path])
            interval = estimate_blocked(total, samples)
            results.append(Measurement(total, (("cgroup", path),), cites, samples, (), {}, interval))
    return results


def _group_blocked(view: HostView) -> list[Measurement]:
    """Threads of each group with an I/O limit that are in uninterruptible sleep on average."""
    return measure_group_blocked(view, view.rows("cgroup_io"))


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
_HELD_INPUTS = (*_GROUPS, ("proc_threads",), ("iostat",))
HELD_TASKS = build_measure(
    "cgroup.io_held_tasks",
    "count",
    "Tasks of the group that wait before the device",
    "在到达设备之前等待的组内任务",
    _HELD_INPUTS,
    _held_tasks,
)
HELD_SHARE = build_measure(
    "cgroup.io_held_pct",
    "pct",
    "Share of the group's waits for I/O before the device",
    "组内 I/O 等待中到达设备之前的占比",
    _HELD_INPUTS,
    _held_share,
)
USED_WHILE_HELD = build_measure(
    "cgroup.io_used_while_held_pct",
    "pct",
    "Use of what the kernel grants of the I/O limit while tasks are held",
    "任务被阻挡期间内核放行额度的使用率",
    _HELD_INPUTS,
    _used_while_held,
)
