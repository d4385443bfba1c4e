"""Memory limits of control groups: how full, of what, and what happened at the limit."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from collectors import cgroup_shell
from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Series,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse import cgroup_files
from collectors.parse.cgroup_files import NOTHING, Group, Looks
from collectors.parse.tokens import NAN, amount

_MAX_BYTES = 16 << 20
_MAX_SERIES = 20
#: v1 says "no limit" with the largest multiple of a page; anything above half of int64 is none.
_NO_LIMIT = float(1 << 62)
_COLUMNS = (
    Column("path"),
    Column("limit_kb", "kb"),
    Column("usage_kb", "kb"),
    Column("usage_pct", "pct"),
    Column("anon_kb", "kb"),
    Column("anon_pct", "pct"),
    Column("file_kb", "kb"),
    Column("limit_hits"),
    Column("oom_kills"),
    Column("oom_kills_ever"),
    Column("refault_file_per_s", "pages_per_s"),
    Column("pgmajfault_per_s", "per_s"),
    Column("psi_some_avg10", "pct"),
    Column("psi_full_avg10", "pct"),
)
_FIND = (
    "{ find . -name memory.limit_in_bytes -exec grep -LxE '9223372036854[0-9]*' {} + ;"
    " find . -name memory.max -exec grep -Lx max {} + ;"
    " find . '(' -name memory.events -o -name memory.oom_control ')' -exec grep -l '^oom_kill [1-9]' {} + ; }"
)
_FILES = (
    *("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", "memory.oom_control"),
    *("memory.max", "memory.current", "memory.events", "memory.pressure", "memory.stat"),
)
_LINES = (
    "^([0-9]+|max|(total_)?(anon|rss|file|cache|pgmajfault|workingset_refault(_file)?) [0-9]+"
    "|(max|oom_kill) [0-9]+|(some|full) avg10.*)$"
)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each group: its state at the last look, and what grew since the first.

    `limit_kb` is its own limit, None where there is none. `limit_hits` is failcnt (v1) or the event `max` (v2).
    On v1 the `total_` figures count, which hold the groups below like those of v2 do. `oom_kills` of v1 are those in
    the group itself.
    """
    looks = cgroup_files.read(parts, _MAX_BYTES)
    if len(looks.looks) < 2:
        return Parsed(warnings=(*looks.warnings, Sentence("warning.too_few_samples")), readable=False)
    paths = [path for path in looks.paths() if path != "/"]
    rows = tuple(_row(looks, path) for path in paths)
    lines = tuple(
        looks.last(path).line(("memory.usage_in_bytes", ""), ("memory.current", "")) for path in paths
    )
    series = tuple(one for path in paths[:_MAX_SERIES] for one in _series(looks, path, context))
    return Parsed(series, (Table("cgroup_mem", _COLUMNS, rows, lines=lines),), warnings=looks.warnings)


def _row(looks: Looks, path: str) -> tuple[str | int | float | None, ...]:
    first, last = looks.first(path), looks.last(path)
    limit, usage = _limit(last), _usage(last)
    anon, cached = _stat(last, "anon", "rss"), _stat(last, "file", "cache")
    kills_before, kills = _oom_kills(first), _oom_kills(last)
    return (
        path,
        _kb(limit),
        _kb(usage),
        _share(usage, limit),
        _kb(anon),
        _share(anon, limit),
        _kb(cached),
        _grown(_hits(first), _hits(last), first),
        _grown(kills_before, kills, first),
        _known(kills),
        _rate(_refaults(first), _refaults(last), first, looks.seconds),
        _rate(_stat(first, "pgmajfault"), _stat(last, "pgmajfault"), first, looks.seconds),
        _known(_pressure(last, b"some")),
        _known(_pressure(last, b"full")),
    )


def _either(*values: float) -> float:
    return next((value for value in values if not math.isnan(value)), NAN)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _kb(value: float) -> float | None:
    return None if math.isnan(value) else value / 1024.0


def _share(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole > 0 and not math.isnan(part) else None


def _grown(before: float, after: float, first: Group) -> float | None:
    grown = after - (before if first.files else 0.0)
    return grown if grown >= 0 else None


def _rate(before: float, after: float, first: Group, seconds: float) -> float | None:
    grown = _grown(before, after, first)
    return grown / seconds if grown is not None and seconds > 0 else None


def _limit(group: Group) -> float:
    limit = _either(group.number("memory.max"), group.number("memory.limit_in_bytes"))
    return limit if limit < _NO_LIMIT else NAN


def _usage(group: Group) -> float:
    return _either(group.number("memory.current"), group.number("memory.usage_in_bytes"))


def _hits(group: Group) -> float:
    return _either(group.named("memory.events", "max"), group.number("memory.failcnt"))


def _oom_kills(group: Group) -> float:
    return _either(group.named("memory.events", "oom_kill"), group.named("memory.oom_control", "oom_kill"))


def _stat(group: Group, *names: str) -> float:
    wanted = (f"{prefix}{name}" for name in names for prefix in ("total_", ""))
    return _either(*(group.named("memory.stat", name) for name in wanted))


def _refaults(group: Group) -> float:
    """Of files; kernels before 5.9 do not tell files from anonymous memory."""
    return _stat(group, "workingset_refault_file", "workingset_refault")


def _pressure(group: Group, which: bytes) -> float:
    """avg10 of `some avg10=0.00 avg60=...`."""
    for _, text in group.files.get("memory.pressure", ()):
        tokens = text.split()
        if len(tokens) > 1 and tokens[0] == which and tokens[1].startswith(b"avg10="):
            return amount(tokens[1][6:])
    return NAN


def _series(looks: Looks, path: str, context: Context) -> list[Series]:
    """Use and refaults over time, where there were more than two looks."""
    if len(looks.looks) < 3:
        return []
    groups = [Group(look.groups[path]) if path in look.groups else NOTHING for look in looks.looks]
    boot_ns = np.array([look.boot_ns for look in looks.looks], np.int64)
    t_ns = context.clock.to_utc("boottime", boot_ns)
    used = np.array([_usage(one) / 1024.0 for one in groups])
    refaults = np.diff([_refaults(one) for one in groups])
    with np.errstate(invalid="ignore"):
        rate = np.where(refaults >= 0, refaults / (np.diff(boot_ns) / 1e9), np.nan)
    told = np.array(
        [one.line(("memory.current", ""), ("memory.usage_in_bytes", "")) for one in groups], np.int32
    )
    names = ("total_workingset_refault_file", "workingset_refault_file", "workingset_refault")
    stat = np.array([one.line(*(("memory.stat", name) for name in names)) for one in groups[1:]], np.int32)
    found = (
        ("cgroup.memory_usage_kb", t_ns, used, told),
        ("cgroup.refault_file_per_s", t_ns[1:], rate, stat),
    )
    return [
        Series(metric, times, values.reshape(-1, 1), {"cgroup": path}, lines=lines)
        for metric, times, values, lines in found
        if np.isfinite(values).any()
    ]


COLLECTOR = Collector(
    id="cgroup_mem",
    title=Text("Memory limits of control groups", "控制组内存限额"),
    why=Text(
        "Which containers and services are at their memory limit, killed by it, or reading the same files again.",
        "哪些容器与服务到达内存限额、因此被杀，或反复重读相同文件。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Script(
            "cgroup",
            Needs(tools=("find", "grep", "xargs"), mend="mount the cgroup file systems; findutils, grep"),
            sh=cgroup_shell.reads(("memory",), _FIND, _FILES, _LINES),
            shows="grep -H '' memory.{max,current,events,stat} (of groups with a limit, for {seconds} s)",
            stop="TERM",
        ),
    ),
    parse=parse,
    cost=Cost(
        0.2,
        4_000,
        Text(
            "Two looks at the groups that have a limit; memory.stat makes the kernel add up its counters.",
            "对有限额的控制组读取两次；读 memory.stat 会让内核汇总计数。",
        ),
    ),
    yields=("cgroup.memory_usage_kb", "cgroup.refault_file_per_s"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
