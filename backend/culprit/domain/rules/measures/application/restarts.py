"""Programs that are started again and again, and children that a parent never waits for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.measures.memory.kills import list_recent_events
from culprit.domain.rules.view import HostEvent, HostView, TableRow

_NEEDS = (("process_starts",),)
#: CPU time that the start of a service takes. A command of a script (sleep, date) takes a millisecond.
MIN_START_CPU_S = 0.02
#: Crashes count as what the host is doing now for this long.
CRASHING_NS = 60 * 1_000_000_000
#: systemd names these results of a unit whose main process failed.
FAILED = (
    "exit-code",
    "signal",
    "core-dump",
    "watchdog",
    "oom-kill",
    "timeout",
    "start-limit-hit",
    "protocol",
)


def _describe(row: TableRow) -> Detail:
    return {
        "name": row.text("comm"),
        "parent": row.text("parent_comm"),
        "life": row.number("life") or 0.0,
        "seconds": row.number("seconds") or 0.0,
    }


def _subject(row: TableRow) -> tuple[tuple[str, str], ...]:
    group = row.text("cgroup")
    return (("cgroup", group),) if group and group != "/" else ()


def _restarts(view: HostView) -> Iterator[Measurement]:
    """How many times a program ended and was started again by the same parent, one after the other."""
    for row in view.rows("process_starts"):
        if row.number("at_once") == 1 and (row.number("cpu") or 0.0) >= MIN_START_CPU_S:
            ended = row.number("ended") or 0.0
            yield Measurement(ended, _subject(row), (row.citation,), round(ended), (), _describe(row))


def _failed_units(view: HostView) -> Iterator[Measurement]:
    """Restarts of a unit that systemd started again during the capture because its program failed."""
    for row in view.rows("restarted_units"):
        if row.text("result") in FAILED:
            detail: Detail = {
                "unit": row.text("unit"),
                "result": row.text("result"),
                "state": row.text("state"),
            }
            yield Measurement(row.number("restarts") or 0.0, (), (row.citation,), 1, (), detail)


def _failing_containers(view: HostView) -> Iterator[Measurement]:
    """Restarts of a container that its engine is about to start again, because its program ended."""
    for row in view.rows("containers"):
        is_due = row.text("state") == "restarting"
        detail: Detail = {"container": row.text("name"), "exit_code": row.text("exit_code")}
        subject = (("container", row.text("name")),)
        yield Measurement(
            (row.number("restarts") or 0.0) if is_due else 0.0, subject, (row.citation,), 1, (), detail
        )


def _forked_memory(view: HostView) -> Iterator[Measurement]:
    """Memory of its own, in kB, of each process that forks itself: a child goes on with the same program.

    Without such a process the largest is 0.
    """
    memory = {row.text("pid"): row for row in view.rows("proc_memory")}
    starts = view.rows("process_starts")
    forks = [
        (row, memory[row.text("parent")])
        for row in starts
        if row.text("comm") == row.text("parent_comm") and row.text("parent") in memory
    ]
    for row, parent in forks:
        held_kb = parent.number("anon_first_kb")
        if held_kb is not None:
            count = round(row.number("started") or 0.0)
            detail: Detail = {**_describe(row), "count": count}
            subject = (*_subject(row), ("pid", row.text("parent")))
            yield Measurement(held_kb, subject, (row.citation, parent.citation), 1, (), detail)
    if not forks and view.has_data("process_starts"):
        nothing: Detail = {"name": "", "count": 0, "life": 0.0, "seconds": 0.0}
        yield Measurement(0.0, (), tuple(row.citation for row in starts), 1, (), nothing)


def _zombies(view: HostView) -> Iterator[Measurement]:
    """Children that ended during the capture and that their parent has not waited for."""
    for row in view.rows("process_starts"):
        count = row.number("zombies") or 0.0
        yield Measurement(count, (), (row.citation,), round(count), (), _describe(row))


def _growth(view: HostView) -> Iterator[Measurement]:
    """Hours until the limit of tasks, if a parent goes on to start children that do not end."""
    limits = [row for row in view.rows("limits") if row.text("name") in ("tasks_of_group", "pids", "threads")]
    for row in view.rows("process_starts"):
        seconds, started = row.number("seconds") or 0.0, row.number("started") or 0.0
        kept = started - (row.number("ended") or 0.0)
        if row.number("ended") or started < 5 or seconds <= 0:
            continue
        for limit in limits:
            used, most = limit.number("used"), limit.number("max")
            group = limit.text("where")
            if (
                used is None
                or most is None
                or (limit.text("scope") == "cgroup" and group != row.text("cgroup"))
            ):
                continue
            hours = max(0.0, most - used) / (kept / seconds) / 3600.0
            detail: Detail = {**_describe(row), "count": round(kept), "limit": limit.text("name")}
            cites = (row.citation, limit.citation)
            yield Measurement(hours, _subject(row), cites, round(kept), (), detail)


def _crashes(view: HostView) -> Iterator[Measurement]:
    """How often the kernel ended each program within the last minute because of an access or an instruction."""
    crashes: dict[str, list[HostEvent]] = defaultdict(list)
    for item in list_recent_events(view, CRASHING_NS, "process_crash"):
        crashes[str(item.params.get("comm", "?"))].append(item)
    for name, events in sorted(crashes.items()):
        counts = (item.params.get("count", 1) for item in events)
        value = sum(int(count) if isinstance(count, int | float) else 1 for count in counts)
        cites = tuple(item.citation for item in events)
        yield Measurement(float(value), (), cites, value, (), {"name": name})
    if not crashes and view.has_data("kmsg"):
        yield Measurement(0.0, (), (), 1, (), {"name": ""})


RESTARTS = build_listed_measure(
    "processes.serial_restarts_count",
    "count",
    "Restarts of a program by its parent",
    "父进程重启程序的次数",
    _NEEDS,
    _restarts,
)
FAILED_UNITS = build_listed_measure(
    "processes.unit_restarts_count",
    "count",
    "Restarts of a unit that fails",
    "失败单元的重启次数",
    _NEEDS,
    _failed_units,
)
FAILING_CONTAINERS = build_listed_measure(
    "containers.restarts_count", "count", "Restarts of a container that fails", "失败容器的重启次数",
    (("container_state",),), _failing_containers,
)  # fmt: skip
ZOMBIES = build_listed_measure(
    "processes.zombies_count",
    "count",
    "Children without a waiting parent",
    "未被回收的子进程",
    _NEEDS,
    _zombies,
)
GROWTH = build_listed_measure(
    "processes.hours_to_limit", "h", "Time until the limit of processes", "距进程数上限的时间",
    (("process_starts",), ("limits",)), _growth,
)  # fmt: skip
FORKED_MEMORY = build_listed_measure(
    "processes.forked_memory_kb",
    "kb",
    "Memory of a process that forks itself",
    "自我 fork 的进程的内存",
    (("process_starts",), ("proc_mem",)),
    _forked_memory,
)
CRASHES = build_listed_measure(
    "processes.crashes_count",
    "count",
    "Crashes of a program in a minute",
    "一分钟内程序崩溃的次数",
    (("kmsg",),),
    _crashes,
)
