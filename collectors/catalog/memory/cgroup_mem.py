"""Memory limits of control groups: how full, of what, and what happened at the limit."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

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
from collectors.parse.proc import cgroup_files
from collectors.parse.proc.cgroup_files import NOTHING, CgroupFiles, CgroupSamples
from collectors.parse.tables.tokens import NAN, parse_amount
from collectors.shell import cgroups

_MAX_BYTES = 16 << 20
_MAX_SERIES = 20
#: v1 reports "no limit" as the largest multiple of a page; anything above half of int64 is none.
_NO_LIMIT = float(1 << 62)
_COLUMNS = (
    Column("path"),
    Column("limit_kb", "kb"),
    Column("usage_kb", "kb"),
    Column("usage_pct", "pct"),
    Column("anon_kb", "kb"),
    Column("anon_pct", "pct"),
    Column("file_kb", "kb"),
    Column("shmem_kb", "kb"),
    Column("limit_hits"),
    Column("oom_kills"),
    Column("oom_kills_ever"),
    Column("refault_file_per_s", "pages_per_s"),
    Column("pgmajfault_per_s", "per_s"),
    Column("psi_some_avg10", "pct"),
    Column("psi_full_avg10", "pct"),
)


def parse_cgroup_mem(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each group: its state at the last look, and what grew since the first.

    `limit_kb` is its own limit, None where there is none. `limit_hits` is failcnt (v1) or the event `max` (v2).
    On v1 the `total_` figures count, which hold the groups below like those of v2 do. `oom_kills` of v1 are those in
    the group itself. `file_kb` includes `shmem_kb`: files in memory and shared memory segments, which are never written
    back to a disk.
    """
    checks = cgroup_files.parse_cgroup_files(parts, _MAX_BYTES)
    if len(checks.samples) < 2:
        return Parsed(warnings=(*checks.warnings, Sentence("warning.too_few_samples")), readable=False)
    paths = [path for path in checks.paths() if path != "/"]
    rows = tuple(_build_row(checks, path) for path in paths)
    lines = tuple(
        checks.last(path).line(("memory.usage_in_bytes", ""), ("memory.current", "")) for path in paths
    )
    series = tuple(series for path in paths[:_MAX_SERIES] for series in _build_series(checks, path, context))
    return Parsed(series, (Table("cgroup_mem", _COLUMNS, rows, lines=lines),), warnings=checks.warnings)


def _build_row(cgroup_samples: CgroupSamples, path: str) -> tuple[str | int | float | None, ...]:
    first, last = cgroup_samples.first(path), cgroup_samples.last(path)
    limit, usage = _read_limit(last), _read_usage(last)
    anon, cached = _read_stat(last, "anon", "rss"), _read_stat(last, "file", "cache")
    in_memory = _read_stat(last, "shmem")
    kills_before, kills = _count_oom_kills(first), _count_oom_kills(last)
    return (
        path,
        _to_kb(limit),
        _to_kb(usage),
        _compute_share(usage, limit),
        _to_kb(anon),
        _compute_share(anon, limit),
        _to_kb(cached),
        _to_kb(in_memory),
        _compute_increase(_count_limit_hits(first), _count_limit_hits(last), first),
        _compute_increase(kills_before, kills, first),
        _known_number(kills),
        _compute_rate(_compute_refaults(first), _compute_refaults(last), first, cgroup_samples.seconds),
        _compute_rate(
            _read_stat(first, "pgmajfault"), _read_stat(last, "pgmajfault"), first, cgroup_samples.seconds
        ),
        _known_number(_read_pressure(last, b"some")),
        _known_number(_read_pressure(last, b"full")),
    )


def _first_of(*values: float) -> float:
    return next((value for value in values if not math.isnan(value)), NAN)


def _known_number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _to_kb(value: float) -> float | None:
    return None if math.isnan(value) else value / 1024.0


def _compute_share(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole > 0 and not math.isnan(part) else None


def _compute_increase(before: float, after: float, first: CgroupFiles) -> float | None:
    grown = after - (before if first.files else 0.0)
    return grown if grown >= 0 else None


def _compute_rate(before: float, after: float, first: CgroupFiles, seconds: float) -> float | None:
    grown = _compute_increase(before, after, first)
    return grown / seconds if grown is not None and seconds > 0 else None


def _read_limit(group: CgroupFiles) -> float:
    limit = _first_of(group.number("memory.max"), group.number("memory.limit_in_bytes"))
    return limit if limit < _NO_LIMIT else NAN


def _read_usage(group: CgroupFiles) -> float:
    return _first_of(group.number("memory.current"), group.number("memory.usage_in_bytes"))


def _count_limit_hits(group: CgroupFiles) -> float:
    return _first_of(group.named("memory.events", "max"), group.number("memory.failcnt"))


def _count_oom_kills(group: CgroupFiles) -> float:
    return _first_of(group.named("memory.events", "oom_kill"), group.named("memory.oom_control", "oom_kill"))


def _read_stat(group: CgroupFiles, *names: str) -> float:
    requested_names = (f"{prefix}{name}" for name in names for prefix in ("total_", ""))
    return _first_of(*(group.named("memory.stat", name) for name in requested_names))


def _compute_refaults(group: CgroupFiles) -> float:
    """Of files; kernels before 5.9 do not tell files from anonymous memory."""
    return _read_stat(group, "workingset_refault_file", "workingset_refault")


def _read_pressure(group: CgroupFiles, which: bytes) -> float:
    """avg10 of `some avg10=0.00 avg60=...`."""
    for _, text in group.files.get("memory.pressure", ()):
        tokens = text.split()
        if len(tokens) > 1 and tokens[0] == which and tokens[1].startswith(b"avg10="):
            return parse_amount(tokens[1][6:])
    return NAN


def _build_series(cgroup_samples: CgroupSamples, path: str, context: Context) -> list[Series]:
    """Use and refaults over time, where there were more than two looks."""
    if len(cgroup_samples.samples) < 3:
        return []
    groups = [
        CgroupFiles(check.groups[path]) if path in check.groups else NOTHING
        for check in cgroup_samples.samples
    ]
    boot_ns = np.array([check.boot_ns for check in cgroup_samples.samples], np.int64)
    t_ns = context.clock.to_utc("boottime", boot_ns)
    used = np.array([_read_usage(group) / 1024.0 for group in groups])
    refaults = np.diff([_compute_refaults(group) for group in groups])
    with np.errstate(invalid="ignore"):
        rate = np.where(refaults >= 0, refaults / (np.diff(boot_ns) / 1e9), np.nan)
    reported = np.array(
        [group.line(("memory.current", ""), ("memory.usage_in_bytes", "")) for group in groups], np.int32
    )
    names = ("total_workingset_refault_file", "workingset_refault_file", "workingset_refault")
    stat = np.array(
        [group.line(*(("memory.stat", name) for name in names)) for group in groups[1:]], np.int32
    )
    results = (
        ("cgroup.memory_usage_kb", t_ns, used, reported),
        ("cgroup.refault_file_per_s", t_ns[1:], rate, stat),
    )
    return [
        Series(metric, times, values.reshape(-1, 1), {"cgroup": path}, lines=lines)
        for metric, times, values, lines in results
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
    methods=(
        Script(
            "cgroup",
            Needs(tools=("find", "grep", "xargs"), remedy="mount the cgroup file systems; findutils, grep"),
            sh=cgroups.SH,
            share=cgroups.SHARE,
            command_line="grep -H '' memory.{max,current,events,stat} (of groups with a limit, for {seconds} s)",
            stop="TERM",
        ),
    ),
    parse=parse_cgroup_mem,
    cost=Cost(
        0.2,
        4_000,
        Text(
            "Two samples of the groups that have a limit. Reading memory.stat makes the kernel sum its counters.",
            "对有限额的控制组读取两次；读 memory.stat 会让内核汇总计数。",
        ),
    ),
    yields=("cgroup.memory_usage_kb", "cgroup.refault_file_per_s"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
