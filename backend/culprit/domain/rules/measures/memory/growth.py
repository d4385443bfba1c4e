"""Memory of processes that grows without a pause: how fast, how much it is by now, and how long there is room."""

from __future__ import annotations

from collections.abc import Iterator

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure, read_series
from culprit.domain.rules.measures.places import (
    build_process_subject,
    cite_process,
    group_of,
    is_capture_group,
    is_in_scope,
    is_inside_group,
)
from culprit.domain.rules.measures.service_time.reach import limited_groups
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

#: At least so many readings. The shortest look of a diagnosis takes five seconds, and `proc_mem` reads at 0, 1, 3 and
#: 5 s of it; the half second is what its clock may be short of that.
_STEADY_READINGS, _STEADY_S = 4, 4.5
#: The slowest step between two readings, as a share of the mean growth. Measured over eight seconds on two CPUs, with
#: four programs of each kind: what leaks with every request of a steady load 0.99, in a JVM 0.66 to 0.93; imports,
#: browsers and garbage-collected heaps 0 to 0.53. Looks of five seconds are held to the same bound without figures of
#: their own, which is one reason for the rule to be no more than correlational.
_STEADY_SHARE = 0.6
_KB_PER_MB = 1024.0


def _steady(view: HostView) -> Iterator[tuple[TableRow, float]]:
    """Processes whose anonymous memory grew in every step, and about as fast; with how fast, KiB per second.

    A program that starts, a heap before its collection, a cache that fills grow in bursts, faster and slower.
    Processes of the capture are left out: what they have read grows until they end.
    """
    groups = group_of(view)
    for row in view.rows("proc_memory"):
        growth, first = row.number("anon_growth_kb_per_s"), row.number("anon_first_kb")
        pid = row.text("pid")
        if growth is None or first is None or not is_in_scope(view, pid):
            continue
        if is_capture_group(groups.get(pid, "")):
            continue
        slowest, readings = row.number("anon_slowest_kb_per_s"), row.number("readings") or 0
        if readings < _STEADY_READINGS or (row.number("seen_s") or 0.0) < _STEADY_S:
            continue
        if slowest and slowest >= _STEADY_SHARE * growth:
            yield row, growth


def _growing(view: HostView) -> list[Measurement]:
    """How fast memory grows that grows without a pause, MiB per second."""
    results = []
    for row, growth in _steady(view):
        rss_mb = round((row.number("anon_first_kb") or 0.0) / _KB_PER_MB)
        detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid"), "rss_mb": rss_mb}
        readings = int(row.number("readings") or 0)
        results.append(
            Measurement(
                growth / _KB_PER_MB,
                build_process_subject(view, row),
                cite_process(view, row),
                readings,
                (),
                detail,
            )
        )
    return results


def _by_now(view: HostView) -> list[Measurement]:
    """Anonymous memory at the last reading, MiB."""
    return [
        Measurement(last / _KB_PER_MB, build_process_subject(view, row), cite_process(view, row), 1)
        for row, _ in _steady(view)
        if (last := row.number("anon_last_kb")) is not None
    ]


def _steps(view: HostView) -> list[Measurement]:
    """Steps between readings, each of which grew."""
    results = []
    for row, _ in _steady(view):
        steps = int(row.number("readings") or 0) - 1
        results.append(Measurement(steps, build_process_subject(view, row), cite_process(view, row), steps))
    return results


def _room(view: HostView, group: str) -> tuple[float, tuple[Citation, ...]] | None:
    """KiB that are left under the tightest limit above a group, or to the whole host where none has been set."""
    margins: list[tuple[float, tuple[Citation, ...]]] = [
        (limit - used, (row.citation,))
        for row in limited_groups(view)
        if group
        and is_inside_group(group, row.text("path"))
        and (limit := row.number("limit_kb")) is not None
        and (used := row.number("usage_kb")) is not None
    ]
    margins += [
        (item.value, item.citations) for item in read_series(view, MetricReading("mem.available_kb", "last"))
    ]
    return min(margins, key=lambda room: room[0], default=None)


def _lasts(view: HostView) -> list[Measurement]:
    """Minutes until what is left is used up, at this pace."""
    groups, result = group_of(view), []
    for row, growth in _steady(view):
        room = _room(view, groups.get(row.text("pid"), ""))
        if room is not None:
            left_kb, cites = room
            minutes = max(0.0, left_kb) / growth / 60.0
            detail: Detail = {
                "comm": row.text("comm"), "pid": row.text("pid"), "mb_per_s": round(growth / _KB_PER_MB, 3),
            }  # fmt: skip
            readings = int(row.number("readings") or 0)
            result.append(
                Measurement(
                    minutes,
                    build_process_subject(view, row),
                    (*cites, *cite_process(view, row)),
                    readings,
                    (),
                    detail,
                )
            )
    return result


GROWTH = build_measure(
    "proc.anon_growth_mb_per_s",
    "mb_per_s",
    "Growth of anonymous memory",
    "匿名内存增长",
    (("proc_mem",),),
    _growing,
)
BY_NOW = build_measure(
    "proc.anon_mb", "mb", "Anonymous memory by now", "当前匿名内存", (("proc_mem",),), _by_now
)
STEPS = build_measure(
    "proc.growing_steps",
    "count",
    "Steps in a row that grew",
    "连续增长的次数",
    (("proc_mem",),),
    _steps,
)
LASTS = build_measure(
    "proc.memory_lasts_min",
    "min",
    "Time until memory is used up at this pace",
    "按此速度内存耗尽所需时间",
    (("proc_mem",), ("cgroup_mem", "meminfo")),
    _lasts,
)
